// Resource limits: they hold everywhere, whatever else the kernel refuses.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runner/sandbox/sandbox.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SHADOW_MEMORY true  // sanitizers reserve terabytes of address space
#else
#define SHADOW_MEMORY false
#endif

static int lower(int resource, const char *name, rlim_t most, kg_error *err) {
    struct rlimit now, wanted = {most, most};
    if (getrlimit((__rlimit_resource_t)resource, &now) == 0 && now.rlim_max < most)
        wanted.rlim_cur = wanted.rlim_max = now.rlim_max;
    if (setrlimit((__rlimit_resource_t)resource, &wanted) == 0) return 0;
    return kg_fail(err, KG_ERR_INTERNAL, "limit %s: %s", name, strerror(errno));
}

// When memory runs out, the kernel should end this process and not the judge.
static void first_to_go(void) {
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    ssize_t written = write(fd, "1000", 4);
    (void)written;  // refused only where nobody may change it
    close(fd);
}

int kg_sandbox_limits(const char *device_kind, size_t memory_bytes, kg_error *err) {
    first_to_go();
    if (lower(RLIMIT_CORE, "core", 0, err) || lower(RLIMIT_FSIZE, "fsize", (rlim_t)1 << 30, err) ||
        lower(RLIMIT_NOFILE, "nofile", 4096, err) || lower(RLIMIT_NPROC, "nproc", 4096, err))
        return -1;
    // A CUDA context reserves far more address space than it uses, so there these two would refuse it.
    if (memory_bytes == 0 || SHADOW_MEMORY || !device_kind || strcmp(device_kind, "cpu") != 0) return 0;
    // Heap and thread stacks count as data; the arenas do not. Address space bounds shared memory a candidate makes.
    rlim_t space = (rlim_t)memory_bytes * 4 + ((rlim_t)64 << 30);
    return lower(RLIMIT_DATA, "data", memory_bytes, err) || lower(RLIMIT_AS, "as", space, err) ? -1 : 0;
}
