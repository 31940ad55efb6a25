// What the machine gives right now: one short look at its arithmetic and one at its memory. Ceilings are the best of
// many looks; on a machine whose cores are shared with others (two guests on the threads of one core: half the speed
// each, and no count of stolen time tells) the best may last for moments only.
#include "device/cpu/cpu.h"
#include "device/cpu/stream.h"

// A thread's part of the copy, and the most of all together.
#define PART_BYTES ((size_t)4 << 20)
#define MOST_BYTES ((size_t)256 << 20)

static size_t copy_bytes(void) {
    size_t all = PART_BYTES * (size_t)kg_cpu_threads();
    return all < MOST_BYTES ? all : MOST_BYTES;
}

static int buffers(kg_cpu_device *d, size_t bytes, kg_error *err) {
    if (!d->from && kg_cpu_arena_create(&d->device, bytes, true, &d->from, err)) return -1;
    return !d->to && kg_cpu_arena_create(&d->device, bytes, true, &d->to, err) ? -1 : 0;
}

int kg_cpu_glance(kg_device *device, const kg_ceilings *best, kg_grant *out, bool *alone, kg_error *err) {
    kg_cpu_device *d = (kg_cpu_device *)device;
    const int n = kg_cpu_threads();
    const size_t bytes = d->from ? ((kg_cpu_arena *)d->from)->bytes : copy_bytes();
    bool first_alone, second_alone;
    const double rate = kg_cpu_fed_rate(n, &first_alone);  // first: the cores are still as busy as the kernel made them
    if (buffers(d, bytes, err) || kg_cpu_evict(d->from, bytes, err)) return -1;
    char *from = ((kg_cpu_arena *)d->from)->data, *to = ((kg_cpu_arena *)d->to)->data;
    const double copied = kg_cpu_copy_now(to, from, bytes, n, &second_alone);
    if (!(copied > 0) || !(rate > 0)) return kg_fail(err, KG_ERR_CANNOT, "no threads to look at the machine with");
    *out = (kg_grant){copied / best->copy_bytes_s, rate / best->ops_s[KG_U_FP32]};
    *alone = first_alone && second_alone;
    return 0;
}
