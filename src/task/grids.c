// A coordinate g lies at ((g + 1) n - 1) / 2 elements of n, with align_corners at (g + 1) (n - 1) / 2. Outside, border
// takes the nearest element's middle; reflection turns back at the ends (-1/2 and n - 1/2, or 0 and n - 1), as often as
// needed, and then does the same; zeros has nothing there. Cubic does so for each of its elements, linear and nearest
// for the position. nearest rounds, a half to either side (PyTorch to even: a choice of its own).
//
// Bounds: a position is rounded by at most 4 u ((|g| + 1) n / 2 + 1): (g + 1), its product, the subtraction. Turning
// back keeps that. resample.c has what follows for weights.
#include "task/grids.h"

#include <string.h>

#include "oracle/reduce.h"

static const char *const modes[] = {"bilinear", "nearest", "bicubic"};
static const char *const paddings[] = {"zeros", "border", "reflection"};

static int find(const char *const *list, const char *text) {
    for (int i = 0; i < 3; i++)
        if (strcmp(list[i], text) == 0) return i;
    return -1;
}

kg_case *kg_grid_set(kg_cases *b, kg_case *c, const char *mode, const char *padding, bool align) {
    kg_set_str(c, b->task, "mode", mode);
    kg_set_str(c, b->task, "padding_mode", padding);
    kg_set_bool(c, b->task, "align_corners", align);
    return c;
}

int kg_grid_of(const kg_task *t, const kg_case *c, kg_grid *g) {
    const int mode = find(modes, kg_case_arg(c, t, "mode")->s);
    const int padding = find(paddings, kg_case_arg(c, t, "padding_mode")->s);
    if (mode < 0 || padding < 0) return -1;
    *g = (kg_grid){(kg_grid_mode)mode, (kg_grid_padding)padding, kg_case_arg(c, t, "align_corners")->i != 0};
    return 0;
}

double kg_grid_reads(const kg_task *t, const kg_case *c, int dims) {
    kg_grid g;
    if (kg_grid_of(t, c, &g)) return 1;
    return pow(g.mode == KG_GRID_CUBIC ? 4 : g.mode == KG_GRID_LINEAR ? 2 : 1, dims);
}

static double inside(const kg_grid *g, double x, int64_t n) {
    const double last = (double)(n - 1), low = g->align ? 0 : -0.5, span = last - 2 * low;
    if (g->padding == KG_GRID_ZEROS) return x;
    if (g->padding == KG_GRID_REFLECTION) {
        const double far = fabs(x - low), turns = span > 0 ? floor(far / span) : 0, rest = far - turns * span;
        x = span > 0 ? (fmod(turns, 2) == 0 ? rest : span - rest) + low : 0;
    }
    return fmin(fmax(x, 0), last);
}

static kg_taps taps_of(const kg_grid *g, kg_grid_point p, int64_t n, double error) {
    const double half = (double)n / 2, size = (fabs(p.at) + 1) * half;
    double at = g->align ? (p.at + 1) * (double)(n - 1) / 2 : (p.at + 1) * half - 0.5;
    if (g->mode != KG_GRID_CUBIC) at = inside(g, at, n);
    // Positions may be computed in float32 whatever the dtype.
    const kg_position x = {at, error, kg_slack(size) + (p.error * kg_dtype_unit(KG_F32) + p.stored) * half};
    kg_taps t = g->mode == KG_GRID_LINEAR  ? kg_taps_linear(x)
                : g->mode == KG_GRID_CUBIC ? kg_taps_cubic(x)
                                           : kg_taps_floor(at + 0.5, x.slack);
    for (int k = 0; g->mode == KG_GRID_CUBIC && k < t.n; k++) t.at[k] = (int64_t)inside(g, (double)t.at[k], n);
    if (g->mode == KG_GRID_NEAREST && g->padding != KG_GRID_ZEROS) kg_taps_clamp(&t, n);
    else kg_taps_drop(&t, n);
    return t;
}

void kg_grid_put(kg_ref *ref, size_t k, const kg_view *input, int64_t start, const kg_grid *g, int dims,
                 const kg_grid_point *at) {
    const kg_dtype t = input->desc.dtype;
    kg_taps taps[3], stored[3];
    bool any = false;
    for (int d = 0; d < dims; d++) {
        const int64_t n = input->desc.shape[input->desc.ndim - dims + d];
        const double half = (double)n / 2, size = (fabs(at[d].at) + 1) * half;
        taps[d] = taps_of(g, at[d], n, 4 * (size + 1) + at[d].error * half);
        stored[d] = taps_of(g, at[d], n, at[d].stored / kg_dtype_unit(t) * half);
        any = any || at[d].stored > 0;
    }
    if (g->mode == KG_GRID_NEAREST) {
        const kg_point p = kg_taps_picked(input, start, dims, taps);
        kg_ref_put(ref, k, false, p.value, p.local, 0, 0);
        return;
    }
    const kg_weighted p = kg_taps_weighted(input, start, dims, taps);
    const double also = any ? kg_taps_weighted(input, start, dims, stored).local : 0;
    kg_ref_put(ref, k, kg_is_half(t), p.value, p.local, fabs(p.value) + also, 0);
}
