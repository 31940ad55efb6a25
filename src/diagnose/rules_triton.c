// Triton: loops over rows, as far as the source tells.
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

static const kg_rule rules[] =
    {
        {
            .id = "triton-serial-loop",
            .languages = TRITON,
            .cause = KG_CAUSE_AUTHORING,
            .path = {TRITON_KERNEL, UNIT_LOOP, IN_ADDRESS},
            .has = {{2, PYTHON_CALL("load")}},
            .lacks =
                {{1,
                  "(assignment left: (identifier) @block right: (_) @is (#eq? @block \"$base\") (#match? @is \"arange\"))"},
                 {2,
                  "(binary_operator left: (identifier) @index operator: [\"*\" \"//\" \"%\"] (#eq? @index \"$to\"))"},
                 {2, "((for_statement)) ((attribute) @a (#match? @a \"[.]arange$\"))"},
                 {2,
                  "((call function: (attribute attribute: (identifier) @other) arguments: (argument_list . (binary_operator right: (identifier) @block))) (#eq? @other \"load\") (#not-eq? @block \"$k\") (#not-eq? @block \"$to\"))"}},
            .when = {SLOW},
            .weight = 0.95,
            .message =
                "the loop over $k reads the data one element a turn, and each turn waits for the memory of the last",
            .evidence = "in $kernel: for $k in $range$bounds, and $k is the last term of an address",
            .change = "load a block with tl.arange and reduce it with tl.sum, tl.max or the like; step by the block",
        },
        {
            .id = "triton-unit-steps",
            .languages = TRITON,
            .cause = KG_CAUSE_AUTHORING,
            .path =
                {TRITON_KERNEL,
                 "(block (expression_statement (assignment left: (identifier) @lanes right: (_) @is)) (#match? @is \"arange\")) @in",
                 UNIT_LOOP,
                 "((binary_operator left: (identifier) @step operator: \"*\" right: (identifier) @stride) @in (#eq? @step \"$k\") (#match? @stride \"stride\"))"},
            .has =
                {{3, PYTHON_CALL("load")},
                 {3,
                  "((binary_operator left: (identifier) @block operator: \"*\" right: (identifier) @far) (#eq? @block \"$lanes\") (#match? @far \"stride\")) ((binary_operator left: (subscript value: (identifier) @block) operator: \"*\" right: (identifier) @far) (#eq? @block \"$lanes\") (#match? @far \"stride\"))"}},
            .lacks = {{3, "(for_statement)"}, {1, PYTHON_CALL("dot")}, {3, PYTHON_CALL("store")}},
            .when = {SLOW, MEMORY_BOUND},
            .weight = 0.6,
            .message = "each turn of the loop over $k takes one step along the reduced dimension: where that is the "
                       "contiguous one, the lanes of a warp read whole rows apart",
            .evidence =
                "in $kernel: for $k in $range$bounds, with $in in an address, and $lanes multiplied by a stride too",
            .change =
                "put the reduced dimension into the block: tl.arange along it, and reduce with tl.sum, tl.max or the "
                "like",
        },
        {
            .id = "triton-branch-each-turn",
            .languages = TRITON,
            .cause = KG_CAUSE_AUTHORING,
            .path = {TRITON_KERNEL, "(for_statement left: (identifier) @k body: (block) @in)",
                     "(if_statement condition: (_) @in) @at", "((identifier) @value) @in"},
            .has =
                {{2,
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
            // total += tl.sum(x), total = total + tl.sum(x), best = tl.maximum(best, tl.max(x, 0))
            .id = "triton-reduce-each-turn",
            .languages = TRITON,
            .cause = KG_CAUSE_AUTHORING,
            .path =
                {TRITON_KERNEL, "(for_statement left: (identifier) @k body: (block) @in)",
                 "((augmented_assignment left: (identifier) @sum right: (call function: (attribute attribute: (identifier) @f) arguments: (argument_list) @in)) @at (#any-of? @f \"sum\" \"max\" \"min\")) ((assignment left: (identifier) @sum right: (binary_operator left: (identifier) @old right: (call function: (attribute attribute: (identifier) @f) arguments: (argument_list) @in))) @at (#eq? @old @sum) (#any-of? @f \"sum\" \"max\" \"min\")) ((assignment left: (identifier) @sum right: (call arguments: (argument_list (identifier) @old (call function: (attribute attribute: (identifier) @f) arguments: (argument_list) @in)))) @at (#eq? @old @sum) (#any-of? @f \"sum\" \"max\" \"min\"))"},
            .has = {{2, PYTHON_CALL("load")}},
            .lacks = {{2, PYTHON_CALL("exp|exp2")},
                      {1, PYTHON_CALL("dot")},
                      {3, "((identifier) @itself (#eq? @itself \"$sum\"))"}},
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
};

KG_TABLE(kg_rules_triton);
