// tensordot_rsqrt(a, b, dims) -> Tensor
//
// 1 / sqrt(tensordot(a, b, dims)). dims: an int, how many last dimensions of a meet as many first ones of b; or two
// lists, a's dimensions and those of b that they meet.
//
// How dims crosses to C: one int as such; two lists of d as 2 d ints, a's first. Dimensions may count from the end.
//
// Bounds: s is a product (src/oracle/product.c). An error e of it moves 1 / sqrt(s) by e / (2 s^1.5) to first order,
// and honest kernels may give NaN or a wild number where e reaches s: cases keep s well away from 0.
#include "oracle/reduce.h"
#include "task/products.h"

static const kg_param params[] = {{.name = "a", .kind = KG_P_TENSOR},
                                  {.name = "b", .kind = KG_P_TENSOR},
                                  {.name = "dims", .kind = KG_P_INTS},
                                  {.name = NULL}};
enum { LEFT, RIGHT, DIMS };

// ---- cases ----------------------------------------------------------------------------------------
// Positive factors: sums far from 0.
static kg_case *add(kg_cases *b, kg_tensor left, kg_tensor right) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "a", left, KG_UNIFORM(0.25, 2));
    kg_set_strided(c, b->task, "b", right, KG_UNIFORM(0.25, 2));
    return c;
}

static kg_case *count(kg_cases *b, kg_tensor left, kg_tensor right, int64_t n) {
    kg_case *c = add(b, left, right);
    kg_set_ints(c, b->task, "dims", KG_INTS(n));
    c->args[DIMS].scalar = true;
    return c;
}

static kg_case *lists(kg_cases *b, kg_tensor left, kg_tensor right, const char *text, int n, const int64_t *both) {
    kg_case *c = add(b, left, right);
    kg_set_ints(c, b->task, "dims", n, both);
    c->args[DIMS].s = text;
    return c;
}

#define DENSE(...)   kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
#define TURNED(m, n) kg_tensor_transposed(t, KG_SHAPE(m, n), 0, 1)
static void quick(kg_cases *b) {
    kg_dtype t = KG_F32;
    count(b, DENSE(17, 33), DENSE(33, 9), 1);
    count(b, DENSE(1, 1), DENSE(1, 1), 1);
    count(b, DENSE(257), DENSE(257), 1);
    count(b, DENSE(5, 7), DENSE(5, 7), 2);  // a single number
    count(b, DENSE(3, 4, 5), DENSE(4, 5, 6), 2);
    count(b, DENSE(2, 3, 4), DENSE(4, 5, 6), 1);
    count(b, DENSE(2, 3, 4, 5), DENSE(3, 4, 5), 3);
    count(b, DENSE(2, 3, 4, 5), DENSE(3, 4, 5, 6), 3);
    count(b, DENSE(7), DENSE(9), 0);  // the outer product
    count(b, DENSE(0, 4), DENSE(4, 5), 1);
    count(b, DENSE(3, 0), DENSE(0, 5), 1);  // sums of nothing: 1 / sqrt(0)
    count(b, DENSE(65, 129), DENSE(129, 33), 1);
    count(b, DENSE(2, 5003), DENSE(5003, 3), 1);
    lists(b, DENSE(70, 3, 71), DENSE(71, 2, 70), "[[0,2],[2,0]]", KG_INTS(0, 2, 2, 0));  // 4970 terms
    count(b, DENSE(4099, 3), DENSE(3, 2), 1);
    count(b, DENSE(2, 3), DENSE(3, 4099), 1);
    lists(b, DENSE(17, 33), DENSE(9, 33), "[[1],[1]]", KG_INTS(1, 1));
    lists(b, DENSE(33, 17), DENSE(33, 9), "[[0],[0]]", KG_INTS(0, 0));
    lists(b, DENSE(33, 17), DENSE(9, 33), "[[-2],[-1]]", KG_INTS(-2, -1));
    lists(b, DENSE(3, 4, 5), DENSE(4, 3, 6), "[[1,0],[0,1]]", KG_INTS(1, 0, 0, 1));
    lists(b, DENSE(3, 4, 5), DENSE(6, 5, 3), "[[0,2],[2,1]]", KG_INTS(0, 2, 2, 1));
    lists(b, DENSE(3, 4, 5), DENSE(6, 5, 3), "[[0,-1],[-1,-2]]", KG_INTS(0, -1, -1, -2));
    lists(b, DENSE(3, 4, 5), DENSE(4, 6, 7), "[[-2],[-3]]", KG_INTS(-2, -3));
    lists(b, DENSE(4, 3, 4, 2), DENSE(4, 5, 4), "[[2,0],[0,2]]", KG_INTS(2, 0, 0, 2));
    count(b, TURNED(31, 20), TURNED(20, 17), 1);
    lists(b, kg_tensor_stepped(t, KG_SHAPE(21, 9), 2), TURNED(9, 21), "[[0],[1]]", KG_INTS(0, 1));
    kg_case *c = count(b, DENSE(64, 1), DENSE(1, 33), 1);
    c->args[LEFT].fill = KG_NORMAL(0, 1);  // negative: NaN
    c = count(b, DENSE(9, 1), DENSE(1, 33), 1);
    c->args[RIGHT].fill = (kg_fill){KG_FILL_TIES, 0, 0};  // zero: infinity
    c = count(b, DENSE(3, 4), DENSE(4, 5), 1);
    c->args[LEFT].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    c = count(b, DENSE(3, 4), DENSE(4, 5), 1);
    c->args[RIGHT].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    t = KG_F64;
    for (int i = LEFT; i <= RIGHT; i++) count(b, DENSE(3, 4), DENSE(4, 5), 1)->args[i].fill = KG_BEYOND_FLOAT;
    t = KG_F32;
    c = count(b, DENSE(33, 65), DENSE(65, 20), 1);
    c->args[LEFT].fill = c->args[RIGHT].fill = KG_NORMAL(2, 0.5);
    for (size_t i = 0; i < 3; i++) {
        t = (const kg_dtype[]){KG_F16, KG_BF16, KG_F64}[i];
        count(b, DENSE(17, 65), DENSE(65, 33), 1);
        lists(b, DENSE(3, 4, 5), DENSE(4, 3, 6), "[[1,0],[0,1]]", KG_INTS(1, 0, 0, 1));
    }
}

static void full(kg_cases *b) {
    const kg_dtype t = KG_F32;
    count(b, DENSE(2, 4096), DENSE(4096, 3), 1);
    count(b, DENSE(127, 129), DENSE(129, 255), 1);
    count(b, DENSE(2, 3), DENSE(4, 5), 0);
    lists(b, DENSE(2, 3, 4, 5), DENSE(5, 3, 2, 7), "[[0,1,3],[2,1,0]]", KG_INTS(0, 1, 3, 2, 1, 0));
    lists(b, DENSE(2, 3), DENSE(3, 2, 4), "[[0,1],[1,0]]", KG_INTS(0, 1, 1, 0));
    count(b, kg_tensor_expanded(t, KG_SHAPE(30, 40), 0), DENSE(40, 30), 1);
    count(b, DENSE(40, 40), DENSE(40, 20), 1)->args[LEFT].fill = KG_UNIFORM(1e-6, 1e-5);
    count(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(9, 1024)), kg_tensor_contiguous(KG_F16, KG_SHAPE(1024, 9)), 1);
}

static int cases(kg_cases *b) {
    const kg_dtype t = KG_F32;
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    for (int64_t n = 32; n <= (b->level == KG_TIMED_CUDA ? 2048 : 1024); n *= 2) count(b, DENSE(n, n), DENSE(n, n), 1);
    return 0;
}
#undef DENSE
#undef TURNED

// ---- shapes ---------------------------------------------------------------------------------------
// Which dimensions meet: left[i] of a and right[i] of b, n of them. -1: no legal choice.
typedef struct {
    int n, left[KG_MAX_NDIM], right[KG_MAX_NDIM];
    int left_mask, right_mask;
} meeting;

static int meet(const kg_case *c, meeting *m) {
    const kg_tensor *a = &c->args[LEFT].tensor, *b = &c->args[RIGHT].tensor;
    const kg_arg *d = &c->args[DIMS];
    *m = (meeting){.n = d->scalar ? (int)d->ints[0] : d->n / 2};
    if (m->n < 0 || m->n > a->ndim || m->n > b->ndim || (!d->scalar && d->n % 2)) return -1;
    for (int i = 0; i < m->n; i++) {
        m->left[i] = d->scalar ? a->ndim - m->n + i : kg_wrap_dim(d->ints[i], a->ndim);
        m->right[i] = d->scalar ? i : kg_wrap_dim(d->ints[m->n + i], b->ndim);
        if (m->left[i] < 0 || m->right[i] < 0 || a->shape[m->left[i]] != b->shape[m->right[i]]) return -1;
        m->left_mask |= 1 << m->left[i];
        m->right_mask |= 1 << m->right[i];
    }
    return 0;
}

static void append_kept(kg_tensor *to, const kg_tensor *t, int mask) {
    for (int d = 0; d < t->ndim; d++)
        if (!(mask >> d & 1)) to->shape[to->ndim++] = t->shape[d];
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *a = &c->args[LEFT].tensor, *b = &c->args[RIGHT].tensor;
    meeting m;
    if (a->dtype != b->dtype || meet(c, &m) || a->ndim + b->ndim - 2 * m.n > KG_MAX_NDIM) return -1;
    kg_tensor out = {.dtype = a->dtype};
    append_kept(&out, a, m.left_mask);
    append_kept(&out, b, m.right_mask);
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(a->dtype, out.ndim, out.shape);
    return 0;
}

static double terms(const kg_case *c) {
    meeting m;
    double n = 1;
    if (meet(c, &m)) return 1;
    for (int i = 0; i < m.n; i++) n *= (double)c->args[LEFT].tensor.shape[m.left[i]];
    return n;
}

// ---- oracle ---------------------------------------------------------------------------------------
typedef struct {
    kg_view a, b;
    meeting m;
    int64_t terms, columns;  // of the result seen as a matrix
} contraction;

// Storage offset of number `index` of the dimensions that mask keeps, row-major.
static int64_t kept_offset(const kg_tensor *t, int mask, int64_t index) {
    int64_t at = 0;
    for (int d = t->ndim - 1; d >= 0; d--) {
        if (mask >> d & 1) continue;
        at += index % t->shape[d] * t->stride[d];
        index /= t->shape[d];
    }
    return at;
}

static double met(const kg_view *v, const int *dims, int n, int64_t start, int64_t term) {
    for (int i = n - 1; i >= 0; i--) {
        start += term % v->desc.shape[dims[i]] * v->desc.stride[dims[i]];
        term /= v->desc.shape[dims[i]];
    }
    return kg_at_offset(v, start);
}

static kg_lanes contract(const contraction *x, int64_t index) {
    const int64_t a_at = kept_offset(&x->a.desc, x->m.left_mask, index / x->columns);
    const int64_t b_at = kept_offset(&x->b.desc, x->m.right_mask, index % x->columns);
    kg_lanes l = kg_lanes_start(x->a.desc.dtype);
    double left, right[1][KG_LANES] = {{0}};
    for (int64_t k = 0; k < x->terms; k++) {
        left = met(&x->a, x->m.left, x->m.n, a_at, k);
        right[0][0] = met(&x->b, x->m.right, x->m.n, b_at, k);
        kg_lanes_add(&l, &left, (const double(*)[KG_LANES])right, 1);
    }
    return l;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    contraction x = {.a = kg_call_view(call, "a"), .b = kg_call_view(call, "b"), .columns = 1};
    const bool half = kg_is_half(call->c->outs[0].dtype);
    meet(call->c, &x.m);
    x.terms = (int64_t)terms(call->c);
    for (int d = 0; d < x.b.desc.ndim; d++)
        if (!(x.m.right_mask >> d & 1)) x.columns *= x.b.desc.shape[d];
    for (size_t k = 0; k < ref->n; k++) {
        const kg_lanes l = contract(&x, ref->index[k]);
        const double s = kg_lanes_value(&l, 0), y = 1 / sqrt(s);
        const bool finite = isfinite(y) && isfinite(s) && s > 0;
        ref->value[k] = y;
        // Only the product may be tf32's; in half precision s may be stored and its root be good to two units.
        ref->local[k] = finite ? y / (2 * s) * kg_lanes_local(&l, 0) + (half ? 2.5 * y : 0) : 0;
        ref->acc[k] = finite ? y / (2 * s) * (kg_lanes_acc(&l, 0) + s) + KG_LAMBDA * y : 0;
    }
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    w->ops[kg_product_unit(c->outs[0].dtype)] = 2 * terms(c) * (double)kg_numel(&c->outs[0]);
    w->ops[KG_U_SPECIAL] = (double)kg_numel(&c->outs[0]);
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return 8 * terms(c) + 1;  // one lane of eight is used
}

const kg_task kg_task_kbx_tensordot_rsqrt = {
    .name = "tensordot_rsqrt",
    .suite = "kbx",
    .category = "MatrixMultiply",
    .signature = "tensordot_rsqrt(a, b, dims) -> Tensor",
    .summary =
        "1 / sqrt(tensordot(a, b, dims)); two lists of dims come to C as one, those of a first, and one int as such.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline = "lambda a, b, dims: torch.rsqrt(torch.tensordot(a, b, dims=dims))",
    .c_body =
        "// Bit d of a mask: dimension d meets one of the other tensor.\n"
        "const int64_t pairs = dims->n == 1 ? dims->v[0] : dims->n / 2;\n"
        "int64_t left[8], right[8], left_mask = 0, right_mask = 0, terms = 1, columns = 1;\n"
        "for (int64_t k = 0; k < pairs; k++) {\n"
        "    left[k] = dims->n == 1 ? a->ndim - pairs + k : dims->v[k];\n"
        "    right[k] = dims->n == 1 ? k : dims->v[pairs + k];\n"
        "    if (left[k] < 0) left[k] += a->ndim;\n"
        "    if (right[k] < 0) right[k] += b->ndim;\n"
        "    left_mask |= (int64_t)1 << left[k];\n"
        "    right_mask |= (int64_t)1 << right[k];\n"
        "    terms *= kg_dim(a, left[k]);\n"
        "}\n"
        "for (int d = 0; d < b->ndim; d++)\n"
        "    if (!(right_mask >> d & 1)) columns *= kg_dim(b, d);\n"
        "int64_t row = i / columns, column = i % columns, a_at = 0, b_at = 0;\n"
        "for (int d = a->ndim - 1; d >= 0; d--) {\n"
        "    if (left_mask >> d & 1) continue;\n"
        "    a_at += row % kg_dim(a, d) * kg_stride(a, d);\n"
        "    row /= kg_dim(a, d);\n"
        "}\n"
        "for (int d = b->ndim - 1; d >= 0; d--) {\n"
        "    if (right_mask >> d & 1) continue;\n"
        "    b_at += column % kg_dim(b, d) * kg_stride(b, d);\n"
        "    column /= kg_dim(b, d);\n"
        "}\n"
        "double sum = 0;\n"
        "for (int64_t term = 0; term < terms; term++) {\n"
        "    int64_t x = a_at, y = b_at, rest = term;\n"
        "    for (int64_t k = pairs - 1; k >= 0; k--) {\n"
        "        const int64_t at = rest % kg_dim(a, left[k]);\n"
        "        x += at * kg_stride(a, left[k]);\n"
        "        y += at * kg_stride(b, right[k]);\n"
        "        rest /= kg_dim(a, left[k]);\n"
        "    }\n"
        "    sum += kg_get_at(a, x) * kg_get_at(b, y);\n"
        "}\n"
        "kg_put(out, i, 1.0 / sqrt(sum));\n",
};
