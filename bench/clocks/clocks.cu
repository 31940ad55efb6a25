// The same kernel by a hand-written event pair and by CUPTI activity records; run under ncu for the counter. L2 flushed
// before every call. Prints one line a size: n, median microseconds of the event pair, of CUPTI.
//     nvcc -O2 -arch=native -I include bench/clocks/clocks.cu -lcupti -o clocks && ./clocks
//     ncu --clock-control none --metrics gpu__time_duration.sum --kernel-name relu_plain ./clocks --once
#include "cupti_records.h"
#include "relu_plain.cu"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static void call(const float *x, float *y, int64_t n) {
    int64_t shape[1] = {n}, stride[1] = {1};
    DLTensor in = {(void *)x, {kDLCUDA, 0}, 1, {kDLFloat, 32, 1}, shape, stride, 0}, out = in;
    out.data = y;
    if (relu(&in, false, &out, 0)) exit(1);
}

int main(int argc, char **argv) {
    bool once = argc > 1 && !strcmp(argv[1], "--once");
    const int64_t sizes[] = {1 << 16, 1 << 20, 1 << 24, 1 << 27};
    const size_t flush_bytes = 120u << 20;
    const int calls = once ? 3 : 200;
    char *flush;
    float *x, *y;
    CHECK(cudaMalloc(&flush, flush_bytes));
    CHECK(cudaMalloc(&x, sizes[3] * 4));
    CHECK(cudaMalloc(&y, sizes[3] * 4));
    std::vector<float> host(1 << 20);
    for (auto &v : host) v = (float)rand() / (float)RAND_MAX - 0.5f;
    for (int64_t at = 0; at < sizes[3]; at += 1 << 20) CHECK(cudaMemcpy(x + at, host.data(), 4 << 20, cudaMemcpyHostToDevice));
    for (int64_t n : sizes) {
        std::vector<cudaEvent_t> a(calls), b(calls);
        for (int i = 0; i < calls; i++) {
            CHECK(cudaEventCreate(&a[i]));
            CHECK(cudaEventCreate(&b[i]));
        }
        for (int i = 0; i < 3 && !once; i++) call(x, y, n);
        CHECK(cudaDeviceSynchronize());
        for (int i = 0; i < calls; i++) {
            CHECK(cudaMemsetAsync(flush, i, flush_bytes, 0));
            CHECK(cudaEventRecord(a[i], 0));
            call(x, y, n);
            CHECK(cudaEventRecord(b[i], 0));
        }
        CHECK(cudaDeviceSynchronize());
        if (once) continue;
        std::vector<double> pair;
        for (int i = 0; i < calls; i++) {
            float ms;
            CHECK(cudaEventElapsedTime(&ms, a[i], b[i]));
            pair.push_back(ms * 1e3);
        }
        kernel_records.clear();
        cuptiActivityRegisterCallbacks(buffer_wanted, buffer_done);
        cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
        for (int i = 0; i < calls; i++) {
            CHECK(cudaMemsetAsync(flush, i, flush_bytes, 0));
            call(x, y, n);
        }
        CHECK(cudaDeviceSynchronize());
        cuptiActivityFlushAll(1);
        cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
        std::vector<double> us;
        for (const auto &k : kernel_records)
            if (k.name.find("relu_plain") != std::string::npos) us.push_back((double)(k.end - k.start) * 1e-3);
        printf("clocks n=%lld event_pair_us=%.2f cupti_us=%.2f\n", (long long)n, median(pair), median(us));
    }
    return 0;
}
