// System calls that no kernel needs and that reach beyond the process: refused with EPERM.
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner/sandbox/sandbox.h"

static const int refused[] = {
    // other processes
    SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(process_madvise),
    SCMP_SYS(process_mrelease), SCMP_SYS(pidfd_getfd), SCMP_SYS(pidfd_send_signal), SCMP_SYS(kcmp), SCMP_SYS(setsid),
    SCMP_SYS(setpgid), SCMP_SYS(setns), SCMP_SYS(unshare),
    // a SIGCONT from the kernel, sent while the judge has stopped the process
    SCMP_SYS(timer_create), SCMP_SYS(mq_notify),
    // mounts
    SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot), SCMP_SYS(move_mount),
    SCMP_SYS(open_tree), SCMP_SYS(fsopen), SCMP_SYS(fsconfig), SCMP_SYS(fsmount), SCMP_SYS(fspick),
    SCMP_SYS(mount_setattr), SCMP_SYS(open_by_handle_at), SCMP_SYS(name_to_handle_at), SCMP_SYS(fanotify_init),
    // the machine
    SCMP_SYS(reboot), SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(kexec_load), SCMP_SYS(kexec_file_load),
    SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(iopl), SCMP_SYS(ioperm),
    SCMP_SYS(acct), SCMP_SYS(quotactl), SCMP_SYS(syslog), SCMP_SYS(sethostname), SCMP_SYS(setdomainname),
    SCMP_SYS(vhangup),
    // clocks
    SCMP_SYS(clock_settime), SCMP_SYS(clock_adjtime), SCMP_SYS(settimeofday), SCMP_SYS(adjtimex),
    // ways around this filter, or large attack surface
    SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter),
    SCMP_SYS(io_uring_register), SCMP_SYS(keyctl), SCMP_SYS(add_key), SCMP_SYS(request_key), SCMP_SYS(seccomp)};

static int refuse(scmp_filter_ctx f, int call, unsigned n, const struct scmp_arg_cmp *when) {
    return seccomp_rule_add_array(f, SCMP_ACT_ERRNO(EPERM), call, n, when);
}

// Signals reach this process alone. A group's kill would miss nobody: the judge is in another.
static int refuse_signals(scmp_filter_ctx f) {
    struct scmp_arg_cmp other = SCMP_A0(SCMP_CMP_NE, (scmp_datum_t)getpid());
    static const int calls[] = {SCMP_SYS(kill), SCMP_SYS(tkill), SCMP_SYS(tgkill), SCMP_SYS(rt_sigqueueinfo),
                                SCMP_SYS(rt_tgsigqueueinfo)};
    int failed = 0;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) failed |= refuse(f, calls[i], 1, &other);
    return failed;
}

// No family but local sockets; no new namespaces by clone; nobody else's limits; death with the judge stays.
static int refuse_by_argument(scmp_filter_ctx f) {
    struct scmp_arg_cmp not_local = SCMP_A0(SCMP_CMP_NE, AF_UNIX), not_self = SCMP_A0(SCMP_CMP_NE, 0);
    struct scmp_arg_cmp death = SCMP_A0(SCMP_CMP_EQ, PR_SET_PDEATHSIG);
    static const scmp_datum_t spaces[] = {CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWNET,   CLONE_NEWPID,
                                          CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP};
    int failed = refuse(f, SCMP_SYS(socket), 1, &not_local);
    failed |= refuse(f, SCMP_SYS(prlimit64), 1, &not_self);
    failed |= refuse(f, SCMP_SYS(prctl), 1, &death);
    // More ways to be sent a SIGCONT: by a descriptor, by a child's end.
    struct scmp_arg_cmp set_signal = SCMP_A1(SCMP_CMP_EQ, F_SETSIG),
                        wakes = SCMP_A0(SCMP_CMP_MASKED_EQ, CSIGNAL, SIGCONT);
    failed |= refuse(f, SCMP_SYS(fcntl), 1, &set_signal);
    failed |= refuse(f, SCMP_SYS(clone), 1, &wakes);
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        struct scmp_arg_cmp flag = SCMP_A0(SCMP_CMP_MASKED_EQ, spaces[i], spaces[i]);
        failed |= refuse(f, SCMP_SYS(clone), 1, &flag);
    }
    // clone3's flags lie in memory, where a filter cannot look; libc falls back to clone on ENOSYS.
    return failed | seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

// The tensors' memory, in which the library is timed too, keeps its pages: taken away or moved, they would cost the
// other side a fault each.
static int refuse_taking_pages(scmp_filter_ctx f) {
    static const scmp_datum_t advice[] = {MADV_REMOVE, MADV_COLD, MADV_PAGEOUT};
    struct scmp_arg_cmp punch = SCMP_A1(SCMP_CMP_MASKED_EQ, FALLOC_FL_PUNCH_HOLE, FALLOC_FL_PUNCH_HOLE);
    struct scmp_arg_cmp moved = SCMP_A5(SCMP_CMP_MASKED_EQ, MPOL_MF_MOVE, MPOL_MF_MOVE);
    int failed = refuse(f, SCMP_SYS(fallocate), 1, &punch) | refuse(f, SCMP_SYS(mbind), 1, &moved) |
                 refuse(f, SCMP_SYS(move_pages), 0, NULL) | refuse(f, SCMP_SYS(migrate_pages), 0, NULL);
    for (size_t i = 0; i < sizeof advice / sizeof *advice; i++) {
        struct scmp_arg_cmp is = SCMP_A2(SCMP_CMP_EQ, advice[i]);
        failed |= refuse(f, SCMP_SYS(madvise), 1, &is);
    }
    return failed;
}

// A C kernel has no use for processes of its own, and in the judge's eyes they are nobody's: it looks at the threads of
// one. A Python candidate's compilers are processes.
static int refuse_processes(scmp_filter_ctx f) {
    struct scmp_arg_cmp no_thread = SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0);
    return refuse(f, SCMP_SYS(clone), 1, &no_thread) | refuse(f, SCMP_SYS(fork), 0, NULL) |
           refuse(f, SCMP_SYS(vfork), 0, NULL);
}

int kg_layer_seccomp(const kg_sandbox_plan *p) {
    scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);
    if (!f) return -1;
    int failed = 0;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) failed |= refuse(f, refused[i], 0, NULL);
    failed |= refuse_signals(f) | refuse_by_argument(f) | refuse_taking_pages(f);
    if (!p->processes) failed |= refuse_processes(f);
    failed = failed || seccomp_load(f);
    seccomp_release(f);
    return failed ? -1 : 0;
}
