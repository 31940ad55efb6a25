// What this CPU is, from /proc and /sys.
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "device/cpu/cpu.h"

int kg_cpu_threads(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

// The value of the first "key ...: value" line; owned by the caller, NULL when there is none.
static char *line_value(const char *path, const char *key) {
    char *line = NULL, *found = NULL;
    size_t cap = 0;
    FILE *f = fopen(path, "re");
    while (f && !found && getline(&line, &cap, f) > 0) {
        char *colon = strchr(line, ':');
        if (strncmp(line, key, strlen(key)) != 0 || !colon) continue;
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        found = kg_strdup(colon);
    }
    if (f) fclose(f);
    free(line);
    return found;
}

static char *sys_text(const char *format, int i) {
    char *path = kg_format(format, i), *text = NULL;
    size_t size = 0;
    if (kg_read_file(path, 4096, &text, &size, NULL)) text = NULL;
    else text[strcspn(text, "\n")] = '\0';
    free(path);
    return text;
}

uint64_t kg_cpu_cache_bytes(void) {
    uint64_t largest = 0;
    for (int i = 0; i < 8; i++) {
        char *text = sys_text("/sys/devices/system/cpu/cpu0/cache/index%d/size", i), *end = NULL;
        if (!text) break;
        uint64_t n = strtoull(text, &end, 10);
        if (*end == 'K') n <<= 10;
        else if (*end == 'M') n <<= 20;
        if (n > largest) largest = n;
        free(text);
    }
    return largest ? largest : (uint64_t)32 << 20;
}

static uint64_t memory(const char *key) {
    char *text = line_value("/proc/meminfo", key);
    uint64_t kib = text ? strtoull(text, NULL, 10) : 0;
    free(text);
    return kib << 10;
}

static double clock_now(void) {
    char *mhz = line_value("/proc/cpuinfo", "cpu MHz");
    double hz = mhz ? strtod(mhz, NULL) * 1e6 : 0;
    free(mhz);
    return hz;
}

static const char *arch(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return "x86-64 avx512f";
    if (__builtin_cpu_supports("avx2")) return "x86-64 avx2";
    return "x86-64";
#elif defined(__aarch64__)
    return "aarch64";
#else
    return "unknown";
#endif
}

// Other load, and a governor that does not run at full clock.
static char *notes(void) {
    kg_text t = {0};
    double load[1] = {0};
    char *governor = sys_text("/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", 0);
    if (governor && strcmp(governor, "performance") != 0) kg_text_add(&t, "clock governor %s", governor);
    free(governor);
    if (getloadavg(load, 1) == 1 && load[0] > 0.5 * kg_cpu_threads())
        kg_text_add(&t, "%sload average %.1f on %d processors", t.len ? "; " : "", load[0], kg_cpu_threads());
    return t.data;
}

int kg_cpu_describe(kg_device *d, kg_device_info *out, kg_error *err) {
    struct utsname u;
    if (uname(&u)) return kg_fail(err, KG_ERR_INTERNAL, "uname: %s", strerror(errno));
    char *name = line_value("/proc/cpuinfo", "model name");
    *out = (kg_device_info){.kind = kg_strdup("cpu"),
                            .ordinal = d->ordinal,
                            .name = name ? name : kg_strdup(u.machine),
                            .driver = kg_strdup(u.release),
                            .arch = kg_strdup(arch()),
                            .memory_bytes = memory("MemTotal"),
                            .free_bytes = memory("MemAvailable"),
                            .cache_bytes = kg_cpu_cache_bytes(),
                            .units = kg_cpu_threads(),
                            .clock_hz = clock_now(),
                            .notes = notes()};
    return 0;
}
