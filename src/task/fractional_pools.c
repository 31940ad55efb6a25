#include "task/fractional_pools.h"

#include <math.h>
#include <stdlib.h>

#include "base/parallel.h"
#include "oracle/chance.h"
#include "oracle/oracle.h"

#define BUDGET       4e7   // input elements touched in one check, as the judge has it (judge/sample.c)
#define LEAST_PLANES 4096  // looked at, where there are so many

// ---- one plane ------------------------------------------------------------------------------------
typedef struct {
    const kg_answer *a;
    kg_holds *h;
    kg_view in;
    kg_fractional dims[2];  // rows, columns
    int64_t looked;         // outputs of a plane that are looked at
    int64_t *planes;        // those looked at; NULL: all
    double unit;            // roundoff of the arithmetic that places are computed in
    double *rank;           // two of each plane
    double (*before)(double x);
} survey;

typedef struct {
    const survey *s;
    int64_t number, first, step[2];  // storage offsets of its elements
} plane;

static double element(const plane *p, int64_t y, int64_t x) {
    return p->s->before(kg_at_offset(&p->s->in, p->first + y * p->step[0] + x * p->step[1]));
}

// But for flushed denormals.
static bool same(const plane *p, double x, double y) {
    return x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= kg_dtype_tiny(p->s->in.desc.dtype);
}

// Output `at` is what the window at (y, x) makes it.
static bool fits(const plane *p, int64_t at, int64_t y, int64_t x) {
    const kg_fractional *rows = &p->s->dims[0], *columns = &p->s->dims[1];
    const kg_answer *a = p->s->a;
    if (y < 0 || x < 0 || y + rows->kernel > rows->in || x + columns->kernel > columns->in) return false;
    double most = -INFINITY;
    for (int64_t k = 0; k < rows->kernel; k++)
        for (int64_t l = 0; l < columns->kernel; l++) {
            const double value = element(p, y + k, x + l);
            if (!(value <= most)) most = isnan(most) ? most : value;
        }
    if (!same(p, kg_at(&a->out[0], at), most)) return false;
    if (a->n == 1) return true;
    const int64_t index = kg_load_int(KG_I64, a->out[1].data, at), k = index / columns->in - y,
                  l = index % columns->in - x;
    return index >= 0 && k >= 0 && k < rows->kernel && l >= 0 && l < columns->kernel &&
           same(p, element(p, y + k, x + l), most);
}

// Output number q of those looked at: all, or the corners and others at random.
static int64_t chosen(const plane *p, int64_t q) {
    const survey *s = p->s;
    const int64_t rows = s->dims[0].out, columns = s->dims[1].out;
    if (s->looked == rows * columns) return q;
    if (q < 4) return q / 2 * (rows - 1) * columns + q % 2 * (columns - 1);
    const kg_philox r = kg_philox4x32(s->a->seed ^ 0x666c6f6f72u, (uint64_t)p->number, (uint64_t)q);
    return (int64_t)(r.v[0] % (uint64_t)rows) * columns + (int64_t)(r.v[1] % (uint64_t)columns);
}

// A pair of numbers that gives the plane's outputs. 0: there is none, perhaps because of output *wrong; -1: no memory.
static int numbers_of(const plane *p, const kg_start_kind kinds[2], double rank[2], int64_t *wrong) {
    const survey *s = p->s;
    const kg_philox r = kg_philox4x32(s->a->seed ^ 0x72616e6b73u, (uint64_t)p->number, 0);
    const double random[2] = {(r.v[0] + r.v[1] * 0x1p-32) * 0x1p-32, (r.v[2] + r.v[3] * 0x1p-32) * 0x1p-32};
    const int64_t columns = s->dims[1].out;
    kg_rank_pairs pairs;
    if (kg_rank_pairs_make(&pairs, s->dims, s->unit, kinds)) return -1;
    for (int64_t q = 0; q < s->looked && !pairs.none; q++) {
        const int64_t at = chosen(p, q), i = at / columns, j = at % columns;
        bool may[2][2];
        for (int k = 0; k < 4; k++)
            may[k / 2][k % 2] = fits(p, p->number * s->dims[0].out * columns + at, pairs.rows[i].lower + k / 2,
                                     pairs.columns[j].lower + k % 2);
        kg_rank_pairs_note(&pairs, i, j, may);
        if (pairs.none) *wrong = at;
    }
    const int rc = kg_rank_pairs_draw(&pairs, random, rank);
    kg_rank_pairs_free(&pairs);
    return rc;
}

static void say(const plane *p, int64_t wrong) {
    const survey *s = p->s;
    const int64_t columns = s->dims[1].out, at = p->number * s->dims[0].out * columns + wrong;
    if (wrong < 0)
        kg_hold_true(s->h, false, "plane %lld: no pair of random numbers makes its outputs", (long long)p->number);
    else if (s->a->n == 1)
        kg_hold_true(s->h, false, "plane %lld, out[%lld,%lld] is %.9g, the largest of no window that may be there",
                     (long long)p->number, (long long)(wrong / columns), (long long)(wrong % columns),
                     kg_at(&s->a->out[0], at));
    else
        kg_hold_true(s->h, false,
                     "plane %lld, out[%lld,%lld] is %.9g at %lld, not the largest of a window that may be there",
                     (long long)p->number, (long long)(wrong / columns), (long long)(wrong % columns),
                     kg_at(&s->a->out[0], at), (long long)kg_load_int(KG_I64, s->a->out[1].data, at));
}

static int look_at_planes(size_t first, size_t last, void *ctx) {
    const survey *s = ctx;
    const int nd = s->in.desc.ndim;
    for (size_t n = first; n < last; n++) {
        plane p = {.s = s, .number = s->planes ? s->planes[n] : (int64_t)n};
        p.first = kg_offset(&s->in.desc, p.number * s->dims[0].in * s->dims[1].in);
        for (int k = 0; k < 2; k++) p.step[k] = s->in.desc.stride[nd - 2 + k];
        int found = 0;
        int64_t wrong = -1, with_others = -1;
        for (int k = 0; k < KG_START_KINDS * KG_START_KINDS && !found; k++) {
            const kg_start_kind kinds[2] = {(kg_start_kind)(k / KG_START_KINDS), (kg_start_kind)(k % KG_START_KINDS)};
            found = numbers_of(&p, kinds, &s->rank[2 * n], k ? &with_others : &wrong);
        }
        if (found < 0) return -1;
        if (!found) say(&p, wrong);
        if (!found) return 1;
    }
    return 0;
}

// ---- all of them ------------------------------------------------------------------------------------
// What rounding may do to the distribution of ranks: numbers on a grid, and places where either window may be.
static double grid_of(const kg_fractional *d, double unit) {
    double widest = 0;
    for (int64_t i = 0; i < d->out; i++) {
        const kg_start w = kg_fractional_window(d, i, unit, KG_START_PLAIN);
        widest = fmax(widest, w.to - w.from);
    }
    return widest + 2 * unit * ((double)(d->in - d->kernel) / fmax(1, (double)(d->out - 1)) + 2);
}

// Chooses the planes, where a check cannot look at all of them. How many; -1: no memory.
static int64_t choose_planes(survey *s) {
    const kg_answer *a = s->a;
    kg_tensor planes = a->out[0].desc;
    planes.ndim -= 2;
    const int64_t n = kg_numel(&planes), outputs = n * s->dims[0].out * s->dims[1].out;
    const double cost = 4.0 * (double)(s->dims[0].kernel * s->dims[1].kernel * s->looked);
    if ((a->full && outputs <= INT32_MAX) || cost * (double)n <= fmax(BUDGET, cost * LEAST_PLANES)) return n;
    const size_t want = (size_t)fmax(LEAST_PLANES, BUDGET / cost);
    const size_t chosen = kg_windows(&planes, want, kg_chance_seed(a), &s->planes);
    return s->planes ? (int64_t)chosen : -1;
}

static int look(survey *s, int64_t planes) {
    s->rank = malloc(2 * (size_t)planes * sizeof *s->rank);
    if (!s->rank) return -1;
    int rc = kg_parallel((size_t)planes, (size_t)planes / 32 + 1, look_at_planes, s);
    if (rc == 0) {
        const double grid = fmax(grid_of(&s->dims[0], s->unit), grid_of(&s->dims[1], s->unit));
        rc = kg_hold_uniform_calls(s->h, s->a, s->rank, 2 * (size_t)planes, grid, "random numbers of rows and columns");
    }
    free(s->rank);
    return rc < 0 ? -1 : 0;
}

int kg_fractional_pool_holds(const kg_answer *a, kg_holds *h, const kg_view *input, const kg_fractional dims[2],
                             double (*before)(double x)) {
    survey s = {.a = a, .h = h, .in = *input, .dims = {dims[0], dims[1]}, .before = before};
    const int64_t total = kg_numel(&a->out[0].desc);
    if (total == 0) return 0;
    s.unit = fmax(0x1p-24, kg_dtype_unit(input->desc.dtype));
    s.looked = dims[0].out * dims[1].out;
    const int64_t planes = total / s.looked;
    const double afford = BUDGET / (4.0 * (double)(dims[0].kernel * dims[1].kernel) * (double)planes);
    if (!a->full && (double)s.looked > fmax(256, afford)) s.looked = (int64_t)fmax(256, afford);
    const int64_t chosen = choose_planes(&s);
    const int rc = chosen < 0 ? -1 : look(&s, chosen);
    free(s.planes);
    return rc;
}
