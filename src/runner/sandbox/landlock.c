// Landlock (kernel 5.13 on): the whole file system may be read and executed, scratch alone written.
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner/sandbox/sandbox.h"

// From the kernel's Documentation/userspace-api/landlock.rst: the system's own header may be older than the kernel.
enum {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    ALL_V1 = (1 << 13) - 1,
    REFER = 1 << 13 /* v2 */,
    TRUNCATE = 1 << 14 /* v3 */,
    IOCTL_DEV = 1 << 15 /* v5 */,
    FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV,
    NET_BIND_CONNECT_TCP = 3,             // v4
    SCOPE_ABSTRACT_SOCKET_AND_SIGNAL = 3  // v6
};
#define VERSION_FLAG 1u
#define PATH_BENEATH 1

struct ruleset {
    uint64_t fs, net, scoped;
};
struct beneath {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));

static uint64_t known_rights(long abi) {
    uint64_t r = ALL_V1;
    if (abi >= 2) r |= REFER;
    if (abi >= 3) r |= TRUNCATE;
    if (abi >= 5) r |= IOCTL_DEV;
    return r;
}

static int allow(int rules, const char *path, uint64_t rights) {
    struct stat s;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) return -1;
    if (fstat(fd, &s) == 0 && !S_ISDIR(s.st_mode)) rights &= FILE_RIGHTS;
    struct beneath b = {rights, fd};
    int failed = (int)syscall(SYS_landlock_add_rule, rules, PATH_BENEATH, &b, 0);
    close(fd);
    return failed;
}

// Device nodes differ from machine to machine: one that is absent is no failure.
static void allow_devices(int rules, const kg_sandbox_plan *p, uint64_t known) {
    static const char *const always[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/urandom", "/dev/random"};
    static const char *const gpu[] = {"/dev/nvidia*", "/dev/dri", "/dev/shm", "/proc/self"};
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        allow(rules, always[i], (READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV) & known);
    for (size_t i = 0; p->gpu && i < sizeof gpu / sizeof *gpu; i++) {
        glob_t g;
        if (glob(gpu[i], 0, NULL, &g)) continue;
        for (size_t k = 0; k < g.gl_pathc; k++) allow(rules, g.gl_pathv[k], known & ~(uint64_t)EXECUTE);
        globfree(&g);
    }
}

int kg_layer_landlock(const kg_sandbox_plan *p) {
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, VERSION_FLAG);
    if (abi < 1) return -1;
    uint64_t known = known_rights(abi);
    struct ruleset r = {known, abi >= 4 ? NET_BIND_CONNECT_TCP : 0, abi >= 6 ? SCOPE_ABSTRACT_SOCKET_AND_SIGNAL : 0};
    size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
    int rules = (int)syscall(SYS_landlock_create_ruleset, &r, size, 0);
    if (rules < 0) return -1;
    int failed = allow(rules, "/", EXECUTE | READ_FILE | READ_DIR) || allow(rules, p->scratch, known);
    allow_devices(rules, p, known);
    failed = failed || syscall(SYS_landlock_restrict_self, rules, 0);
    close(rules);
    return failed ? -1 : 0;
}
