// Does what a kernel takes depend on how many launches its process made before? A kernel against itself comes out 9 %
// faster at every other size (bench/results/2026-11-30-h200/clocks.txt): between two sizes kgate's candidate makes an
// odd number of launches, its baseline an even one, and each timed call is two, the flush and the kernel.
//     nvcc -O2 -std=c++17 -arch=native -I include bench/clocks/parity.cu -o parity && ./parity
//
// Batches of 32 calls, each a flush of twice the L2 cache, an event, the kernel, an event, queued behind a wait as
// kgate queues them. Before each round of batches the process launches one empty kernel, or records one event, more
// than before. If the times go up and down with the launches, and not with the events, it is the launches' number that
// does it.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "cuda_check.h"
#include "relu_plain.cu"

#define CALLS   32
#define BATCHES 7
#define ROUNDS  8

__global__ void nothing() {}
__global__ void flush_read(uint4 *base, int64_t n) {
    uint32_t x = 0;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        x ^= base[i].x ^ base[i].y ^ base[i].z ^ base[i].w;
    if (x) base->x = x;  // never: it holds zeros
}

// A host function holds the queue until the batch is queued: the driver's wait on a word needs no kernel, nor does
// this.
static volatile bool go;
static void CUDART_CB wait_for_go(void *) {
    while (!go) continue;
}

static uint4 *flush_base;
static int64_t quads;
static float *x, *y;
static cudaEvent_t before[CALLS], after[CALLS], spare;

static double batch(int64_t n) {
    std::vector<float> us(CALLS);
    go = false;
    CHECK(cudaLaunchHostFunc(0, wait_for_go, nullptr));
    for (int i = 0; i < CALLS; i++) {
        flush_read<<<1056, 256>>>(flush_base, quads);
        CHECK(cudaEventRecord(before[i], 0));
        relu_plain<<<(unsigned)((n + 255) / 256), 256>>>(x + i * n, y + i * n, n);
        CHECK(cudaEventRecord(after[i], 0));
    }
    go = true;
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < CALLS; i++) {
        CHECK(cudaEventElapsedTime(&us[i], before[i], after[i]));
        us[i] *= 1e3f;
    }
    std::sort(us.begin(), us.end());
    return us[CALLS / 2];
}

static double batches(int64_t n) {
    double us[BATCHES];
    for (double &t : us) t = batch(n);
    std::sort(us, us + BATCHES);
    return us[BATCHES / 2];
}

int main() {
    const int64_t sizes[] = {4096, 16384, 65536, 262144, 1048576};
    int l2 = 0;
    CHECK(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, 0));
    quads = 2 * (int64_t)l2 / 16;
    CHECK(cudaMalloc(&flush_base, (size_t)quads * 16));
    CHECK(cudaMemset(flush_base, 0, (size_t)quads * 16));
    CHECK(cudaMalloc(&x, CALLS * sizes[4] * 4));
    CHECK(cudaMalloc(&y, CALLS * sizes[4] * 4));
    CHECK(cudaMemset(x, 0, CALLS * sizes[4] * 4));
    CHECK(cudaEventCreate(&spare));
    for (int i = 0; i < CALLS; i++) {
        CHECK(cudaEventCreate(&before[i]));
        CHECK(cudaEventCreate(&after[i]));
    }
    batches(sizes[4]);
    printf("median of an event pair, us, as it comes, by how many more were made before the batches\n");
    printf("%-9s %-9s", "elements", "more");
    for (int r = 0; r < ROUNDS; r++) printf(" %7d", r);
    printf("\n");
    for (int64_t n : sizes)
        for (const char *what : {"launches", "events", "nothing"}) {
            printf("%-9lld %-9s", (long long)n, what);
            for (int r = 0; r < ROUNDS; r++) {
                if (r && *what == 'l') nothing<<<1, 32>>>();
                if (r && *what == 'e') CHECK(cudaEventRecord(spare, 0));
                CHECK(cudaDeviceSynchronize());
                printf(" %7.2f", batches(n));
                fflush(stdout);
            }
            printf("\n");
        }
    return 0;
}
