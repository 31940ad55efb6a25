#include "screen/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double value_of(const kg_labelled *p, kg_screened_by by) { return by == KG_BY_LRE ? p->lre : p->utilization; }

static bool counts(const kg_labelled *p, kg_screened_by by, kg_bound bound) {
    return value_of(p, by) > 0 && (bound == KG_ANY_BOUND || p->bound == bound);
}

double kg_precision_rate(const kg_confusion *c) {
    const size_t flagged = c->flagged_slow + c->flagged_good;
    return flagged ? (double)c->flagged_slow / (double)flagged : NAN;
}

double kg_recall_rate(const kg_confusion *c) {
    const size_t slow = c->flagged_slow + c->missed_slow;
    return slow ? (double)c->flagged_slow / (double)slow : NAN;
}

size_t kg_misplaced(const kg_confusion *c) { return c->missed_slow + c->flagged_good; }

static void judge_point(const kg_labelled *p, double value, double threshold, kg_confusion *c) {
    if (value < threshold) *(p->slow ? &c->flagged_slow : &c->flagged_good) += 1;
    else *(p->slow ? &c->missed_slow : &c->passed_good) += 1;
}

kg_confusion kg_confuse(const kg_labelled *p, size_t n, kg_screened_by by, kg_bound bound, double threshold) {
    kg_confusion c = {0};
    for (size_t i = 0; i < n; i++)
        if (counts(&p[i], by, bound)) judge_point(&p[i], value_of(&p[i], by), threshold, &c);
    return c;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

// Between two neighbours every threshold flags the same points, so that one a gap is tried. Of neighbouring gaps that
// misplace equally few the widest ratio is taken: it is the furthest from both its points.
static void try_gaps(const kg_labelled *p, size_t n, kg_screened_by by, kg_bound bound, const double *v, size_t m,
                     kg_fit *out) {
    size_t least = SIZE_MAX;
    double widest = 0;
    for (size_t i = 0; i + 1 < m; i++) {
        if (!(v[i] < v[i + 1])) continue;
        const kg_confusion c = kg_confuse(p, n, by, bound, sqrt(v[i] * v[i + 1]));
        const size_t wrong = kg_misplaced(&c);
        if (wrong > least || (wrong == least && v[i + 1] / v[i] <= widest)) continue;
        least = wrong;
        widest = v[i + 1] / v[i];
        *out = (kg_fit){.threshold = sqrt(v[i] * v[i + 1]), .lo = v[i], .hi = v[i + 1], .at = c, .n = out->n};
    }
}

kg_fit kg_fit_threshold(const kg_labelled *p, size_t n, kg_screened_by by, kg_bound bound) {
    kg_fit fit = {.threshold = NAN, .lo = NAN, .hi = NAN};
    double *v = kg_alloc((n + 1) * sizeof *v);
    size_t slow = 0;
    for (size_t i = 0; i < n; i++) {
        if (!counts(&p[i], by, bound)) continue;
        v[fit.n++] = value_of(&p[i], by);
        slow += p[i].slow;
    }
    qsort(v, fit.n, sizeof *v, ascending);
    if (slow && slow < fit.n) try_gaps(p, n, by, bound, v, fit.n, &fit);
    free(v);
    return fit;
}

kg_confusion kg_leave_one_out(const kg_labelled *p, size_t n, kg_screened_by by, kg_bound bound) {
    kg_confusion c = {0};
    kg_labelled *others = kg_alloc((n + 1) * sizeof *others);
    for (size_t i = 0; i < n; i++) {
        if (!counts(&p[i], by, bound)) continue;
        size_t m = 0;
        for (size_t k = 0; k < n; k++)
            if (strcmp(p[k].operator_name, p[i].operator_name) != 0) others[m++] = p[k];
        const kg_fit fit = kg_fit_threshold(others, m, by, bound);
        if (fit.threshold > 0) judge_point(&p[i], value_of(&p[i], by), fit.threshold, &c);
    }
    free(others);
    return c;
}
