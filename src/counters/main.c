// kgate-counters: what a device's hardware counters say of the work that another process gives it. kgate starts it for
// a slow kernel; it is a process of its own because kernels that are timed with CUPTI at hand read a few percent low.
//
// For every round it writes "ready", and counts until a byte comes on its control descriptor. Then one line of JSON:
// {"dram_bytes", "l2_sectors" (of 32 bytes, between it and multiprocessors), "warps", "cycles", "most_warps" (of a
// multiprocessor), "samples"};
// what was not counted is left out. What it cannot do it says in one line on stderr, and ends with 3.
#include <argp.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "counters/counters.h"

#define PATIENCE_S 10.0  // for the byte
#define LIFE_S     60    // of the process, whatever happens

typedef struct {
    int control;  // -1: by hand, and a round takes `seconds`
    double seconds, interval_s;
    size_t device;
    const char *chip;
    bool verbose;
} arguments;

static const struct argp_option options[] = {
    {"device", 'd', "N", 0, "CUDA device (0)", 0},
    {"seconds", 's', "S", 0, "count for so long in each round (1)", 0},
    {"interval-us", 'i', "US", 0, "between samples (100)", 0},
    {"control-fd", 'c', "N", 0, "count until a byte comes here instead", 0},
    {"chip", 'p', "NAME", 0, "print what is counted on this chip (GH100), and end: needs no device", 0},
    {"verbose", 'v', NULL, 0, "say every step on stderr", 0},
    {0}};

static double number_of(const char *value, double least, double most, const char *name, const struct argp_state *s) {
    char *end = NULL;
    const double x = strtod(value, &end);
    if (end == value || *end || !(x >= least && x <= most))
        argp_error(s, "--%s takes a number from %g to %g", name, least, most);
    return x;
}

static error_t parse_option(int key, char *value, struct argp_state *s) {
    arguments *a = s->input;
    switch (key) {
    case 'd': a->device = (size_t)number_of(value, 0, 1024, "device", s); return 0;
    case 's': a->seconds = number_of(value, 0, 10, "seconds", s); return 0;
    case 'i': a->interval_s = 1e-6 * number_of(value, 10, 1e5, "interval-us", s); return 0;
    case 'c': a->control = (int)number_of(value, 0, 1024, "control-fd", s); return 0;
    case 'p': a->chip = value; return 0;
    case 'v': a->verbose = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void say(const char *what) { fprintf(stderr, "kgate-counters: %.6f %s\n", kg_now(), what); }

// 0: the byte came, or the seconds are over.
static int wait_for_word(void *ctx) {
    const arguments *a = ctx;
    char byte;
    puts("ready");
    fflush(stdout);
    if (a->control < 0) return usleep((useconds_t)(a->seconds * 1e6)) != 0;
    struct pollfd p = {.fd = a->control, .events = POLLIN};
    return poll(&p, 1, (int)(PATIENCE_S * 1e3)) != 1 || read(a->control, &byte, 1) != 1;
}

// ---- what is counted ----------------------------------------------------------------------------------

static void print_plan(const kg_plan *p, FILE *to) {
    for (int i = 0; i < KG_SETS && p->rounds[i]; i++) {
        kg_round r;
        if (kg_round_open(p, p->rounds[i], &r, NULL)) continue;
        fprintf(to, "round %d:", i + 1);
        for (size_t k = 0; k < r.n; k++) fprintf(to, " %s", r.metrics[k]);
        fputc('\n', to);
        kg_round_close(p, &r);
    }
}

static int describe_chip(const arguments *a, kg_error *err) {
    kg_plan p = {.chip = a->chip};
    if (kg_cupti_open(&p.cupti, err) || kg_plan_make(&p, err)) return -1;
    print_plan(&p, stdout);
    return 0;
}

// Which counters other tools leave free; a device that does not say has them all.
static uint8_t *read_availability(const kg_cupti_api *c, size_t device) {
    kcp_availability a = {.size = KCP_SIZE(kcp_availability, image), .device = device};
    if (c->availability(&a) || a.bytes == 0) return NULL;
    a.image = kg_alloc(a.bytes);
    if (c->availability(&a) == 0) return a.image;
    free(a.image);
    return NULL;
}

static int open_device(const arguments *a, kg_cuda_api *cuda, kcu_device *device, kg_plan *p, kg_error *err) {
    kcp_initialize init = {.size = KCP_SIZE(kcp_initialize, priv)};
    kcp_chip chip = {.size = KCP_SIZE(kcp_chip, chip), .device = a->device};
    if (kg_cuda_api_open(NULL, cuda, err) ||
        kg_cuda_check(cuda, cuda->DeviceGet(device, (int)a->device), KG_ERR_CANNOT, "cuDeviceGet", err) ||
        kg_cupti_open(&p->cupti, err) ||
        kg_cupti_check(&p->cupti, p->cupti.initialize(&init), "cuptiProfilerInitialize", err) ||
        kg_cupti_check(&p->cupti, p->cupti.chip_name(&chip), "cuptiDeviceGetChipName", err))
        return -1;
    p->chip = chip.chip;
    p->availability = read_availability(&p->cupti, a->device);
    if (a->verbose) fprintf(stderr, "kgate-counters: %s, availability %s\n", p->chip, p->availability ? "read" : "not");
    return kg_plan_make(p, err);
}

// ---- counting -----------------------------------------------------------------------------------------

static int count_sets(const kg_plan *p, const kg_sampling *s, unsigned sets, kg_counts *c, kg_error *err) {
    kg_round r;
    if (kg_round_open(p, sets, &r, err)) return -1;
    const int rc = kg_round_count(p, &r, s, c, err);
    kg_round_close(p, &r);
    return rc;
}

// Each of several sets in a round of its own; what fails is left out.
static void count_apart(const kg_plan *p, const kg_sampling *s, unsigned sets, kg_counts *c) {
    kg_error why = {0};
    for (unsigned k = 0; k < KG_SETS; k++)
        if (sets & 1u << k && count_sets(p, s, 1u << k, c, &why) && s->say) s->say(why.text);
    kg_error_clear(&why);
}

// Fails where nothing can be counted.
static int count_all(const kg_plan *p, const kg_sampling *s, kg_counts *c, kg_error *err) {
    kg_error why = {0};
    for (int i = 0; i < KG_SETS && p->rounds[i]; i++) {
        if (count_sets(p, s, p->rounds[i], c, &why) == 0) continue;
        if (s->say) s->say(why.text);
        const bool several = p->rounds[i] & (p->rounds[i] - 1);
        if (why.code == KG_ERR_USAGE && several) count_apart(p, s, p->rounds[i], c);
    }
    if (!c->samples) kg_fail(err, KG_ERR_CANNOT, "%s", why.text ? why.text : "nothing was counted");
    kg_error_clear(&why);
    return c->samples ? 0 : -1;
}

// CUPTI's manual does not say whether sampling needs a context. One takes 0.3 s, so first without.
static int count_with_context(const kg_cuda_api *cuda, kcu_device d, const kg_plan *p, const kg_sampling *s,
                              kg_counts *c, kg_error *err) {
    kcu_context context;
    if (s->say) s->say("again, with a context");
    if (kg_cuda_check(cuda, cuda->DevicePrimaryCtxRetain(&context, d), KG_ERR_CANNOT, "making a CUDA context", err) ||
        kg_cuda_check(cuda, cuda->CtxSetCurrent(context), KG_ERR_CANNOT, "making the context current", err))
        return -1;
    return count_all(p, s, c, err);
}

static int most_warps(const kg_cuda_api *cuda, kcu_device d) {
    int threads = 0, warp = 0;
    if (cuda->DeviceGetAttribute(&threads, KCU_ATTR_MULTIPROCESSOR_THREADS, d) ||
        cuda->DeviceGetAttribute(&warp, KCU_ATTR_WARP_SIZE, d) || warp < 1)
        return 0;
    return threads / warp;
}

static void print_counts(const kg_counts *c, int warps) {
    const double *s = c->sums;
    printf("{\"samples\": %zu", c->samples);
    if (!isnan(s[KG_DRAM_BYTES])) printf(", \"dram_bytes\": %.17g", s[KG_DRAM_BYTES]);
    if (!isnan(s[KG_L2_SECTORS])) printf(", \"l2_sectors\": %.17g", s[KG_L2_SECTORS]);
    if (!isnan(s[KG_WARPS])) printf(", \"warps\": %.17g, \"cycles\": %.17g", s[KG_WARPS], s[KG_CYCLES]);
    if (warps > 0) printf(", \"most_warps\": %d", warps);
    puts("}");
}

static int count_device(arguments *a, kg_error *err) {
    kg_cuda_api cuda;
    kcu_device device = 0;
    kg_plan p = {0};
    kg_counts c = {.sums = {NAN, NAN, NAN, NAN}};
    kg_sampling s = {a->device, a->interval_s, a->verbose ? say : NULL, wait_for_word, a};
    if (open_device(a, &cuda, &device, &p, err)) return -1;
    if (a->verbose) print_plan(&p, stderr);
    const bool counted = count_all(&p, &s, &c, NULL) == 0 || count_with_context(&cuda, device, &p, &s, &c, err) == 0;
    if (counted) print_counts(&c, most_warps(&cuda, device));
    free(p.availability);
    return counted ? 0 : -1;
}

int main(int argc, char **argv) {
    static const struct argp argp = {.options = options,
                                     .parser = parse_option,
                                     .doc =
                                         "Counts what a CUDA device does. kgate starts it beside a slow kernel; by "
                                         "hand it shows whether counters can be read here."};
    arguments a = {.control = -1, .seconds = 1, .interval_s = 100e-6};
    kg_error err = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    alarm(LIFE_S);
    if ((a.chip ? describe_chip(&a, &err) : count_device(&a, &err)) == 0) return 0;
    fprintf(stderr, "kgate-counters: %s\n", err.text);
    kg_error_clear(&err);
    return 3;
}
