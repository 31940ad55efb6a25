// attention_w8a8(query: Tensor, key: Tensor, value: Tensor) -> Tensor
//
// query (B, T, d), key (B, S, d), value (B, S, e), float32; one head:
//     softmax(query key^T / sqrt(d)) value, with query, key and value quantised to int8
// Scores are exact int32 sums, dequantised; the softmax is float. The text leaves open what has a scale of its own, and
// says int32 "where applicable": the second product's left factor, the softmax P, is float or int8. So these are right,
// and all outputs of a call must follow one:
//     query, key  a scale for the tensor, each matrix or each row
//     value       the same, or each column; by row only where P is float, since no exact sum has it
//     P           float times the dequantised value; or int8 with a scale for each row (what a kernel gets that
//     quantises
//                 exp(s - max) to 1/127), 1/127, or the largest P of the matrix or the tensor
// Symmetric and divided by 127, 127.5 or 128, as matmul_w8a8. Kernels whose scales of P change from block to block of
// keys are none of these. P in float may be rounded to tf32 or half precision for its product, so tf32 is the lowest
// rung.
//
// Bounds. Integers: src/oracle/quantise.h. An absolute error e_j = error(s_j) + 8 u (1 + |s_j| + |max|) of a score s_j
// makes P_j exp(e_j) times as large or as small, which for integers one off is more than 1 + e_j; the sum it is divided
// by loses the mean of 1 - exp(-e), weighted with P, or gains that of exp(e) - 1, and its own rounding. P's errors over
// its scale widen what is near a tie. The product in float as in sum.c, and sum |value| error(P).
#include <pthread.h>
#include <stdlib.h>

#include "task/quantised.h"

static const kg_param params[] = {{.name = "query", .kind = KG_P_TENSOR},
                                  {.name = "key", .kind = KG_P_TENSOR},
                                  {.name = "value", .kind = KG_P_TENSOR},
                                  {.name = NULL}};
enum { QUERY, KEY, VALUE };

// choice = {grid, grain of query and key, grain of value, P}
enum { P_FLOAT, P_ROW, P_FIXED, P_MATRIX, P_TENSOR };
#define BY_COLUMN KG_BY_LINE
#define BY_ROW    (KG_NOT_QUANTISED + 1)
#define WITH_ANY_P(scale, grid, text, ...)                                    \
    KG_QUANT_READING(scale, grid, text ", P in float", __VA_ARGS__, P_FLOAT), \
        KG_QUANT_READING(scale, grid, text ", P by row", __VA_ARGS__, P_ROW), \
        KG_QUANT_READING(scale, grid, text ", P with a fixed scale", __VA_ARGS__, P_FIXED)
#define DESIGNS(scale, grid)                                                                      \
    WITH_ANY_P(scale, grid, "scales by tensor", KG_BY_TENSOR, KG_BY_TENSOR),                      \
        WITH_ANY_P(scale, grid, "scales by matrix", KG_BY_MATRIX, KG_BY_MATRIX),                  \
        WITH_ANY_P(scale, grid, "scales by row, of value by column", KG_BY_LINE, BY_COLUMN),      \
        WITH_ANY_P(scale, grid, "scales by row, of value by tensor", KG_BY_LINE, KG_BY_TENSOR),   \
        WITH_ANY_P(scale, grid, "scales by row, of value by matrix", KG_BY_LINE, KG_BY_MATRIX),   \
        WITH_ANY_P(scale, grid, "scales by tensor, of value by column", KG_BY_TENSOR, BY_COLUMN), \
        KG_QUANT_READING(scale, grid, "scales by row, P in float", KG_BY_LINE, BY_ROW, P_FLOAT)
// Last: they need every score.
#define LARGEST_P(scale, grid)                                                                                 \
    KG_QUANT_READING(scale, grid, "scales by tensor, P by tensor", KG_BY_TENSOR, KG_BY_TENSOR, P_TENSOR),      \
        KG_QUANT_READING(scale, grid, "scales by matrix, P by matrix", KG_BY_MATRIX, KG_BY_MATRIX, P_MATRIX),  \
        KG_QUANT_READING(scale, grid, "scales by row, of value by column, P by tensor", KG_BY_LINE, BY_COLUMN, \
                         P_TENSOR)
#define FLOAT_VALUE "value is not quantised: the task asks for int8 query, key and value"
static const kg_reading readings[] = {
    KG_INT8_READINGS(DESIGNS),
    KG_INT8_READINGS(LARGEST_P),
    KG_WRONG_READING("float", KG_NO_QUANTISATION("attention", "int8"), KG_NOT_QUANTISED, KG_NOT_QUANTISED, P_FLOAT),
    KG_WRONG_READING("float value", FLOAT_VALUE, KG_BY_TENSOR, KG_NOT_QUANTISED, P_FLOAT),
    KG_WRONG_READING("float value", FLOAT_VALUE, KG_BY_MATRIX, KG_NOT_QUANTISED, P_FLOAT),
    KG_WRONG_READING("float value", FLOAT_VALUE, KG_BY_LINE, KG_NOT_QUANTISED, P_FLOAT),
    {.name = NULL}};

// ---- cases ----------------------------------------------------------------------------------------
// Scores of deviation 4 or so, so that no row of P is so even that int8 with a fixed scale makes it 0.
static kg_case *add(kg_cases *b, kg_tensor query, kg_tensor key, kg_tensor value) {
    kg_case *c = kg_case_add(b);
    const bool narrow = query.shape[2] < 8;
    kg_set_strided(c, b->task, "query", query, narrow ? KG_NOT_SMALL : KG_NORMAL(0, 2));
    kg_set_strided(c, b->task, "key", key, narrow ? KG_NOT_SMALL : KG_NORMAL(0, 2));
    kg_set_strided(c, b->task, "value", value,
                   value.shape[2] < 8 || value.shape[1] < 8 ? KG_NOT_SMALL : KG_NORMAL(0.5, 1));
    return c;
}

#define DENSE(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static kg_case *sized(kg_cases *b, int64_t n, int64_t t, int64_t d) {
    return add(b, DENSE(n, t, d), DENSE(n, t, d), DENSE(n, t, d));
}

static void quick(kg_cases *b) {
    sized(b, 2, 17, 33);
    sized(b, 1, 1, 1);
    sized(b, 1, 1, 40);  // one key: its value
    sized(b, 3, 5, 1);
    sized(b, 2, 31, 64);
    sized(b, 1, 65, 17);
    sized(b, 3, 33, 9);
    sized(b, 1, 129, 16);
    sized(b, 0, 8, 8);
    add(b, DENSE(2, 9, 24), DENSE(2, 31, 24), DENSE(2, 31, 24));
    add(b, DENSE(2, 31, 24), DENSE(2, 9, 24), DENSE(2, 9, 24));
    add(b, DENSE(2, 13, 24), DENSE(2, 21, 24), DENSE(2, 21, 11));
    add(b, DENSE(1, 1, 64), DENSE(1, 257, 64), DENSE(1, 257, 64));
    add(b, DENSE(2, 5, 32), DENSE(2, 2500, 32), DENSE(2, 2500, 9));
    add(b, DENSE(1, 17, 64), DENSE(1, 17, 64), DENSE(1, 17, 200));
    add(b, DENSE(2, 3, 256), DENSE(2, 5, 256), DENSE(2, 5, 8));
    add(b, DENSE(3, 1367, 4), DENSE(3, 5, 4), DENSE(3, 5, 3));
    sized(b, 2, 16, 16)->args[QUERY].fill = (kg_fill){.kind = KG_FILL_ZERO};  // the mean of value
    sized(b, 2, 16, 16)->args[KEY].fill = (kg_fill){.kind = KG_FILL_ZERO};
    sized(b, 2, 16, 16)->args[VALUE].fill = (kg_fill){.kind = KG_FILL_ZERO};
    add(b, DENSE(2, 9, 1), DENSE(2, 9, 1), DENSE(2, 9, 8))->args[QUERY].fill = (kg_fill){.kind = KG_FILL_TIES};
    // Scores whose exponentials overflow unless the largest is taken off, of all keys; and rows of them that lie below
    // any number that stands for -infinity.
    kg_case *c = add(b, DENSE(2, 3, 24), DENSE(2, 1031, 24), DENSE(2, 1031, 5));
    c->args[QUERY].fill = c->args[KEY].fill = KG_NORMAL(0, 200);
    c = sized(b, 2, 17, 16);
    c->args[QUERY].fill = KG_NORMAL(3e3, 3e2), c->args[KEY].fill = KG_NORMAL(-3e3, 3e2);
    for (int i = QUERY; i <= KEY; i++) {  // small, and its scores are not
        c = sized(b, 2, 24, 96);
        c->args[i].fill = KG_SMALL, c->args[QUERY + KEY - i].fill = KG_NORMAL(0, 4096);
    }
    sized(b, 2, 96, 24)->args[VALUE].fill = KG_SMALL;
    sized(b, 2, 24, 20)->args[VALUE].fill = KG_OUTLIERS(0, 1);
    sized(b, 2, 24, 20)->args[KEY].fill = KG_NORMAL(5, 0.5);
    sized(b, 2, 24, 20)->args[QUERY].fill = KG_NORMAL(0, 0.25);
    sized(b, 2, 24, 20)->args[VALUE].fill = KG_NORMAL(5, 1);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(2, 19, 24), 1, 2),
        kg_tensor_transposed(KG_F32, KG_SHAPE(2, 21, 24), 0, 1),
        kg_tensor_transposed(KG_F32, KG_SHAPE(2, 21, 24), 1, 2));
}

static void full(kg_cases *b) {
    for (int64_t t = 2; t <= 5; t++) sized(b, 2, t, 7 - t);
    sized(b, 2, 128, 64);
    sized(b, 1, 63, 128);
    add(b, DENSE(1, 3, 32), DENSE(1, 1023, 32), DENSE(1, 1023, 32));
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(2, 13, 10), 2), kg_tensor_stepped(KG_F32, KG_SHAPE(2, 17, 10), 3),
        kg_tensor_expanded(KG_F32, KG_SHAPE(2, 17, 10), 0));
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
    } else if (b->level == KG_TIMED_CUDA) {
        for (int64_t t = 512; t <= 2048; t *= 2) sized(b, 2, t, 64);
        sized(b, 1, 4096, 64);
    } else {
        for (int64_t t = 64; t <= 256; t *= 2) sized(b, 2, t, 64);
    }
    return 0;
}
#undef DENSE

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *q = &c->args[QUERY].tensor, *k = &c->args[KEY].tensor, *v = &c->args[VALUE].tensor;
    for (int i = 0; i < 3; i++)
        if (c->args[i].tensor.ndim != 3 || c->args[i].tensor.dtype != KG_F32) return -1;
    if (q->shape[0] != k->shape[0] || q->shape[0] != v->shape[0] || q->shape[2] != k->shape[2] ||
        k->shape[1] != v->shape[1])
        return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(KG_F32, KG_SHAPE(q->shape[0], q->shape[1], v->shape[2]));
    return 0;
}

// ---- of whole inputs ------------------------------------------------------------------------------
typedef struct {
    bool known;
    double *each, all;  // largest P of each matrix, and of all
    double error;       // relative, of each of them
} largest_p;

typedef struct {
    kg_maxima of[3];
    pthread_mutex_t lock;  // of p, which is made when a reading first asks
    largest_p p[KG_GRIDS][KG_BY_LINE + 1];
} whole;

static void release(void *prepared) {
    whole *h = prepared;
    if (!h) return;
    for (int i = 0; i < 3; i++) kg_maxima_free(&h->of[i]);
    for (int g = 0; g < KG_GRIDS; g++)
        for (int i = 0; i <= KG_BY_LINE; i++) free(h->p[g][i].each);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

static void *prepare(const kg_call *call) {
    whole *h = calloc(1, sizeof *h);
    if (!h) return NULL;
    pthread_mutex_init(&h->lock, NULL);
    for (int i = 0; i < 3; i++)
        if (kg_maxima_of(&h->of[i], &call->args[i], 6)) {
            release(h);
            return NULL;
        }
    return h;
}

// ---- one matrix as a reading has it -----------------------------------------------------------------
typedef struct {
    const kg_call *call;
    whole *h;
    int64_t keys, depth, width;
    int64_t matrix, row;  // which are held; -1: none
    kg_quants *key;       // [keys], each over depth
    kg_quants *column;    // [width], each over keys: of value
    double *value_scale;  // [keys], beside the columns' scales
    kg_quants query, weights;
    double *line, *second;        // as long as the longest
    double *score, *p, *p_error;  // [keys]; p_error is absolute
} head;

static int quants_of(kg_quants **list, int64_t n, int64_t length) {
    int failed = !(*list = calloc((size_t)n + 1, sizeof **list));
    for (int64_t i = 0; i < n && !failed; i++) failed = kg_quants_make(&(*list)[i], length);
    return failed;
}

static void free_quants(kg_quants *list, int64_t n) {
    for (int64_t i = 0; list && i < n; i++) kg_quants_free(&list[i]);
    free(list);
}

static int head_make(head *d, const kg_call *call) {
    *d = (head){.call = call, .h = (whole *)call->prepared, .matrix = -1, .row = -1};
    d->keys = call->args[KEY].desc.shape[1];
    d->depth = call->args[KEY].desc.shape[2];
    d->width = call->args[VALUE].desc.shape[2];
    const int64_t longest = d->keys > d->depth + d->width ? d->keys : d->depth + d->width;
    double *space = malloc((2 * (size_t)longest + 4 * (size_t)d->keys + 1) * sizeof *space);
    d->line = space;
    if (!space || quants_of(&d->key, d->keys, d->depth) || quants_of(&d->column, d->width, d->keys) ||
        kg_quants_make(&d->query, longest) || kg_quants_make(&d->weights, d->keys))
        return -1;
    d->second = space + longest;
    d->score = d->second + longest;
    d->p = d->score + d->keys;
    d->p_error = d->p + d->keys;
    d->value_scale = d->p_error + d->keys;
    return 0;
}

static void head_free(head *d) {
    free_quants(d->key, d->keys);
    free_quants(d->column, d->width);
    kg_quants_free(&d->query);
    kg_quants_free(&d->weights);
    free(d->line);
}

static const kg_grid *grid_of(const head *d) { return &kg_int8_grids[d->call->reading->choice[0]]; }

// Row i of the matrix of an argument.
static void load_row(const head *d, int arg, int64_t i, double *to) {
    const kg_view *v = &d->call->args[arg];
    kg_load_line(v, d->matrix * v->desc.stride[0] + i * v->desc.stride[1], v->desc.stride[2], v->desc.shape[2], to, 1);
}

static void quantise(const head *d, int arg, int grain, const double *x, int64_t n, kg_quants *to) {
    kg_quantise(to, x, NULL, n, kg_scale_from(&d->h->of[arg], d->matrix, x, n, (kg_grain)grain), 0, grid_of(d));
}

static void take_value(head *d) {
    const kg_view *v = &d->call->args[VALUE];
    const int grain = d->call->reading->choice[2];
    for (int64_t j = 0; j < d->keys; j++) d->value_scale[j] = 1;
    for (int64_t e = 0; e < d->width && grain != BY_ROW && grain != KG_NOT_QUANTISED; e++) {
        kg_load_line(v, d->matrix * v->desc.stride[0] + e * v->desc.stride[2], v->desc.stride[1], d->keys, d->line, 1);
        quantise(d, VALUE, grain, d->line, d->keys, &d->column[e]);
    }
    for (int64_t j = 0; j < d->keys && grain == BY_ROW; j++) {
        load_row(d, VALUE, j, d->line);
        quantise(d, VALUE, KG_BY_LINE, d->line, d->width, &d->query);
        d->value_scale[j] = d->query.scale;
        for (int64_t e = 0; e < d->width; e++) {
            d->column[e].scale = 1;
            d->column[e].scale_error = fmax(j ? d->column[e].scale_error : 0, d->query.scale_error);
            d->column[e].q[j] = d->query.q[e];
            d->column[e].off[j] = d->query.off[e];
        }
    }
}

static void take_matrix(head *d, int64_t matrix) {
    const int grain = d->call->reading->choice[1];
    d->matrix = matrix;
    for (int64_t j = 0; j < d->keys && grain != KG_NOT_QUANTISED; j++) {
        load_row(d, KEY, j, d->line);
        quantise(d, KEY, grain, d->line, d->depth, &d->key[j]);
    }
    take_value(d);
}

// Score j of the row in d->line (quantised: d->query), and its error.
static double score(head *d, int64_t j, double *error) {
    const double scale = 1 / sqrt((double)d->depth);
    kg_quant_value v;
    if (d->call->reading->choice[1] == KG_NOT_QUANTISED) {
        load_row(d, KEY, j, d->second);
        v = kg_plain_product(d->line, d->second, d->depth);
    } else {
        v = kg_dequantise(&d->query, &d->key[j], kg_quant_dot(&d->query, &d->key[j], d->depth));
    }
    *error = scale * (0x1p-24 * v.arithmetic + v.slack);
    return scale * v.value;
}

// What P_j may err by: score j is e too large and the others are too small, or the other way round. It stays in 0..1.
static double error_of_p(double distance, double e, double total, double lost, double gained) {
    const double p = exp(distance) / total;
    const double most = exp(fmin(distance + e, 700)) / (total * fmax(1 - lost, 1e-9));
    const double least = exp(distance - e) / (total * (1 + gained));
    return fmax(fmin(most, 1) - p, p - least);
}

// The softmax of row i of query.
static void take_row(head *d, int64_t i) {
    const int grain = d->call->reading->choice[1];
    double most = -INFINITY, lost = 0, gained = 0;
    load_row(d, QUERY, i, d->line);
    if (grain != KG_NOT_QUANTISED) quantise(d, QUERY, grain, d->line, d->depth, &d->query);
    for (int64_t j = 0; j < d->keys; j++) {
        d->score[j] = score(d, j, &d->p_error[j]);
        most = fmax(most, d->score[j]);
    }
    kg_sum_t sum = {0};
    for (int64_t j = 0; j < d->keys; j++) {
        d->p_error[j] += 0x1p-24 * KG_LAMBDA * (1 + fabs(d->score[j]) + fabs(most));
        d->p[j] = exp(d->score[j] - most);
        lost -= d->p[j] * expm1(-d->p_error[j]);
        gained += d->p[j] * expm1(fmin(d->p_error[j], 700));
        kg_sum_add(&sum, d->p[j]);
    }
    const double total = kg_sum_value(&sum), rounding = 0x1p-24 * kg_sum_acc(&sum);
    for (int64_t j = 0; j < d->keys; j++) {
        d->p_error[j] = error_of_p(d->score[j] - most, d->p_error[j], total, (lost + rounding) / total,
                                   (gained + rounding) / total);
        d->p[j] /= total;
    }
}

// ---- largest P ------------------------------------------------------------------------------------
// The largest of several that may each err: it need not be the one that is largest here.
typedef struct {
    double value, least, most;
} extreme;

static void note_extreme(extreme *x, const head *d) {
    for (int64_t j = 0; j < d->keys; j++) {
        x->value = fmax(x->value, d->p[j]);
        x->least = fmax(x->least, d->p[j] - d->p_error[j]);
        x->most = fmax(x->most, d->p[j] + d->p_error[j]);
    }
}

static double relative_error(const extreme *x) {
    return x->value > 0 ? fmax(x->most - x->value, x->value - x->least) / x->value : 0;
}

static int find_largest(const kg_call *call, largest_p *to) {
    const int64_t *shape = call->args[QUERY].desc.shape;
    head d = {0};
    to->each = calloc((size_t)shape[0] + 1, sizeof *to->each);
    const int failed = !to->each || head_make(&d, call);
    for (int64_t m = 0; m < shape[0] && !failed; m++) {
        extreme x = {0};
        take_matrix(&d, m);
        for (int64_t i = 0; i < shape[1]; i++) {
            take_row(&d, i);
            note_extreme(&x, &d);
        }
        to->each[m] = x.value;
        to->all = fmax(to->all, x.value);
        to->error = fmax(to->error, relative_error(&x));
    }
    head_free(&d);
    to->known = !failed;
    return failed ? -1 : 0;
}

static const largest_p *largest_of(const kg_call *call) {
    whole *h = (whole *)call->prepared;
    largest_p *p = &h->p[call->reading->choice[0]][call->reading->choice[1]];
    pthread_mutex_lock(&h->lock);
    const int failed = !p->known && find_largest(call, p);
    pthread_mutex_unlock(&h->lock);
    return failed ? NULL : p;
}

static void quantise_weights(head *d, int p, const largest_p *largest) {
    double most = 0, error = 0;
    switch (p) {
    case P_FIXED: most = 1; break;
    case P_MATRIX: most = largest->each[d->matrix], error = largest->error; break;
    case P_TENSOR: most = largest->all, error = largest->error; break;
    default: {
        extreme x = {0};
        note_extreme(&x, d);
        most = x.value, error = relative_error(&x);
    }
    }
    kg_quantise(&d->weights, d->p, d->p_error, d->keys, most, error, grid_of(d));
}

// ---- oracle ---------------------------------------------------------------------------------------
static void in_float(head *d, int64_t e, kg_ref *ref, size_t k) {
    const kg_view *v = &d->call->args[VALUE];
    const kg_quants *c = &d->column[e];
    const bool plain = d->call->reading->choice[2] == KG_NOT_QUANTISED;
    kg_sum_t sum = {0};
    double slack = 0;
    for (int64_t j = 0; j < d->keys; j++) {
        const double unit = d->value_scale[j] * c->scale;
        const double x = plain ? kg_at(v, (d->matrix * d->keys + j) * d->width + e) : unit * c->q[j];
        kg_dot_add(&sum, d->p[j], x);
        // Where value's integer may be another one, P's error meets that one: a 0 may be a 1.
        slack += d->p_error[j] * (fabs(x) + (plain ? 0 : unit * c->off[j]));
        if (!plain) slack += d->p[j] * (unit * c->off[j] + (fabs(x) + unit * c->off[j]) * c->scale_error);
    }
    ref->value[k] = kg_sum_value(&sum);
    ref->local[k] = kg_sum_local(&sum) + 2 * fabs(ref->value[k]);
    ref->acc[k] = kg_sum_acc(&sum) + KG_LAMBDA * fabs(ref->value[k]) + KG_ABSOLUTE(slack);
}

static void in_integers(head *d, int64_t e, kg_ref *ref, size_t k) {
    const kg_quant_value v =
        kg_dequantise(&d->weights, &d->column[e], kg_quant_dot(&d->weights, &d->column[e], d->keys));
    ref->value[k] = v.value;
    ref->local[k] = 0;
    ref->acc[k] = v.arithmetic + KG_ABSOLUTE(v.slack);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const int64_t rows = call->args[QUERY].desc.shape[1];
    const int p = call->reading->choice[3];
    const largest_p *largest = p == P_MATRIX || p == P_TENSOR ? largest_of(call) : NULL;
    if ((p == P_MATRIX || p == P_TENSOR) && !largest) return -1;
    head d;
    const int failed = head_make(&d, call);
    for (size_t k = 0; k < ref->n && !failed; k++) {
        const int64_t row = ref->index[k] / d.width;
        if (row / rows != d.matrix) take_matrix(&d, row / rows);
        if (row != d.row) {
            take_row(&d, row % rows);
            if (p != P_FLOAT) quantise_weights(&d, p, largest);
            d.row = row;
        }
        if (p == P_FLOAT) in_float(&d, ref->index[k] % d.width, ref, k);
        else in_integers(&d, ref->index[k] % d.width, ref, k);
    }
    head_free(&d);
    return failed ? -1 : 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const int64_t *k = c->args[KEY].tensor.shape, *v = c->args[VALUE].tensor.shape;
    const double scores = (double)(k[0] * k[1]) * (double)c->args[QUERY].tensor.shape[1];
    kg_int8_work(t, c, w, 0);
    w->ops[KG_U_INT8] = 2 * scores * (double)(k[2] + v[2]);
    w->ops[KG_U_SPECIAL] = scores;
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    const int64_t *k = c->args[KEY].tensor.shape;
    return fmax(1, 2 * (double)(k[1] * k[2]));
}

const kg_task kg_task_kbx_attention_w8a8 = {
    .name = "attention_w8a8",
    .suite = "kbx",
    .category = "Quantization",
    .signature = "attention_w8a8(query: Tensor, key: Tensor, value: Tensor) -> Tensor",
    .summary = "Attention of one head whose query, key and value go through int8; P in float or int8.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .readings = readings,
    .public_limits = &(const kg_likeness){0.15, 0.1, 0.9},
    .prepare = prepare,
    .release = release,
    .work = work,
    .reach = reach,
    // Sums of integers this small are exact in float32 and tf32.
    .torch_baseline =
        "lambda query, key, value: (lambda s: (lambda a, b, c: torch.softmax((a / s(a)).round() @ (b / s(b)).round()"
        ".transpose(1, 2) * (s(a) * s(b) / a.shape[-1] ** 0.5), -1) @ ((c / s(c)).round() * s(c)))(query, key, value))"
        "(lambda x: (x.abs().max() / 127 if x.numel() else x.new_ones(())).clamp(min=1e-30))",
    .c_items = "kg_dim(query, 0) * kg_dim(query, 1)",
    .c_body =
        "// Item i is a row of one matrix. One scale for each tensor.\n"
        "const int64_t keys = kg_dim(key, 1), depth = kg_dim(key, 2), width = kg_dim(value, 2);\n"
        "const int64_t first = i / kg_dim(query, 1) * keys;\n"
        "double s = 0, t = 0, u = 0, most = 0, total = 0;\n"
        "for (int64_t k = 0; k < kg_elements(query); k++) s = fmax(s, fabs(kg_get(query, k)));\n"
        "for (int64_t k = 0; k < kg_elements(key); k++) t = fmax(t, fabs(kg_get(key, k)));\n"
        "for (int64_t k = 0; k < kg_elements(value); k++) u = fmax(u, fabs(kg_get(value, k)));\n"
        "s = s > 0 ? s / 127.0 : 1.0;\n"
        "t = t > 0 ? t / 127.0 : 1.0;\n"
        "u = u > 0 ? u / 127.0 : 1.0;\n"
        "for (int64_t e = 0; e < width; e++) kg_put(out, i * width + e, 0.0);\n"
        "for (int64_t pass = 0; pass < 3; pass++)  // the largest score, the sum, the output\n"
        "    for (int64_t j = 0; j < keys; j++) {\n"
        "        int64_t sum = 0;\n"
        "        for (int64_t k = 0; k < depth; k++)\n"
        "            sum += (int64_t)rint(kg_get(query, i * depth + k) / s) *\n"
        "                   (int64_t)rint(kg_get(key, (first + j) * depth + k) / t);\n"
        "        const double score = (double)sum * s * t / sqrt((double)depth);\n"
        "        if (pass == 0) most = j ? fmax(most, score) : score;\n"
        "        if (pass == 1) total += exp(score - most);\n"
        "        for (int64_t e = 0; pass == 2 && e < width; e++) {\n"
        "            const double v = rint(kg_get(value, (first + j) * width + e) / u) * u;\n"
        "            kg_put(out, i * width + e, kg_get(out, i * width + e) + exp(score - most) / total * v);\n"
        "        }\n"
        "    }\n",
};
