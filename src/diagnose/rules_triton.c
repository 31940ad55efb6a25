// Triton: how kernels are written, as far as the source tells.
#include "diagnose/rules.h"

#define TRITON KG_IN(KG_LANG_TRITON)
// A loop that counts by one.
#define UNIT_LOOP                                                                                        \
    "(for_statement left: (identifier) @k right: (call function: (_) @range arguments: (argument_list) " \
    "@bounds) body: (block) @in (#match? @range \"range$\") (#not-match? @bounds \",.*,\")) @at"
// k is added to an address: the turns of the loop read one element after the other.
#define ADDED_K "(binary_operator operator: \"+\" (identifier) @in (#eq? @in \"$k\"))"

static const kg_rule rules[] = {
    {
        .id = "triton-serial-loop",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {TRITON_KERNEL, UNIT_LOOP, ADDED_K},
        .has = {{2, PYTHON_CALL("load")}},
        .when = {SLOW},
        .weight = 0.95,
        .message = "the loop over $k reads the data one element a turn, and each turn waits for the memory of the last",
        .evidence = "in $kernel: for $k in $range$bounds, and $k is added to an address",
        .change = "load a block with tl.arange and reduce it with tl.sum, tl.max or the like; step by the block",
    },
    {
        .id = "triton-scalar-program",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {TRITON_KERNEL,
                 "(call function: (attribute attribute: (identifier) @function) (#eq? @function "
                 "\"load\")) @at"},
        .lacks = {{1, PYTHON_CALL("arange|make_block_ptr|make_tensor_descriptor|load_tensor_descriptor")}},
        .when = {SLOW},
        .weight = 0.9,
        .message = "each program of $kernel works on single elements: no tl.arange, so one lane of the warp is used",
        .evidence = "tl.load without a block",
        .change = "give each program a block of elements: offsets = pid * BLOCK + tl.arange(0, BLOCK), with a mask",
    },
    {
        .id = "triton-block-of-one",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {TRITON_KERNEL, PYTHON_CALL_AT("arange"),
                 "(argument_list . (integer) . (integer) @one . "
                 "(#eq? @one \"1\")) @in"},
        .when = {SLOW},
        .weight = 0.7,
        .message = "a block of one element uses one lane of each warp",
        .evidence = "tl.arange(0, 1) in $kernel",
        .change = "make the block at least 128 elements wide",
    },
    {
        .id = "triton-reduce-each-turn",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {TRITON_KERNEL, "(for_statement left: (identifier) @k body: (block) @in)",
                 "(augmented_assignment left: (identifier) @sum right: (_) @in) @at", PYTHON_CALL("sum")},
        .has = {{2, PYTHON_CALL("load")}},
        .when = {SLOW, MEMORY_BOUND},
        .weight = 0.3,
        .message = "$sum is reduced to one number in every turn of the loop",
        .evidence = "tl.sum inside the loop over $k in $kernel",
        .change = "add the blocks element by element in the loop, and reduce once behind it",
    },
    {
        .id = "triton-converted-outside",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {"([(call function: (attribute object: (_) @what attribute: (identifier) @f) (#eq? @f \"float\")) "
                 "(call function: (attribute object: (_) @what attribute: (identifier) @f) arguments: (argument_list "
                 "(attribute) @dtype) (#any-of? @f \"to\" \"type\") (#eq? @dtype \"torch.float32\"))] @at)"},
        .has = {{0, TRITON_KERNEL}},
        .when = {SLOW, HALF},
        .explains = "recast_share",
        .weight = 0.6,
        .message = "$what is converted to float32 by a pass of its own before the kernel runs",
        .evidence = "$at on {bits}-bit data: every element is read, written twice as wide and read again",
        .change = "load the half-precision data in the kernel and convert in registers: tl.load(...).to(tl.float32)",
    },
    {
        .id = "triton-converted-back",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {"(return_statement (call function: (attribute attribute: (identifier) @f) @at arguments: "
                 "(argument_list [(attribute) (identifier)] @dtype) (#any-of? @f \"to\" \"type\" \"half\" "
                 "\"bfloat16\") (#match? @dtype \"dtype|float16|bfloat16\")) @in)"},
        .has = {{0, TRITON_KERNEL}},
        .when = {SLOW, HALF},
        .explains = "recast_share",
        .weight = 0.5,
        .message = "the result is converted by a pass of its own after the kernel",
        .evidence = "return ...$f($dtype)",
        .change = "allocate the output in its own dtype and let tl.store convert",
    },
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
        .id = "triton-product-by-sum",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {TRITON_KERNEL, PYTHON_CALL_AT("sum"), "(binary_operator operator: \"*\") @in"},
        .lacks = {{0, PYTHON_CALL("dot|dot_scaled")}},
        .when = {SLOW, PRODUCT, COMPUTE_BOUND},
        .weight = 0.9,
        .message = "the product is a multiplication and a tl.sum: no matrix unit takes part",
        .evidence = "tl.sum($in) in $kernel, and no tl.dot",
        .change = "use tl.dot on blocks of at least 16 x 16 x 16",
    },
    {
        .id = "triton-one-configuration",
        .languages = TRITON,
        .cause = KG_CAUSE_TUNING,
        .path = {TRITON_KERNEL, PYTHON_CALL_AT("dot|dot_scaled")},
        .lacks = {{0, PYTHON_CALL("autotune")}},
        .when = {SLOW, PRODUCT},
        .weight = 0.4,
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
        .when = {SLOW, PRODUCT},
        .weight = 0.35,
        .message = "few configurations are tried",
        .evidence = "triton.Config in the autotuner's list",
        .change = "try tile sizes, stages and warps together: a dozen, pruned by shared memory",
    },
    {
        .id = "triton-row-major-order",
        .languages = TRITON,
        .cause = KG_CAUSE_TUNING,
        .path = {TRITON_KERNEL, PYTHON_CALL_AT("dot")},
        .lacks = {{1, IDENTIFIER("[Gg][Rr][Oo][Uu][Pp]|[Ss]wizzle")}},
        .when = {SLOW, PRODUCT, COMPUTE_BOUND},
        .weight = 0.3,
        .message =
            "programs walk the result row by row, so that blocks of the second operand leave the L2 cache between uses",
        .evidence = "$kernel maps program_id to tiles without grouping",
        .change = "group the programs: walk GROUP_M rows of tiles before the next column (tl.swizzle2d or by hand)",
    },
    {
        .id = "triton-whole-row",
        .languages = TRITON,
        .cause = KG_CAUSE_TUNING,
        .path = {PYTHON_CALL_AT("next_power_of_2")},
        .lacks = {{0,
                   "(decorated_definition (decorator (_) @d) definition: (function_definition body: (block "
                   "(for_statement))) (#match? @d \"jit\"))"}},
        .when = {SLOW},
        .weight = 0.3,
        .message = "a program holds a whole row at once: long rows spill registers or leave few programs on a unit",
        .evidence = "the block is $at, and no kernel has a loop",
        .change = "stream the row in blocks of a few KB: an online softmax, or two passes",
    },
    {
        .id = "triton-double",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {TRITON_KERNEL,
                 "(call function: (attribute attribute: (identifier) @f) arguments: (argument_list "
                 "(attribute) @dtype) (#any-of? @f \"to\" \"cast\") (#match? @dtype "
                 "\"^(tl|triton.language)[.]float64$\")) @at"},
        .when = {SLOW, {"bits", '<', 64}},
        .weight = 0.5,
        .message = "float64 arithmetic on narrower data",
        .evidence = "$at in $kernel",
        .change = "compute in float32",
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
        .id = "triton-atomic-result",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {TRITON_KERNEL, PYTHON_CALL_AT("atomic_add|atomic_max|atomic_min")},
        .when = {SLOW},
        .weight = 0.35,
        .message = "programs meet in atomic operations on the same result",
        .evidence = "$at in $kernel",
        .change = "let each program write its part, and a second small kernel add the parts",
    },
    {
        .id = "triton-division-an-element",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {TRITON_KERNEL, "(binary_operator left: (identifier) @index operator: [\"//\" \"%\"]) @at"},
        .has = {{1,
                 "(assignment left: (identifier) @index (#eq? @index \"$index\") right: (_) @sum (#match? @sum "
                 "\"arange\"))"}},
        .when = {SLOW, MEMORY_BOUND},
        .weight = 0.25,
        .message = "every element's index is taken apart by integer divisions",
        .evidence = "$at in $kernel",
        .change = "give rows and columns their own program axes, or treat contiguous tensors as one flat range",
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
    {
        .id = "triton-narrow-offsets",
        .languages = TRITON,
        .cause = KG_CAUSE_HAZARD,
        .path = {TRITON_KERNEL,
                 "(assignment left: (identifier) @pid right: (call function: (attribute attribute: "
                 "(identifier) @f) (#eq? @f \"program_id\")) @at)",
                 "(call) @in"},
        .has = {{1, "(binary_operator left: (identifier) @row operator: \"*\" (#eq? @row \"$pid\"))"}},
        .lacks = {{1, IDENTIFIER("^int64$")}},
        .message =
            "offsets are computed in 32 bits: past 2^31 elements they wrap, and other memory is read and written",
        .evidence = "$pid = $at, multiplied without tl.int64, in $kernel",
        .change = "$pid = $at.to(tl.int64)",
    },
};

KG_TABLE(kg_rules_triton);
