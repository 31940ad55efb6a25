// The precision ladder: error bounds at each rung, and the rung that a dtype asks for.
#include <math.h>

#include "task/task.h"

const char *kg_precision_name(kg_precision p) {
    static const char *const names[] = {"fp64", "fp32", "tf32", "bf16/fp16", "fp8", "exact", "none"};
    return names[p];
}

double kg_precision_unit(kg_precision p, kg_dtype t) {
    switch (p) {
    case KG_PREC_FP64: return 0x1p-53;
    case KG_PREC_FP32: return 0x1p-24;
    case KG_PREC_TF32: return 0x1p-11;
    case KG_PREC_FP16: return t == KG_F16 ? 0x1p-11 : 0x1p-8;
    case KG_PREC_FP8: return 0x1p-4;
    default: return 1;  // integers: local and acc are the allowed difference itself
    }
}

double kg_accumulation_unit(kg_precision p) { return p == KG_PREC_FP64 ? 0x1p-53 : 0x1p-24; }

kg_precision kg_required_precision(const kg_task *t, kg_dtype d) {
    d = kg_dtype_part(d);
    if (!kg_dtype_is_float(d)) return KG_PREC_EXACT;
    if (d == KG_F64) return KG_PREC_FP64;
    return d == KG_F32 ? t->lowest : KG_PREC_FP16;
}

double kg_error_bound(kg_precision p, kg_dtype t, double value, double local, double acc) {
    if (local == KG_ANY_ANSWER) return KG_ANY_ANSWER;
    if (p == KG_PREC_EXACT) return local + acc;
    return kg_dtype_unit(t) * fabs(value) + kg_precision_unit(p, t) * local + kg_accumulation_unit(p) * acc +
           kg_dtype_tiny(t);
}

double kg_error_ratio(double got, double value, double bound, double max) {
    if (bound == KG_ANY_ANSWER) return 0;
    if (isnan(value)) return isnan(got) ? 0 : INFINITY;
    if (isnan(got)) return INFINITY;
    if (got == value) return 0;
    if (isinf(value)) return INFINITY;
    if (isinf(got)) return fabs(value) + bound >= max && (got > 0) == (value > 0) ? 0 : INFINITY;
    const double err = fabs(got - value);
    return bound > 0 ? err / bound : INFINITY;
}
