// Triton: loops, loads and rows, as far as the source tells.
#include "diagnose/rules.h"

#define TRITON KG_IN(KG_LANG_TRITON)
// A loop that counts by one, over something that may be long: not a window's few turns.
#define UNIT_LOOP                                                                                        \
    "(for_statement left: (identifier) @k right: (call function: (_) @range arguments: (argument_list) " \
    "@bounds) body: (block) @in (#match? @range \"^(tl[.])?range$\") "                                   \
    "(#not-match? @bounds \",.*, *([^1 ]|1[^)])\") "                                                     \
    "(#not-match? @bounds \"[Kk]ernel|KERNEL|[Ww]indow|[Pp]ool|[Ff]ilter|[Kk]_?[HhWw]|[Tt]aps|[Bb]its|[(, ][RS][)]\")) @at"
// What stands beside k in an address: a name, or a product of names. @base: the name, so that blocks can be told.
#define BESIDE                                                                                       \
    "[(identifier) @base (binary_operator operator: \"*\") (binary_operator operator: \"+\" right: " \
    "(identifier) @base) (binary_operator operator: \"+\" right: (binary_operator operator: \"*\"))]"
// k is the last term of an address, or its first: the turns of the loop read one element after the other.
#define ENDS_IN_K                                                                                                \
    "[(binary_operator left: " BESIDE                                                                            \
    " operator: \"+\" right: (identifier) @last) "                                                               \
    "(binary_operator left: (_) operator: \"+\" right: (parenthesized_expression (binary_operator left: " BESIDE \
    " operator: \"+\" right: (identifier) @last))) "                                                             \
    "(binary_operator left: (identifier) @last operator: \"+\" right: [(identifier) @base (binary_operator "     \
    "operator: \"*\")])] @in"
#define IN_ADDRESS                                                                                                \
    "((assignment left: (identifier) @to right: " ENDS_IN_K                                                       \
    ") (#eq? @last \"$k\") (#not-match? @in "                                                                     \
    "\"arange\")) ((call function: (attribute attribute: (identifier) @f) arguments: (argument_list . " ENDS_IN_K \
    ")) (#eq? @f \"load\") (#eq? @last \"$k\") (#not-match? @in \"arange\"))"

static const kg_rule rules[] = {
    {
        .id = "triton-serial-loop",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {TRITON_KERNEL, UNIT_LOOP, IN_ADDRESS},
        .has = {{2, PYTHON_CALL("load")}},
        .lacks = {{1,
                   "(assignment left: (identifier) @block right: (_) @is (#eq? @block \"$base\") (#match? @is "
                   "\"arange\"))"},
                  {2,
                   "(binary_operator left: (identifier) @index operator: [\"*\" \"//\" \"%\"] (#eq? @index "
                   "\"$to\"))"},
                  {2,
                   "(for_statement right: (call arguments: (argument_list (_) @first)) (#match? @first \"^[a-z]$\") "
                   "(#eq? @first \"$k\"))"}},
        .when = {SLOW},
        .weight = 0.95,
        .message = "the loop over $k reads the data one element a turn, and each turn waits for the memory of the last",
        .evidence = "in $kernel: for $k in $range$bounds, and $k is the last term of an address",
        .change = "load a block with tl.arange and reduce it with tl.sum, tl.max or the like; step by the block",
    },
    {
        .id = "triton-unit-steps",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path =
            {TRITON_KERNEL, UNIT_LOOP,
             "((binary_operator left: (identifier) @step operator: \"*\" right: (identifier) @stride) @in (#eq? @step "
             "\"$k\") (#match? @stride \"stride\"))"},
        .has = {{2, PYTHON_CALL("load")}, {1, PYTHON_CALL("arange")}},
        .lacks = {{2, "(for_statement)"}, {1, PYTHON_CALL("dot")}, {2, PYTHON_CALL("store")}},
        .when = {SLOW, MEMORY_BOUND},
        .weight = 0.6,
        .message = "each turn of the loop over $k takes one step along the reduced dimension: where that is the "
                   "contiguous one, the lanes of a warp read whole rows apart",
        .evidence = "in $kernel: for $k in $range$bounds, and $in in an address",
        .change = "put the reduced dimension into the block: tl.arange along it, and reduce with tl.sum, tl.max or the "
                  "like",
    },
    {
        .id = "triton-branch-each-turn",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {TRITON_KERNEL, "(for_statement left: (identifier) @k body: (block) @in)",
                 "(if_statement condition: (_) @in) @at", "((identifier) @value) @in"},
        .has = {{2,
                 "((assignment left: (identifier) @reduced right: (call function: (attribute attribute: (identifier) "
                 "@f))) (#eq? @reduced \"$value\") (#any-of? @f \"max\" \"min\" \"sum\"))"},
                {2, PYTHON_CALL("load")}},
        .when = {SLOW, MEMORY_BOUND},
        .weight = 0.4,
        .message = "every turn of the loop over $k branches on what it has read: no load runs ahead of the branch",
        .evidence = "if $in... in $kernel, where $value is reduced in the same turn",
        .change = "tl.where, or arithmetic that holds in both cases: tl.maximum and a rescaled sum",
    },
    {
        .id = "triton-scalar-program",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {TRITON_KERNEL,
                 "(call function: (attribute attribute: (identifier) @function) (#eq? @function "
                 "\"load\")) @at"},
        .lacks = {{0, PYTHON_CALL("arange|make_block_ptr|make_tensor_descriptor|load_tensor_descriptor")}},
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
        .id = "triton-reduce-each-turn",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {TRITON_KERNEL, "(for_statement left: (identifier) @k body: (block) @in)",
                 "([(augmented_assignment left: (identifier) @sum right: (_) @in) @at (assignment left: (identifier) "
                 "@sum right: (_) @in) @at] (#not-match? @in \"exp\"))",
                 "(call function: (attribute attribute: (identifier) @f) arguments: (argument_list) @in (#any-of? @f "
                 "\"sum\" \"max\" \"min\"))"},
        // total += tl.sum(x), total = total + tl.sum(x), best = tl.maximum(best, tl.max(x, 0))
        .has = {{2, PYTHON_CALL("load")},
                {2,
                 "((augmented_assignment left: (identifier) @again) (#eq? @again \"$sum\")) ((assignment left: "
                 "(identifier) @again right: [(binary_operator (identifier) @old) (call arguments: (argument_list "
                 "(identifier) @old))]) (#eq? @again \"$sum\") (#eq? @old \"$sum\"))"}},
        .lacks = {{2, PYTHON_CALL("exp|exp2")}},
        .when = {SLOW, MEMORY_BOUND},
        .weight = 0.3,
        .message = "$sum is reduced to one number in every turn of the loop",
        .evidence = "tl.$f inside the loop over $k in $kernel",
        .change = "add the blocks element by element in the loop, and reduce once behind it",
    },
    {
        .id = "triton-narrow-reduction",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path =
            {TRITON_KERNEL,
             "(for_statement left: (identifier) @k right: (call arguments: (argument_list (_) (_) (identifier) @block)) "
             "body: (block) @in) @at",
             "((call function: (attribute attribute: (identifier) @f)) @in (#any-of? @f \"sum\" \"max\" \"min\" "
             "\"argmax\" \"argmin\"))"},
        .has =
            {{2, PYTHON_CALL("load")},
             {0,
              "((keyword_argument name: (identifier) @name value: (integer) @width) (#eq? @name \"$block\") (#match? "
              "@width \"^([1-9][0-9]?|[1-4][0-9][0-9]|51[0-2])$\"))"}},
        .lacks = {{1, PYTHON_CALL("dot")}, {0, PYTHON_CALL("autotune")}},
        .when = {SLOW, MEMORY_BOUND},
        .weight = 0.6,
        .message = "narrow blocks are read and reduced one after the other: one small load is under way at a time",
        .evidence = "in $kernel: tl.$f in every turn of the loop over $k, and $block is at most 512",
        .change = "blocks of 2048 elements or more, combined element by element, and one reduction behind the loop",
    },
    {
        .id = "triton-reads-twice",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path =
            {TRITON_KERNEL,
             "((block (for_statement body: (block (expression_statement (assignment right: [(call function: (attribute attribute: (identifier) @load) arguments: (argument_list . (binary_operator) @address)) (call function: (attribute object: (call function: (attribute attribute: (identifier) @load) arguments: (argument_list . (binary_operator) @address))))])))) (for_statement body: (block (expression_statement (assignment right: [(call function: (attribute attribute: (identifier) @loads) arguments: (argument_list . (_) @again)) (call function: (attribute object: (call function: (attribute attribute: (identifier) @loads) arguments: (argument_list . (_) @again))))]))) @in) @at) (#eq? @load \"load\") (#eq? @again @address))"},
        .lacks = {{2, PYTHON_CALL("store")}} /* what writes the results has to read a long row again */,
        .when = {SLOW, MEMORY_BOUND},
        .weight = 0.3,
        .message = "a second loop reads again what the first one read",
        .evidence = "$address is loaded in both loops of $kernel",
        .change =
            "one pass: running sums (Welford, sum and sum of squares about a guess, online softmax), or keep a row "
            "that fits in registers",
    },
    {
        .id = "triton-whole-row",
        .languages = TRITON,
        .cause = KG_CAUSE_TUNING,
        .path = {"((assignment right: (_) @in) (#not-match? @in \"min[(]\")) ((keyword_argument value: (_) @in) "
                 "(#not-match? @in \"min[(]\"))",
                 PYTHON_CALL_AT("next_power_of_2")},
        .lacks = {{0,
                   "(decorated_definition (decorator (_) @d) definition: (function_definition body: (block "
                   "(for_statement))) (#match? @d \"jit\"))"},
                  {0, PYTHON_CALL("dot|dot_scaled")}},
        .when = {SLOW, MEMORY_BOUND},
        .weight = 0.2,
        .message = "a program holds a whole row at once: long rows spill registers or leave few programs on a unit",
        .evidence = "the block is $at, and no kernel has a loop",
        .change = "stream the row in blocks of a few KB: an online softmax, or two passes",
    },
    {
        .id = "triton-whole-row-spills",
        .languages = TRITON,
        .cause = KG_CAUSE_AUTHORING,
        .path =
            {"((assignment right: (_) @in) (#not-match? @in \"min[(](.*[^0-9])?(256|512|1024|2048|4096)[^0-9]\")) ((keyword_argument value: (_) @in) (#not-match? @in \"min[(](.*[^0-9])?(256|512|1024|2048|4096)[^0-9]\"))",
             PYTHON_CALL_AT("next_power_of_2")},
        .when = {SLOW, {"local_bytes", '>', 0}},
        .weight = 0.6,
        .message = "a program holds a whole row, and its registers do not: values spill to memory",
        .evidence = "the block is $at; {local_bytes} bytes of local memory a thread",
        .change = "stream the row in blocks of a few KB, or give long rows 16 or 32 warps",
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

KG_TABLE(kg_rules_triton);
