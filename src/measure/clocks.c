#include "measure/measure.h"

kg_clocks kg_clocks_compare(double reported_s, double judge_s, double overhead_s, int calls, double slack_per_call_s,
                            double slack_per_batch_s, double rel) {
    kg_clocks k = {0};
    k.excess_s = judge_s - overhead_s - reported_s;
    k.allowed_s = slack_per_batch_s + slack_per_call_s * calls + rel * judge_s;
    k.agree = k.excess_s <= k.allowed_s;
    return k;
}
