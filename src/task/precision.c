#include "task/task.h"

const char *kg_precision_name(kg_precision p) {
    static const char *const names[] = {"fp64", "fp32", "tf32", "bf16/fp16", "fp8", "exact", "none"};
    return names[p];
}
