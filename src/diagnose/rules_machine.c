// What the machine code that ran holds.
#include "diagnose/rules.h"

static const kg_rule rules[] = {
    {
        .id = "spills",
        .cause = KG_CAUSE_TUNING,
        .when = {SLOW, {"local_bytes", '>', 0}},
        .weight = 0.4,
        .message = "registers do not hold the block: values spill to memory",
        .evidence = "{local_bytes} bytes of local memory a thread, {registers} registers",
        .change = "a smaller block, or more warps for it",
    },
};

KG_TABLE(kg_rules_machine);
