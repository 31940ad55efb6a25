// What any Python candidate does around its kernels, on the host.
#include "diagnose/rules.h"

#define PYTHON (KG_IN(KG_LANG_TRITON) | KG_IN(KG_LANG_TILELANG) | KG_IN(KG_LANG_PYTHON))

static const kg_rule rules[] = {
    {
        .id = "host-waits",
        .languages = PYTHON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {"(call function: (attribute attribute: (identifier) @f) arguments: (argument_list) (#any-of? @f "
                 "\"synchronize\" \"item\" \"tolist\" \"cpu\" \"numpy\")) @at"},
        .when = {SLOW},
        .explains = "host_share",
        .weight = 0.3,
        .message = "the host waits for the device inside the call",
        .evidence = "$at",
        .change = "keep what the kernel needs on the device; let the caller synchronise",
    },
};

KG_TABLE(kg_rules_python);
