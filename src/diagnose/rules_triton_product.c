// Triton: products and convolutions, and the configurations they run in.
#include "diagnose/rules.h"

#define TRITON KG_IN(KG_LANG_TRITON)

static const kg_rule rules[] = {
    {
        .id = "triton-dot-in-float32",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {TRITON_KERNEL, PYTHON_CALL_AT("dot"),
                 "(call function: (attribute attribute: (identifier) @f) arguments: (argument_list (attribute) "
                 "@dtype) (#eq? @f \"to\") (#match? @dtype \"float32$\")) @in"},
        .when = {SLOW, PRODUCT, HALF},
        .weight = 0.7,
        .message = "tl.dot gets its operands in float32: half the rate of half precision at best (TF32)",
        .evidence = "$in as an operand in $kernel",
        .change = "give tl.dot the half-precision blocks; it accumulates in float32 by itself",
    },
    {
        .id = "triton-dot-of-converted",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {TRITON_KERNEL, PYTHON_CALL_AT("dot"), "(argument_list (identifier) @operand) @in"},
        .has = {{1,
                 "(assignment left: (identifier) @name right: (call function: (attribute object: (call) attribute: "
                 "(identifier) @f) arguments: (argument_list (attribute) @dtype)) (#eq? @name \"$operand\") (#eq? @f "
                 "\"to\") (#match? @dtype \"float32$\"))"}},
        .when = {SLOW, PRODUCT, HALF},
        .weight = 0.7,
        .message = "tl.dot gets its operands in float32: half the rate of half precision at best (TF32)",
        .evidence = "$operand is converted where it is loaded, in $kernel",
        .change = "leave the loaded blocks in half precision; tl.dot accumulates in float32 by itself",
    },
    {
        .id = "triton-product-by-sum",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {TRITON_KERNEL, PYTHON_CALL_AT("sum"),
                 "(binary_operator left: (_) @left operator: \"*\" right: (_) @right (#not-eq? @left @right)) @in"},
        .lacks = {{0, PYTHON_CALL("dot|dot_scaled")}},
        .when = {SLOW, PRODUCT, COMPUTE_BOUND},
        .weight = 0.9,
        .message = "the product is a multiplication and a tl.sum: no matrix unit takes part",
        .evidence = "tl.sum($in) in $kernel, and no tl.dot",
        .change = "use tl.dot on blocks of at least 16 x 16 x 16",
    },
    {
        .id = "triton-direct-convolution",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path =
            {TRITON_KERNEL, "(for_statement left: (identifier) @outer body: (block) @in) @at",
             "(for_statement left: (identifier) @inner body: (block) @in)",
             "((augmented_assignment left: (identifier) @sum right: (binary_operator operator: \"*\")) @in (#not-match? "
             "@sum \"ptr|off|idx|index|addr|pos|^[a-z]$\")) ((assignment left: (identifier) @sum right: "
             "(binary_operator left: (identifier) @old operator: \"+\" right: (binary_operator operator: \"*\"))) @in "
             "(#eq? @old @sum) (#not-match? @sum \"ptr|off|idx|index|addr|pos|^[a-z]$\"))"},
        .has = {{3, PYTHON_CALL("load")}},
        .lacks = {{0, PYTHON_CALL("dot|dot_scaled")}},
        .when = {SLOW, PRODUCT, COMPUTE_BOUND},
        .weight = 0.8,
        .message = "the product is summed term by term in nested loops: no matrix unit takes part",
        .evidence = "$sum inside the loops over $outer and $inner in $kernel, and no tl.dot",
        .change = "an implicit product: gather a block of windows and a block of filters, and tl.dot them",
    },
    {
        .id = "triton-one-configuration",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {TRITON_KERNEL, PYTHON_CALL_AT("dot|dot_scaled")},
        .lacks = {{0, PYTHON_CALL("autotune")}},
        .when = {SLOW, PRODUCT},
        .weight = 0.5,
        .message = "the product runs in one configuration, whatever its shape and dtype",
        .evidence = "tl.dot in $kernel, and no @triton.autotune",
        .change = "@triton.autotune over tile sizes (128 x 128 and 128 x 256), 3 to 5 stages, 4 and 8 warps",
    },
    {
        .id = "triton-few-configurations",
        .languages = TRITON,
        .cause = KG_CAUSE_TUNING,
        .path = {PYTHON_CALL("autotune"), PYTHON_CALL_AT("Config")},
        .at_most = 5,
        .has = {{0, PYTHON_CALL("dot|dot_scaled")}},
        .lacks = {{1, "(list_comprehension)"}},
        .when = {SLOW, PRODUCT},
        .weight = 0.35,
        .message = "few configurations are tried",
        .evidence = "triton.Config in the autotuner's list",
        .change = "try tile sizes, stages and warps together: a dozen, pruned by shared memory",
    },
    {
        .id = "triton-tiles-only",
        .languages = TRITON,
        .cause = KG_CAUSE_TUNING,
        .path = {PYTHON_CALL("autotune"), PYTHON_CALL_AT("Config")},
        .has = {{0, PYTHON_CALL("dot|dot_scaled")}},
        .lacks = {{1, IDENTIFIER("^num_(stages|warps)$")}},
        .when = {SLOW, PRODUCT},
        .weight = 0.35,
        .message = "the configurations vary tiles alone: stages and warps keep their defaults",
        .evidence = "$at, and no num_stages or num_warps in any",
        .change = "vary num_stages (3 to 5) and num_warps (4, 8) with the tiles",
    },
    {
        .id = "triton-one-stage",
        .languages = TRITON,
        .cause = KG_CAUSE_TUNING,
        .path = {"(keyword_argument name: (identifier) @name value: (integer) @stages (#eq? @name \"num_stages\") "
                 "(#match? @stages \"^[01]$\")) @at"},
        .has = {{0, PYTHON_CALL("dot|dot_scaled")}},
        .lacks = {{0,
                   "(keyword_argument name: (identifier) @name value: (_) @stages (#eq? @name \"num_stages\") "
                   "(#not-match? @stages \"^[01]$\"))"}},
        .when = {SLOW, PRODUCT},
        .weight = 0.4,
        .message = "the loop of the product is not pipelined: each turn waits for its own loads",
        .evidence = "$at, and no other number of stages is tried",
        .change = "num_stages=3 or more, so that the next blocks arrive while these are multiplied",
    },
    {
        .id = "triton-row-major-order",
        .languages = TRITON,
        .cause = KG_CAUSE_TUNING,
        .path = {TRITON_KERNEL, PYTHON_CALL_AT("dot")},
        .at_most = 2,  // attention, say, has more, and other orders
        .lacks = {{1, IDENTIFIER("[Gg][Rr][Oo][Uu][Pp]|[Ss]wizzle")}},
        .when = {SLOW, PRODUCT, COMPUTE_BOUND},
        .weight = 0.3,
        .message =
            "programs walk the result row by row, so that blocks of the second operand leave the L2 cache between uses",
        .evidence = "$kernel maps program_id to tiles without grouping",
        .change = "group the programs: walk GROUP_M rows of tiles before the next column (tl.swizzle2d or by hand)",
    },
    {
        .id = "triton-precise-dot",
        .languages = TRITON,
        .cause = KG_CAUSE_TUNING,
        .path = {TRITON_KERNEL, PYTHON_CALL_AT("dot"),
                 "([(keyword_argument name: (identifier) @name value: (false) @value) (keyword_argument name: "
                 "(identifier) @name value: (string) @value)] @in (#any-of? @name \"allow_tf32\" "
                 "\"input_precision\") (#match? @value \"False|ieee\"))"},
        .when = {SLOW, PRODUCT, {"bits", '=', 32}},
        .weight = 0.5,
        .message = "tl.dot is told to keep full float32, which no matrix unit does",
        .evidence = "$in in $kernel",
        .change = "TF32 where its 10 bits are enough, or input_precision=\"tf32x3\"",
    },
    {
        .id = "triton-tuned-once",
        .languages = TRITON,
        .cause = KG_CAUSE_HAZARD,
        .path = {PYTHON_CALL_AT("autotune"),
                 "(keyword_argument name: (identifier) @name value: (list) @keys (#eq? @name \"key\") (#match? @keys "
                 "\"^\\\\[ *\\\\]$\")) @in"},
        .message = "tuned on the first shape it meets, and never again",
        .evidence = "key=$keys",
        .change = "name in key the arguments that the best configuration depends on: M, N, K",
    },
};

KG_TABLE(kg_rules_triton_product);
