// Own namespaces, where the kernel lets an ordinary user (or this container's root) have them.
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner/sandbox/sandbox.h"

static int write_text(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t n = write(fd, text, strlen(text));
    close(fd);
    return n == (ssize_t)strlen(text) ? 0 : -1;
}

// The same user and group inside as outside, so that files keep their owners (user_namespaces(7): setgroups must be
// denied before an unprivileged process maps its group).
int kg_layer_userns(void) {
    unsigned uid = geteuid(), gid = getegid();
    if (unshare(CLONE_NEWUSER)) return -1;
    char map[64];
    snprintf(map, sizeof map, "%u %u 1", uid, uid);
    int failed = write_text("/proc/self/uid_map", map);
    write_text("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "%u %u 1", gid, gid);
    return write_text("/proc/self/gid_map", map) || failed ? -1 : 0;
}

int kg_layer_netns(void) { return unshare(CLONE_NEWNET); }
int kg_layer_ipcns(void) { return unshare(CLONE_NEWIPC); }

static int set_attributes(const char *path, unsigned flags, uint64_t set, uint64_t clear) {
    struct mount_attr a = {.attr_set = set, .attr_clr = clear};
    return (int)syscall(SYS_mount_setattr, AT_FDCWD, path, flags, &a, sizeof a);
}

// A bind mount of its own, which can stay writable when the mount below becomes read-only.
static int keep_writable(const char *path) { return mount(path, path, NULL, MS_BIND, NULL); }

int kg_layer_mountns(const kg_sandbox_plan *p) {
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) return -1;
    if (keep_writable(p->scratch)) return -1;
    bool shm = p->gpu && keep_writable("/dev/shm") == 0;
    // CUDA names its threads through /proc/self/task/*/comm and does not start when it cannot. The rest of /proc
    // (/proc/sys!) stays read-only.
    bool own = p->gpu && keep_writable("/proc/self") == 0;
    if (set_attributes("/", AT_RECURSIVE, MOUNT_ATTR_RDONLY, 0)) return -1;
    if (set_attributes(p->scratch, 0, 0, MOUNT_ATTR_RDONLY)) return -1;
    if (shm && set_attributes("/dev/shm", 0, 0, MOUNT_ATTR_RDONLY)) return -1;
    if (own && set_attributes("/proc/self", 0, 0, MOUNT_ATTR_RDONLY)) return -1;
    return chdir(p->scratch);  // into the mount that is writable
}

int kg_layer_capabilities(void) {
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {0};
    for (int c = 0; c <= 63; c++) prctl(PR_CAPBSET_DROP, c, 0, 0, 0);  // EINVAL above the last one
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    return (int)syscall(SYS_capset, &head, none);
}

int kg_layer_no_new_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }
