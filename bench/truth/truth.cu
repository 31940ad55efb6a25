// Calls kgate's own candidates by hand, for the clocks that are not kgate's. bench/truth/truth.py builds and runs it.
//     nvcc -O2 -std=c++17 -arch=native -I include -I CUPTI/include -L CUPTI/lib64 bench/truth/truth.cu -lcupti -ldl
//
//     truth clocks KERNEL.so TASK SIZE...   one JSON object a size: medians of an event pair and of CUPTI's records
//     truth once KERNEL.so TASK SIZE...     a few calls a size and nothing else, for ncu
//     truth sizes TASK SIZE...              what it makes of the sizes; needs no GPU
//
// SIZE: shapes, `;` between two, and @DIM where the task has one: 4096@0, 1024,16@1, 256,256;256,256. float32.
//
// Before every call a kernel reads twice the L2 cache, as kgate's does (src/runner/cuda/cuda_rt.c says why no memset):
// its name begins with flush_, so that it can be left out.
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <kgate/kernel.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../clocks/cupti_records.h"

#define CALLS_ONCE   5
#define CALLS        200
#define LONG_CALL_US 2000.0  // fewer calls of such: a tenth

// ---- sizes ------------------------------------------------------------------------------------------
struct Size {
    std::vector<std::vector<int64_t>> shapes;
    int64_t dim;
};

static Size parse(const char *text) {
    Size s = {{{}}, 0};
    for (const char *p = text; *p;) {
        if (*p == '@') s.dim = strtol(p + 1, (char **)&p, 10);
        else if (*p == ';') s.shapes.push_back({}), p++;
        else if (*p == ',') p++;
        else if (*p >= '0' && *p <= '9') s.shapes.back().push_back(strtoll(p, (char **)&p, 10));
        else {
            fprintf(stderr, "truth: size %s: what is `%s`?\n", text, p);
            exit(2);
        }
    }
    return s;
}

static int64_t count(const std::vector<int64_t> &shape) {
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    return n;
}

static std::vector<int64_t> result_shape(const std::string &task, const Size &s) {
    std::vector<int64_t> out = s.shapes[0];
    if (task == "sum") out.erase(out.begin() + s.dim);
    if (task == "matmul") out[1] = s.shapes[1][1];
    return out;
}

// ---- one candidate's call ---------------------------------------------------------------------------
static DLTensor tensor(void *data, std::vector<int64_t> &shape) {
    return {data, {kDLCUDA, 0}, (int)shape.size(), {kDLFloat, 32, 1}, shape.data(), nullptr, 0};
}

struct Call {
    std::string task;
    void *entry;
    Size size;
    std::vector<int64_t> out_shape;
    float *in[2] = {}, *out = nullptr;

    void operator()() {
        DLTensor a = tensor(in[0], size.shapes[0]), o = tensor(out, out_shape);
        int failed = 1;
        if (task == "relu")
            failed = ((int (*)(const DLTensor *, bool, DLTensor *, cudaStream_t))entry)(&a, false, &o, 0);
        if (task == "softmax")
            failed = ((int (*)(const DLTensor *, int64_t, const char *, DLTensor *, cudaStream_t))entry)(
                &a, size.dim, nullptr, &o, 0);
        if (task == "sum") {
            const kg_ints dims = {1, &size.dim};
            failed = ((int (*)(const DLTensor *, const kg_ints *, bool, const char *, DLTensor *, cudaStream_t))entry)(
                &a, &dims, false, nullptr, &o, 0);
        }
        if (task == "matmul") {
            DLTensor b = tensor(in[1], size.shapes[1]);
            failed = ((int (*)(const DLTensor *, const DLTensor *, DLTensor *, cudaStream_t))entry)(&a, &b, &o, 0);
        }
        if (failed) {
            fprintf(stderr, "truth: %s failed: %s\n", task.c_str(), cudaGetErrorString(cudaGetLastError()));
            exit(1);
        }
    }
};

__global__ void flush_fill(float *x, int64_t n) {
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        uint32_t h = (uint32_t)i * 2654435761u;
        h = (h ^ (h >> 15)) * 2246822519u;
        x[i] = (float)(h >> 8) / (float)(1 << 23) - 1;
    }
}
__global__ void flush_read(uint4 *base, int64_t n) {
    uint32_t x = 0;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        x ^= base[i].x ^ base[i].y ^ base[i].z ^ base[i].w;
    if (x) base->x = x;  // never: it holds zeros
}

static uint4 *flush_base;
static int64_t flush_quads;
static void flush() { flush_read<<<1056, 256>>>(flush_base, flush_quads); }

static void make_flush() {
    int l2 = 0;
    CHECK(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, 0));
    flush_quads = 2 * (int64_t)l2 / 16;
    CHECK(cudaMalloc(&flush_base, (size_t)flush_quads * 16));
    CHECK(cudaMemset(flush_base, 0, (size_t)flush_quads * 16));
}

static Call make_call(const std::string &task, void *entry, const Size &size) {
    Call c = {task, entry, size, result_shape(task, size)};
    for (size_t i = 0; i < size.shapes.size(); i++) {
        const int64_t n = count(size.shapes[i]);
        CHECK(cudaMalloc(&c.in[i], (size_t)n * 4));
        flush_fill<<<1024, 256>>>(c.in[i], n);
    }
    CHECK(cudaMalloc(&c.out, (size_t)count(c.out_shape) * 4));
    CHECK(cudaDeviceSynchronize());
    return c;
}

static void free_call(Call &c) {
    for (float *p : c.in) CHECK(cudaFree(p));
    CHECK(cudaFree(c.out));
}

// ---- clocks -----------------------------------------------------------------------------------------
static double by_events(Call &call, int calls) {
    std::vector<cudaEvent_t> a(calls), b(calls);
    std::vector<double> us;
    for (int i = 0; i < calls; i++) {
        CHECK(cudaEventCreate(&a[i]));
        CHECK(cudaEventCreate(&b[i]));
    }
    for (int i = 0; i < calls; i++) {
        flush();
        CHECK(cudaEventRecord(a[i], 0));
        call();
        CHECK(cudaEventRecord(b[i], 0));
    }
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < calls; i++) {
        float ms;
        CHECK(cudaEventElapsedTime(&ms, a[i], b[i]));
        us.push_back(ms * 1e3);
        CHECK(cudaEventDestroy(a[i]));
        CHECK(cudaEventDestroy(b[i]));
    }
    return median(us);
}

// *sum: of a call's kernels; *span: from the start of its first to the end of its last; false: the records do not add
// up.
static bool by_cupti(Call &call, int calls, double *sum, double *span, size_t *kernels) {
    kernel_records.clear();
    cuptiActivityRegisterCallbacks(buffer_wanted, buffer_done);
    if (cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) != CUPTI_SUCCESS) return false;
    for (int i = 0; i < calls; i++) {
        flush();
        call();
    }
    CHECK(cudaDeviceSynchronize());
    cuptiActivityFlushAll(1);
    cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    std::vector<KernelRecord> records;
    for (const auto &k : kernel_records)
        if (k.name.find("flush_") == std::string::npos) records.push_back(k);
    *kernels = records.size() / (size_t)calls;
    if (!*kernels || records.size() != *kernels * (size_t)calls) return false;
    std::sort(records.begin(), records.end(),
              [](const KernelRecord &x, const KernelRecord &y) { return x.start < y.start; });
    std::vector<double> sums, spans;
    for (size_t i = 0; i < records.size(); i += *kernels) {
        uint64_t total = 0;
        for (size_t k = 0; k < *kernels; k++) total += records[i + k].end - records[i + k].start;
        sums.push_back((double)total * 1e-3);
        spans.push_back((double)(records[i + *kernels - 1].end - records[i].start) * 1e-3);
    }
    *sum = median(sums);
    *span = median(spans);
    return true;
}

static void measure(Call &call, const char *size) {
    const double first = (by_events(call, 3), by_events(call, 3));
    const int calls = first > LONG_CALL_US ? CALLS / 10 : CALLS;
    const double events = by_events(call, calls);
    double sum = 0, span = 0;
    size_t kernels = 0;
    printf("{\"size\": \"%s\", \"calls\": %d, \"event_us\": %.3f", size, calls, events);
    if (by_cupti(call, calls, &sum, &span, &kernels))
        printf(", \"cupti_us\": %.3f, \"cupti_span_us\": %.3f, \"kernels\": %zu", sum, span, kernels);
    printf("}\n");
    fflush(stdout);
}

int main(int argc, char **argv) {
    if (argc > 3 && !strcmp(argv[1], "sizes")) {
        for (int i = 3; i < argc; i++) {
            const Size s = parse(argv[i]);
            for (auto &shape : s.shapes) printf("%lld ", (long long)count(shape));
            printf("dim %lld -> %lld\n", (long long)s.dim, (long long)count(result_shape(argv[2], s)));
        }
        return 0;
    }
    const bool once = argc > 4 && !strcmp(argv[1], "once");
    if (argc < 5 || (!once && strcmp(argv[1], "clocks"))) {
        fprintf(stderr, "truth clocks|once KERNEL.so TASK SIZE...\n");
        return 2;
    }
    void *library = dlopen(argv[2], RTLD_NOW), *entry = library ? dlsym(library, argv[3]) : nullptr;
    if (!entry) {
        fprintf(stderr, "truth: %s\n", dlerror());
        return 1;
    }
    make_flush();
    for (int i = 4; i < argc; i++) {
        Call call = make_call(argv[3], entry, parse(argv[i]));
        for (int k = 0; once && k < CALLS_ONCE; k++) {
            flush();
            call();
            CHECK(cudaDeviceSynchronize());
        }
        if (!once) measure(call, argv[i]);
        free_call(call);
    }
    return 0;
}
