// rand(*size, *, generator=None, out=None, dtype=None, layout=torch.strided, device=None, requires_grad=False,
//      pin_memory=False) -> Tensor
//
// Numbers uniform on [0, 1). size comes as one number or one tuple (Python's rand(3, 4) is rand((3, 4))); () makes one
// number of no dimension. dtype None is float32; complex numbers have both parts uniform. generator, layout, device,
// requires_grad and pin_memory say where and how PyTorch keeps things, and are left out. C and CUDA get `seed`.
//
// What must hold (error rates: oracle/chance.h):
//   - every number is at least 0 and below 1 (all are looked at, the rest in windows of long results);
//   - the distribution function is x, by Kolmogorov's distance;
//   - so is that of the number's lower part: u times 2^12, without its integer part (2^4 in float16, 2^2 in bfloat16).
//   A
//     grid coarser than 2^-20 (2^-10, 2^-7) so is wrong; PyTorch's has 24 bits (53; 11, 8 in half precision);
//   - no correlation with itself at any distance, nor with the case's other call;
//   - pairs of neighbours fall evenly into 16 x 16 cells.
#include <math.h>
#include <stdlib.h>

#include "oracle/chance.h"
#include "oracle/oracle.h"
#include "task/families.h"

#define MOST (1 << 18)  // numbers whose distribution is looked at

static const kg_param params[] = {
    {.name = "size", .kind = KG_P_INTS},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = "dtype", .kind = KG_P_DTYPE, .optional = true, .nullable = true, .keyword = true},
    KG_SEED_PARAM,
    {.name = NULL}};
static const char *const outputs[] = {"out", NULL};
enum { SIZE, OUT, DTYPE };

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, int n, const int64_t *size) {
    kg_case *c = kg_case_add(b);
    kg_set_ints(c, b->task, "size", n, size);
    return c;
}
static void typed(kg_cases *b, kg_case *c, kg_dtype t) { kg_set_dtype(c, b->task, "dtype", t); }
static void bare(kg_cases *b, int64_t n) { add(b, 1, &n)->args[SIZE].scalar = true; }

static void quick(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F16, KG_BF16, KG_F64, KG_F32, KG_C64, KG_C128};
    static const int64_t lengths[] = {1000, 1, 2, 31, 4096, 65537};  // first what no constant answers

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) bare(b, lengths[i]);
    add(b, 0, NULL);
    add(b, KG_INTS(1023));
    add(b, KG_INTS(0));
    add(b, KG_INTS(3, 0, 5));
    add(b, KG_INTS(257, 129));
    add(b, KG_INTS(128, 256));
    add(b, KG_INTS(7, 33, 65));
    add(b, KG_INTS(2, 3, 5, 7, 11, 13));
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        typed(b, add(b, KG_INTS(1)), dtypes[i]);
        typed(b, add(b, KG_INTS(129, 255)), dtypes[i]);
    }
    kg_case *c = add(b, KG_INTS(131, 77));
    kg_set_tensor(c, b->task, "out", KG_F32, KG_SHAPE(131, 77), KG_NORMAL(0, 1));
}

static int cases(kg_cases *b) {
    static const int cpu[] = {14, 17, 20, 22, 24};
    if (b->level == KG_TIMED_CUDA)
        for (int e = 12; e <= 27; e++) add(b, KG_INTS((int64_t)1 << e));
    else if (b->level == KG_TIMED_CPU)
        for (size_t i = 0; i < sizeof cpu / sizeof *cpu; i++) add(b, KG_INTS((int64_t)1 << cpu[i]));
    else quick(b);
    if (b->level != KG_CASES_FULL) return 0;
    bare(b, 1048577);
    add(b, KG_INTS(1, 1, 1));
    add(b, KG_INTS(513, 1025));
    add(b, KG_INTS(65536, 3));
    typed(b, add(b, KG_INTS(100001)), KG_F16);
    typed(b, add(b, KG_INTS(100001)), KG_F64);
    // 32 bits or more, rounded to float32, give 1 once in 2^25 draws; these are 2^27 a call.
    typed(b, add(b, KG_INTS(1 << 26)), KG_C64);
    kg_case *large = add(b, KG_INTS(KG_PAST_32_BITS));
    typed(b, large, KG_F16);
    large->large = true;
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_arg *dtype = &c->args[DTYPE];
    const kg_dtype d = dtype->s ? (kg_dtype)kg_dtype_parse(dtype->s) : KG_F32;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(d, c->args[SIZE].n, c->args[SIZE].ints);
    return kg_dtype_is_float(kg_dtype_part(d)) ? 0 : -1;
}

// ---- what must hold ---------------------------------------------------------------------------------
// The grid that a number of this type may lie on, and where its lower part begins.
static double grid_of(kg_dtype t) { return t == KG_F16 ? 0x1p-10 : t == KG_BF16 ? 0x1p-7 : 0x1p-20; }
static double lower_of(kg_dtype t) { return t == KG_F16 ? 16 : t == KG_BF16 ? 4 : 4096; }

// False, and said, where one is not in [0, 1).
static bool hold_range(kg_holds *h, const kg_view *out) {
    const int64_t n = kg_numel(&out->desc);
    const bool dense = kg_is_contiguous(&out->desc);
    for (int64_t i = 0; i < n; i++) {
        const double x = dense ? kg_at_offset(out, i) : kg_at(out, i);
        if (x >= 0 && x < 1) continue;
        kg_hold_true(h, false, "out[%lld] is %.9g, not in [0, 1)", (long long)i, x);
        return false;
    }
    return true;
}

static int judge(kg_holds *h, const kg_answer *a, const double *x, size_t n) {
    const kg_dtype t = a->out[0].desc.dtype;
    double *lower = malloc(n * sizeof *lower);
    if (!lower) return -1;
    for (size_t i = 0; i < n; i++) lower[i] = x[i] * lower_of(t) - floor(x[i] * lower_of(t));
    kg_hold_uniform(h, lower, n, grid_of(t) * lower_of(t), "out's lower bits");
    free(lower);
    return kg_hold_uniform_calls(h, a, x, n, grid_of(t), "out");
}

static int holds(const kg_call *call, const kg_answer *a, kg_holds *h) {
    (void)call;
    const kg_view *out = &a->out[0];
    size_t n = (size_t)kg_numel(&out->desc);
    int64_t *chosen = NULL;
    if (n == 0 || !hold_range(h, out)) return 0;
    if (n > MOST) {
        n = kg_windows(&out->desc, MOST / 2, kg_chance_seed(a), &chosen);
        if (!chosen) return -1;
    }
    double *x = malloc(n * sizeof *x);
    for (size_t i = 0; x && i < n; i++) x[i] = kg_at(out, chosen ? chosen[i] : (int64_t)i);
    const int rc = x ? judge(h, a, x, n) : -1;
    free(x);
    free(chosen);
    return rc;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 1, 0); }

const kg_task kg_task_kbx_rand = {
    .name = "rand",
    .suite = "kbx",
    .category = "Random",
    .signature = "rand(*size, *, out=None, dtype=None) -> Tensor",
    .summary = "Numbers uniform on [0, 1), independent of each other and from call to call.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .held = 1,
    .holds = holds,
    .work = work,
    .torch_baseline =
        "lambda size, out=None, dtype=None: torch.rand(size, out=out, dtype=dtype, "
        "device='cuda' if torch.cuda.is_available() else None)",
    .c_body =
        "// As many bits as the type has below 1, so that nothing is rounded up to 1.\n"
        "const int bits = out->dtype.bits;\n"
        "const bool complex = out->dtype.code == kDLComplex;\n"
        "const double steps = out->dtype.code == kDLBfloat ? 256 : bits == 16 ? 2048 : bits == 32 || complex ? 16777216.0 : 9007199254740992.0;\n"
        "const double re = floor(kg_uniform(seed, 2 * i) * steps) / steps, im = floor(kg_uniform(seed, 2 * i + 1) * steps) / steps;\n"
        "if (complex) kg_put_complex_at(out, kg_element(out, i), re, im);\n"
        "else kg_put(out, i, re);\n",
};
