#include "oracle/fractional.h"

#include <math.h>
#include <stdlib.h>

// ---- one dimension ------------------------------------------------------------------------------------------
static double step_of(const kg_fractional *d) {
    return d->out > 1 ? (double)(d->in - d->kernel) / (double)(d->out - 1) : 1;
}

int64_t kg_fractional_start(const kg_fractional *d, double u, int64_t i) {
    if (i == d->out - 1) return d->in - d->kernel;
    const double a = step_of(d);
    return (int64_t)floor(((double)i + u) * a) - (int64_t)floor(u * a);
}

// u a runs through [0, a): once more over [0, frac a) than over the rest.
double kg_fractional_rank(const kg_fractional *d, double f) {
    const double a = step_of(d), whole = floor(a);
    f = fmax(0, fmin(1, f));
    return fmin(1, (f * whole + fmin(f, a - whole)) / a);
}

kg_start kg_fractional_window(const kg_fractional *d, int64_t i, double unit, kg_start_kind kind) {
    const int64_t last = d->out - 1, length = d->in - d->kernel;
    if (i == last) return (kg_start){length, 2, 2};
    if (i == 0) return (kg_start){0, 2, 2};
    const double a = step_of(d), either = fmin(4 * unit * (double)(i + 2) * a, 0.49);
    const double part = (double)(i * length % last) / (double)last;
    double limit = 1 - part;
    int64_t lower = i * length / last;
    if (kind == KG_START_BEFORE && part <= 2 * either) lower--, limit--;
    if (kind == KG_START_BEHIND && part >= 1 - 2 * either) lower++, limit++;
    return (kg_start){lower, kg_fractional_rank(d, limit - either), kg_fractional_rank(d, limit + either)};
}

// ---- two --------------------------------------------------------------------------------------------------
static const kg_ranks all_ranks = {0, 1};

int kg_rank_pairs_make(kg_rank_pairs *p, const kg_fractional dims[2], double unit, const kg_start_kind kinds[2]) {
    const size_t rows = (size_t)dims[0].out, columns = (size_t)dims[1].out;
    *p = (kg_rank_pairs){.n_rows = dims[0].out, .n_columns = dims[1].out, .row = all_ranks, .column = all_ranks};
    p->rows = malloc((rows + columns) * sizeof *p->rows);
    p->column_of[0] = malloc(2 * rows * sizeof *p->column_of[0]);
    if (!p->rows || !p->column_of[0]) {
        kg_rank_pairs_free(p);
        return -1;
    }
    p->columns = p->rows + rows;
    p->column_of[1] = p->column_of[0] + rows;
    for (size_t i = 0; i < rows; i++) p->rows[i] = kg_fractional_window(&dims[0], (int64_t)i, unit, kinds[0]);
    for (size_t j = 0; j < columns; j++) p->columns[j] = kg_fractional_window(&dims[1], (int64_t)j, unit, kinds[1]);
    for (size_t i = 0; i < 2 * rows; i++) p->column_of[0][i] = all_ranks;
    return 0;
}

void kg_rank_pairs_free(kg_rank_pairs *p) {
    free(p->rows);
    free(p->column_of[0]);
    p->rows = NULL;
    p->column_of[0] = NULL;
}

// Not the lower (0) or not the upper (1) start. Ranks that leave it open may still have the other one.
static void exclude(kg_ranks *r, const kg_start *s, int which) {
    if (which) r->most = fmin(r->most, s->to);
    else r->least = fmax(r->least, s->from);
}

void kg_rank_pairs_note(kg_rank_pairs *p, int64_t i, int64_t j, bool may[2][2]) {
    if (!may[0][0] && !may[0][1] && !may[1][0] && !may[1][1]) p->none = true;
    for (int k = 0; k < 2; k++) {
        if (!may[k][0] && !may[k][1]) exclude(&p->row, &p->rows[i], k);
        if (!may[0][k] && !may[1][k]) exclude(&p->column, &p->columns[j], k);
        for (int l = 0; l < 2; l++)
            if (!may[k][l]) exclude(&p->column_of[k][i], &p->columns[j], l);
    }
}

static void narrow(kg_ranks *r, const kg_ranks *to) {
    r->least = fmax(r->least, to->least);
    r->most = fmin(r->most, to->most);
}

typedef struct {
    double at;
    int64_t window;  // -1: no window's
    bool upper;      // from here on its start is the upper one for sure; else up to here the lower one
} limit;

static int ascending(const void *a, const void *b) {
    const double x = ((const limit *)a)->at, y = ((const limit *)b)->at;
    return (x > y) - (x < y);
}

static double inside(double x) { return fmax(0, fmin(1, x)); }

// Between neighbouring limits of the rows' rank, the columns' ranks that are left.
static void sweep(const kg_rank_pairs *p, const limit *limits, size_t n, kg_ranks *left) {
    kg_ranks r = p->column;
    for (size_t k = 0; k + 1 < n; k++) {
        const limit *l = &limits[k];
        if (l->window >= 0 && l->upper) narrow(&r, &p->column_of[1][l->window]);
        left[k] = r;
    }
    r = p->column;
    for (size_t k = n - 1; k > 0; k--) {
        const limit *l = &limits[k];
        if (l->window >= 0 && !l->upper) narrow(&r, &p->column_of[0][l->window]);
        narrow(&left[k - 1], &r);
    }
}

// What is left between one limit of the rows' rank and the next.
typedef struct {
    kg_ranks row, column;
    double area;
} piece;

static piece piece_of(const kg_rank_pairs *p, const limit *at, const kg_ranks *left) {
    piece x = {.row = {at[0].at, at[1].at}, .column = *left};
    narrow(&x.row, &p->row);
    x.area = fmax(0, x.row.most - x.row.least) * fmax(0, x.column.most - x.column.least);
    return x;
}

static double within(const kg_ranks *r, double part) {
    return fmin(1 - 0x1p-53, r->least + fmax(0, fmin(1, part)) * (r->most - r->least));
}

static bool draw(const kg_rank_pairs *p, const limit *limits, size_t n, const kg_ranks *left, const double random[2],
                 double rank[2]) {
    double total = 0, before = 0;
    for (size_t k = 0; k + 1 < n; k++) total += piece_of(p, &limits[k], &left[k]).area;
    // Should rounding leave the number behind all pieces, the last one stays.
    for (size_t k = 0; k + 1 < n && before <= random[0] * total; k++) {
        const piece x = piece_of(p, &limits[k], &left[k]);
        if (x.area <= 0) continue;
        rank[0] = within(&x.row, (random[0] * total - before) / x.area);
        rank[1] = within(&x.column, random[1]);
        before += x.area;
    }
    return total > 0;
}

int kg_rank_pairs_draw(const kg_rank_pairs *p, const double random[2], double rank[2]) {
    size_t n = 0;
    if (p->none) return 0;
    limit *limits = malloc((2 * (size_t)p->n_rows + 2) * sizeof *limits);
    kg_ranks *left = malloc((2 * (size_t)p->n_rows + 2) * sizeof *left);
    if (!limits || !left) {
        free(limits);
        free(left);
        return -1;
    }
    limits[n++] = (limit){0, -1, false};
    for (int64_t i = 0; i < p->n_rows; i++) {
        limits[n++] = (limit){inside(p->rows[i].from), i, false};
        limits[n++] = (limit){inside(p->rows[i].to), i, true};
    }
    limits[n++] = (limit){1, -1, false};
    qsort(limits, n, sizeof *limits, ascending);
    sweep(p, limits, n, left);
    const bool found = draw(p, limits, n, left, random, rank);
    free(limits);
    free(left);
    return found;
}
