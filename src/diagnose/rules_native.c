// C and CUDA C++: how kernels are written, as far as the source tells.
#include "diagnose/rules.h"

#define CUDA   KG_IN(KG_LANG_CUDA)
#define NATIVE (KG_IN(KG_LANG_C) | KG_IN(KG_LANG_CUDA))

static const kg_rule rules[] = {
    {
        .id = "cuda-waits-in-call",
        .languages = CUDA,
        .cause = KG_CAUSE_AUTHORING,
        .path = {"(call_expression function: (identifier) @f (#any-of? @f \"cudaDeviceSynchronize\" "
                 "\"cudaStreamSynchronize\" \"cudaMemcpy\")) @at"},
        .when = {SLOW},
        .explains = "host_share",
        .weight = 0.3,
        .message = "the host waits for the device inside the call",
        .evidence = "$at",
        .change = "leave it out: the caller synchronises when it needs the result",
    },
};

KG_TABLE(kg_rules_native);
