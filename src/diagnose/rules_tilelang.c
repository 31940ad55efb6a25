// TileLang: how kernels are written, as far as the source tells.
#include "diagnose/rules.h"

#define TILELANG KG_IN(KG_LANG_TILELANG)

static const kg_rule rules[] = {
    {
        .id = "tilelang-serial-loop",
        .languages = TILELANG,
        .cause = KG_CAUSE_AUTHORING,
        .path = {TILELANG_KERNEL,
                 "(for_statement left: (identifier) @k right: (call function: (_) @range) body: (block) @in (#match? "
                 "@range \"(serial|range)$\")) @at",
                 "[(augmented_assignment right: (_) @in) (assignment right: (_) @in)]",
                 "(subscript subscript: (identifier) @in (#eq? @in \"$k\"))"},
        .when = {SLOW},
        .weight = 0.95,
        .message = "the loop over $k reads the data one element a turn, and each turn waits for the memory of the last",
        .evidence = "in $kernel: for $k in $range(...), and $k indexes what is read",
        .change = "copy the row into a fragment with T.copy and reduce it with T.reduce_sum, T.reduce_max or the like",
    },
};

KG_TABLE(kg_rules_tilelang);
