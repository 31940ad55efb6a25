// The page judge and runner share: two words, waited for with futexes where both sides are processes.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runner/protocol.h"

#define PAGE 4096

int kg_control_create(int *fd, kg_control **out, kg_error *err) {
    *fd = memfd_create("kgate-control", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*fd < 0) return kg_fail(err, KG_ERR_CANNOT, "memfd_create: %s", strerror(errno));
    void *p = MAP_FAILED;
    if (ftruncate(*fd, PAGE) == 0 && fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (p == MAP_FAILED) {
        int code = errno;
        close(*fd);
        *fd = -1;
        return kg_fail(err, KG_ERR_CANNOT, "the page shared with the runner: %s", strerror(code));
    }
    *out = p;
    return 0;
}

void kg_control_destroy(int fd, kg_control *c) {
    if (c) munmap(c, PAGE);
    if (fd >= 0) close(fd);
}

void kg_control_set(_Atomic uint32_t *word, uint32_t value) {
    atomic_store(word, value);
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool kg_control_wait(_Atomic uint32_t *word, uint32_t value, double timeout_s) {
    double deadline = kg_now() + timeout_s;
    for (;;) {
        uint32_t seen = atomic_load(word);
        if (seen == value) return true;
        double left = deadline - kg_now();
        if (left <= 0) return false;
        if (left > 1) left = 1;
        struct timespec ts = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
        syscall(SYS_futex, word, FUTEX_WAIT, seen, &ts, NULL, 0);
    }
}
