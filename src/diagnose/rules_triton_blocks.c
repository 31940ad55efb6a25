// Triton: what a program works on, and how programs are launched.
#include "diagnose/rules.h"

#define TRITON KG_IN(KG_LANG_TRITON)

static const kg_rule rules[] = {
    {
        .id = "triton-scalar-program",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {TRITON_KERNEL,
                 "(call function: (attribute attribute: (identifier) @function) (#eq? @function "
                 "\"load\")) @at"},
        .lacks = {{0,
                   PYTHON_CALL("arange|make_block_ptr|make_tensor_descriptor|load_tensor_descriptor|dot|dot_scaled")}},
        .when = {SLOW},
        .weight = 0.9,
        .message = "each program of $kernel works on single elements: no tl.arange, so one lane of the warp is used",
        .evidence = "tl.load without a block",
        .change = "give each program a block of elements: offsets = pid * BLOCK + tl.arange(0, BLOCK), with a mask",
    },
    {
        // A block of one beside others is how a number is stored with a shape.
        .id = "triton-block-of-one",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {TRITON_KERNEL, PYTHON_CALL_AT("arange"),
                 "((argument_list . (integer) . (integer) @one .) @in (#eq? @one \"1\"))"},
        .lacks = {{0,
                   "(call function: (attribute attribute: (identifier) @f) arguments: (argument_list) @bounds (#eq? "
                   "@f \"arange\") (#not-match? @bounds \"^[(]0, *1[)]$\"))"}},
        .when = {SLOW},
        .weight = 0.7,
        .message = "a block of one element uses one lane of each warp",
        .evidence = "tl.arange(0, 1) in $kernel, and no longer block in any",
        .change = "make the block at least 128 elements wide",
    },
    {
        .id = "triton-one-program",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {"(call function: (subscript value: (_) @launched subscript: (tuple . (integer) @one .)) (#eq? @one "
                 "\"1\")) @at"},
        .lacks = {{0, "(call function: (subscript subscript: (_) @grid) (#not-match? @grid \"^[(]1,[)]$\"))"}},
        .when = {SLOW},
        .weight = 0.9,
        .message = "$launched runs as one program: one multiprocessor works and the others wait",
        .evidence = "a grid of (1,), and no other launch",
        .change = "spread the elements over a grid of programs: (triton.cdiv(n, BLOCK),)",
    },
    {
        .id = "triton-small-block",
        .languages = TRITON,
        .cause = KG_CAUSE_TUNING,
        .path = {"([(keyword_argument name: (identifier) @name value: (integer) @size) (assignment left: (identifier) "
                 "@name right: (integer) @size)] @at (#match? @name \"^BLOCK(_SIZE|_N|SIZE)?$\") (#match? @size "
                 "\"^([1-9]|[1-9][0-9])$\"))"},
        .lacks = {{0, PYTHON_CALL("dot|dot_scaled|autotune")}, {0, "(subscript (none))"}},
        .when = {SLOW, MEMORY_BOUND},
        .weight = 0.35,
        .message = "blocks of $size elements: fewer than a program's 128 threads, and each moves little at a time",
        .evidence = "$name = $size",
        .change = "blocks of 1024 elements or more, so that each thread moves 16 bytes at a time",
    },
    {
        .id = "triton-one-warp",
        .languages = TRITON,
        .cause = KG_CAUSE_TUNING,
        .path = {"(keyword_argument name: (identifier) @name value: (integer) @warps (#eq? @name \"num_warps\") (#eq? "
                 "@warps \"1\")) @at"},
        .lacks = {{0,
                   "(keyword_argument name: (identifier) @name value: (_) @warps (#eq? @name \"num_warps\") (#not-eq? "
                   "@warps \"1\"))"}},
        .when = {SLOW},
        .weight = 0.2,
        .message = "programs of one warp: few loads are under way at a time",
        .evidence = "$at, and no other number of warps is tried",
        .change = "4 or 8 warps, or let @triton.autotune choose",
    },
    {
        .id = "triton-double",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path =
            {TRITON_KERNEL,
             "(call function: (attribute attribute: (identifier) @f) arguments: (argument_list (attribute) @dtype) (#any-of? @f \"to\" \"cast\") (#match? @dtype \"^(tl|triton.language)[.]float64$\")) @at"},
        .when = {SLOW, {"bits", '<', 64}},
        .weight = 0.4,
        .message = "float64 arithmetic on narrower data",
        .evidence = "$at in $kernel",
        .change = "compute in float32",
    },
    {
        // One a program after a reduction is cheap; a whole block of them is not.
        .id = "triton-atomic-result",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path =
            {TRITON_KERNEL, PYTHON_CALL_AT("atomic_add|atomic_max|atomic_min"),
             "(argument_list . (_) . [(identifier) @value (call function: (attribute object: (identifier) @value))]) @in"},
        .lacks = {{3, PYTHON_CALL("sum|max|min|reduce")},
                  {1,
                   "(assignment left: (identifier) @sum right: (_) @is (#eq? @sum \"$value\") (#match? @is "
                   "\"[.](sum|max|min|reduce)[(]\"))"},
                  {1,
                   "(augmented_assignment left: (identifier) @sum right: (_) @is (#eq? @sum \"$value\") (#match? @is "
                   "\"[.](sum|max|min|reduce)[(]\"))"},
                  {1, PYTHON_CALL("dot")}},
        .when = {SLOW},
        .weight = 0.35,
        .message = "elements meet in atomic operations one by one",
        .evidence = "$at in $kernel, of a block that is not reduced before",
        .change = "reduce the block with tl.sum or tl.max first: one atomic operation a program",
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
        .weight = 0.2,
        .message = "every element's index is taken apart by integer divisions",
        .evidence = "$at in $kernel",
        .change = "give rows and columns their own program axes, or treat contiguous tensors as one flat range",
    },
    {
        .id = "triton-power",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {TRITON_KERNEL,
                 "(call function: (_) @f arguments: (argument_list . (_) @base . [(integer) (float)] @exponent .) "
                 "(#match? @f \"[.]pow$\") (#match? @exponent \"^(2|3|4|0[.]5|2[.]0?|3[.]0?)$\")) @at"},
        .when = {SLOW},
        .weight = 0.15,
        .message = "a power with a small fixed exponent costs a logarithm and an exponential",
        .evidence = "$at in $kernel",
        .change = "multiply $base by itself, or take tl.sqrt",
    },
    {
        .id = "triton-several-launches",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {HOST_FUNCTION,
                 "(block (expression_statement (call function: (subscript value: (_) @first))) (expression_statement "
                 "(call function: (subscript value: (_) @second))) (expression_statement (call function: (subscript "
                 "value: (_) @third))) @at)"},
        .when = {SLOW, MEMORY_BOUND},
        .weight = 0.35,
        .message = "one call launches three kernels or more, and each reads from memory what the one before wrote",
        .evidence = "$first, $second and $third in $host",
        .change = "fuse the passes over the same elements into one kernel",
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

KG_TABLE(kg_rules_triton_blocks);
