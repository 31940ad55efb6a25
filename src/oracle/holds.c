#include "oracle/holds.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

// The worst so far is said in words; texts are made only for it.
static void note(kg_holds *h, const double *worst, double here, const char *numbers, const char *text, va_list args) {
    pthread_mutex_lock(&h->lock);
    for (int p = 0; p < KG_PREC_NONE; p++)
        if (worst[p] > h->worst[p]) h->worst[p] = worst[p];
    if (here > h->at_required) {
        h->at_required = here;
        free(h->where);
        h->where = NULL;
        if (here > 1) {
            kg_text t = {0};
            kg_text_addv(&t, text, args);
            kg_text_add(&t, "%s", numbers);
            h->where = t.data;
        }
    }
    pthread_mutex_unlock(&h->lock);
}

void kg_hold(kg_holds *h, kg_dtype t, double got, double expected, double local, double acc, const char *text, ...) {
    const kg_precision required = kg_required_precision(h->task, t);
    double worst[KG_PREC_NONE] = {0}, here = 0;
    for (int p = KG_PREC_FP64; p <= KG_PREC_FP8; p++) {
        // No output is stored here: what kg_error_bound charges for that is taken back by a value of 0.
        worst[p] = kg_error_ratio(got, expected, kg_error_bound((kg_precision)p, t, 0, local, acc), kg_dtype_max(t));
        if (p == (int)required) here = worst[p];
    }
    char numbers[96] = "";
    if (here > 1)
        snprintf(numbers, sizeof numbers, " is %.9g, not %.9g (error %.3g times the bound)", got, expected, here);
    va_list args;
    va_start(args, text);
    note(h, worst, here, numbers, text, args);
    va_end(args);
}

void kg_hold_worst(kg_holds *h, const double worst[KG_PREC_NONE], double at_required, const char *text, ...) {
    va_list args;
    va_start(args, text);
    note(h, worst, at_required, "", text, args);
    va_end(args);
}

static void note_whole(kg_holds *h, double ratio, const char *numbers, const char *text, va_list args) {
    double worst[KG_PREC_NONE];
    for (int p = 0; p < KG_PREC_NONE; p++) worst[p] = ratio;
    note(h, worst, ratio, numbers, text, args);
}

void kg_hold_true(kg_holds *h, bool so, const char *text, ...) {
    va_list args;
    va_start(args, text);
    note_whole(h, so ? 0 : INFINITY, "", text, args);
    va_end(args);
}

void kg_hold_below(kg_holds *h, double statistic, double limit, const char *text, ...) {
    const bool out = !(statistic <= limit);
    char numbers[64];
    snprintf(numbers, sizeof numbers, ": %.4g, above %.4g", statistic, limit);
    va_list args;
    va_start(args, text);
    note_whole(h, out ? (isfinite(statistic) && limit > 0 ? fmax(statistic / limit, 1.0000001) : INFINITY) : 0, numbers,
               text, args);
    va_end(args);
}
