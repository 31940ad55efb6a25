#include <math.h>

#include "measure/measure.h"

static bool narrow(kg_interval i, double rel) { return isfinite(i.mid) && (i.hi - i.lo) <= rel * i.mid; }
static bool straddles(kg_interval i, double at) { return isfinite(at) && i.lo < at && at < i.hi; }

bool kg_enough(const kg_stop_rule *r, const kg_samples *cand, const kg_samples *base, double threshold, int batches,
               double spent_s) {
    if (batches < r->min_batches) return batches >= 2 && spent_s > 10 * r->budget_s;  // hopelessly slow kernels
    if (batches >= r->max_batches) return true;
    bool open = base && straddles(kg_ratio_interval(base, cand), threshold);
    // A verdict that hangs on this size is worth three times the time.
    if (spent_s > (open ? 3 : 1) * r->budget_s) return true;
    return !open && narrow(kg_median_interval(cand), r->rel_width);
}
