// Thresholds of the two screens from kernels whose state is known: which are slow, and which are as they should be.
#ifndef KG_CALIBRATE_H
#define KG_CALIBRATE_H

#include <jansson.h>

#include "roofline/roofline.h"

typedef struct {
    char *operator_name;      // the group that leave-one-out leaves out
    kg_bound bound;           // of its screened sizes: memory or compute
    double lre, utilization;  // NAN: not known
    bool slow;                // its label: a screen should flag it
} kg_labelled;

typedef struct {
    kg_labelled *items;                // with their names owned
    size_t n, unlabelled, unscreened;  // records left out: no label, or no screen applied
} kg_points;
// labels: a CSV file with the columns file and label (clean, or else slow), which records are matched with by the end
// of their path. Points come from records of `kgate run --format json` or jsonl, and from CSV files with the columns
// operator, bound, lre, utilization and label. Fails with KG_ERR_USAGE.
typedef struct kg_labels kg_labels;
int kg_labels_read(const char *path, kg_labels **out, kg_error *err);
void kg_labels_free(kg_labels *l);
int kg_points_read(const char *path, const kg_labels *labels, kg_points *add_to, kg_error *err);
void kg_points_free(kg_points *p);

// A screen flags what lies below its threshold. Counts over points that have the value.
typedef struct {
    size_t flagged_slow, missed_slow, flagged_good, passed_good;
} kg_confusion;
double kg_precision_rate(const kg_confusion *c);  // of what is flagged, the share that is slow; NAN: nothing is
double kg_recall_rate(const kg_confusion *c);     // of what is slow, the share flagged; NAN: nothing is
size_t kg_misplaced(const kg_confusion *c);

typedef enum { KG_BY_LRE, KG_BY_UTILIZATION } kg_screened_by;
#define KG_ANY_BOUND ((kg_bound)-1)
kg_confusion kg_confuse(const kg_labelled *p, size_t n, kg_screened_by by, kg_bound bound, double threshold);

typedef struct {
    double threshold;  // in the middle, by ratio, of those that misplace fewest; NAN: no points of both labels
    double lo, hi;     // that range: the nearest points on its sides
    kg_confusion at;
    size_t n;  // points
} kg_fit;
// bound: KG_ANY_BOUND pools them.
kg_fit kg_fit_threshold(const kg_labelled *p, size_t n, kg_screened_by by, kg_bound bound);
// Every operator's points judged by the threshold that the others give.
kg_confusion kg_leave_one_out(const kg_labelled *p, size_t n, kg_screened_by by, kg_bound bound);

#endif
