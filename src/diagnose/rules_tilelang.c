// TileLang: how kernels are written, as far as the source tells.
#include "diagnose/rules.h"

#define TILELANG KG_IN(KG_LANG_TILELANG)
// A loop that one thread walks by one, more than a few turns.
#define SERIAL_LOOP                                                                                               \
    "(for_statement left: (identifier) @k right: (call function: (_) @range arguments: (argument_list) @bounds) " \
    "body: (block) @in (#match? @range \"^(T[.])?(serial|range)$\") "                                             \
    "(#not-match? @bounds \"^[(]([0-9]|[12][0-9]|3[0-2])[)]$|,.*,|[Kk]ernel|[Kk]_?[HhWw][^a-z]|[Pp]ool\")) @at"
// k moves along the last dimension of a tensor.
#define LAST_INDEX                                                                                                    \
    "((subscript value: (identifier) @buffer subscript: [(identifier) @last (binary_operator operator: \"+\" right: " \
    "(identifier) @last)] .) @in (#eq? @last \"$k\"))"
#define IN_REGISTERS                                                                                             \
    "(assignment left: (identifier) @name right: (call function: (_) @alloc) (#eq? @name \"$buffer\") (#match? " \
    "@alloc \"alloc_(local|fragment|var)$\"))"
#define MAPPED                                                                                                          \
    "(assignment left: (subscript subscript: [(identifier) @last (binary_operator operator: \"+\" right: (identifier) " \
    "@last)] .) (#eq? @last \"$k\"))"
// Two tensors multiplied, element by element.
#define MULTIPLIES "((binary_operator left: (subscript) @x operator: \"*\" right: (subscript) @y) (#not-eq? @x @y))"
#define WIDE_ONLY  "((string) @double (#match? @double \"float64\"))"
// A dimension that the arguments have: memory of this size grows with the problem.
#define TENSOR_LAST                                                                                          \
    "(call function: (_) @tensor arguments: (argument_list . (tuple (identifier) @dim .)) (#match? @tensor " \
    "\"[.](Tensor|Buffer)$\") (#eq? @dim \"$row\"))"
#define ROW_SHAPE                                                                                                       \
    "((call function: (attribute attribute: (identifier) @f) arguments: (argument_list . [(tuple (identifier) @row .) " \
    "(list (identifier) @row .)])) @at (#not-match? @row \"vec|lane|[Bb]lock|BLOCK|[Tt]ile|[Tt]hread|chunk\") "

static const kg_rule rules[] = {
    {
        .id = "tilelang-serial-loop",
        .languages = TILELANG,
        .cause = KG_CAUSE_AUTHORING,
        .path =
            {TILELANG_KERNEL, SERIAL_LOOP,
             "[(augmented_assignment right: (_) @in) (assignment right: (_) @in) (if_statement condition: (_) @in)]",
             LAST_INDEX},
        .lacks = {{1, IN_REGISTERS}, {2, MAPPED}, {1, WIDE_ONLY}, {3, MULTIPLIES}},
        .when = {SLOW},
        .weight = 0.95,
        .message = "the loop over $k reads the data one element a turn, and each turn waits for the memory of the last",
        .evidence = "in $kernel: for $k in $range$bounds, and $k indexes what is read: $in",
        .change = "copy the row into a fragment with T.copy and reduce it with T.reduce_sum, T.reduce_max or the like",
    },
    {
        .id = "tilelang-serial-product",
        .languages = TILELANG,
        .cause = KG_CAUSE_AUTHORING,
        .path =
            {TILELANG_KERNEL, SERIAL_LOOP,
             "[(augmented_assignment right: (_) @in) (assignment right: (_) @in) (if_statement condition: (_) @in)]",
             LAST_INDEX},
        .lacks = {{1, IN_REGISTERS}, {2, MAPPED}, {1, WIDE_ONLY}, {0, PYTHON_CALL("gemm")}},
        .has = {{3, MULTIPLIES}},
        .when = {SLOW},
        .weight = 0.9,
        .message = "the loop over $k multiplies one element a turn, and each turn waits for the memory of the last",
        .evidence = "in $kernel: for $k in $range$bounds, and $k indexes what is read: $in",
        .change = "copy blocks with T.copy; T.gemm for matrices, for a vector a fragment and T.reduce_sum",
    },
    {
        .id = "tilelang-serial-map",
        .languages = TILELANG,
        .cause = KG_CAUSE_AUTHORING,
        .path = {TILELANG_KERNEL, SERIAL_LOOP, MAPPED " @in"},
        .lacks = {{2, "(for_statement right: (call function: (_) @inner) (#match? @inner \"[.]Parallel$\"))"}},
        .when = {SLOW},
        .weight = 0.9,
        .message = "the loop over $k writes independent elements one after the other",
        .evidence = "in $kernel: for $k in $range$bounds, and $k is the last index of what is written",
        .change = "for $k in T.Parallel(...): the threads share the turns, and their accesses are joined",
    },
    {
        .id = "tilelang-one-thread",
        .languages = TILELANG,
        .cause = KG_CAUSE_AUTHORING,
        .path =
            {TILELANG_KERNEL, PYTHON_CALL("Kernel"),
             "(keyword_argument name: (identifier) @name value: (integer) @threads (#eq? @name \"threads\") (#match? "
             "@threads \"^([1-9]|1[0-9])$\")) @at"},
        .when = {SLOW},
        .weight = 0.9,
        .message = "most lanes of each warp have no work: $threads threads a block",
        .evidence = "$at in $kernel",
        .change = "threads=128 or 256, and share the row among them: T.Parallel, T.copy, T.reduce_*",
    },
    {
        .id = "tilelang-few-threads",
        .languages = TILELANG,
        .cause = KG_CAUSE_TUNING,
        .path =
            {TILELANG_KERNEL, PYTHON_CALL("Kernel"),
             "(keyword_argument name: (identifier) @name value: (integer) @threads (#eq? @name \"threads\") (#match? "
             "@threads \"^(32|64)$\")) @at"},
        .when = {SLOW},
        .weight = 0.25,
        .message = "blocks of one or two warps: few loads are under way at a time",
        .evidence = "$at in $kernel",
        .change = "threads=128 or 256",
    },
    {
        .id = "tilelang-product-by-loop",
        .languages = TILELANG,
        .cause = KG_CAUSE_AUTHORING,
        .path =
            {TILELANG_KERNEL, "(for_statement body: (block) @in)",
             "((augmented_assignment right: (_) @in) @at) ((assignment left: (_) @sum right: (binary_operator left: (_) @old "
             "operator: \"+\" right: (_) @in)) @at (#eq? @old @sum))",
             "(binary_operator left: (_) @left operator: \"*\" right: (_) @right (#match? @left \"[[].*[]]\") (#match? "
             "@right \"[[].*[]]\") (#not-eq? @left @right)) @in"},
        .lacks = {{0, PYTHON_CALL("gemm|gemm_sp|gemm_v2|wgmma_gemm|tcgen05_gemm")}, {1, WIDE_ONLY}},
        .when = {SLOW, PRODUCT, COMPUTE_BOUND},
        .weight = 0.9,
        .message = "the product is multiplied and added element by element: no matrix unit takes part",
        .evidence = "$in in $kernel, and no T.gemm",
        .change = "copy blocks into shared memory and multiply them with T.gemm",
    },
    {
        .id = "tilelang-not-pipelined",
        .languages = TILELANG,
        .cause = KG_CAUSE_TUNING,
        .path = {TILELANG_KERNEL,
                 "(for_statement right: (call function: (_) @range) body: (block) @in (#match? @range "
                 "\"(serial|range)$\")) @at",
                 PYTHON_CALL("gemm")},
        .has = {{2, PYTHON_CALL("copy")}},
        .lacks = {{1, PYTHON_CALL("Pipelined")}},
        .when = {SLOW, PRODUCT},
        .weight = 0.4,
        .message = "the loop of the product is not pipelined: each turn waits for its own copies",
        .evidence = "T.gemm in a loop over $range in $kernel",
        .change = "for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3)",
    },
    {
        .id = "tilelang-one-stage",
        .languages = TILELANG,
        .cause = KG_CAUSE_TUNING,
        .path = {TILELANG_KERNEL, PYTHON_CALL_AT("Pipelined"),
                 "(keyword_argument name: (identifier) @name value: (integer) @stages (#eq? @name \"num_stages\") "
                 "(#match? @stages \"^[01]$\")) @in"},
        .has = {{1, PYTHON_CALL("gemm")}},
        .when = {SLOW, PRODUCT},
        .weight = 0.35,
        .message = "num_stages=$stages keeps no copy under way while blocks are multiplied",
        .evidence = "$in in $kernel",
        .change = "num_stages=3, as far as shared memory goes",
    },
    {
        .id = "tilelang-no-swizzle",
        .languages = TILELANG,
        .cause = KG_CAUSE_TUNING,
        .path = {TILELANG_KERNEL, PYTHON_CALL_AT("gemm")},
        .lacks = {{1, PYTHON_CALL("use_swizzle")}},
        .when = {SLOW, PRODUCT, COMPUTE_BOUND},
        .weight = 0.25,
        .message =
            "blocks walk the result row by row, so that blocks of the second operand leave the L2 cache between uses",
        .evidence = "T.gemm in $kernel, and no T.use_swizzle",
        .change = "T.use_swizzle(panel_size=10) at the head of the kernel",
    },
    {
        .id = "tilelang-one-configuration",
        .languages = TILELANG,
        .cause = KG_CAUSE_AUTHORING,
        .path = {TILELANG_KERNEL, PYTHON_CALL_AT("gemm")},
        .lacks = {{0, IDENTIFIER("[Aa]uto_?[Tt]un")}},
        .when = {SLOW, PRODUCT},
        .weight = 0.5,
        .message = "the product runs in one configuration, whatever its shape and dtype",
        .evidence = "T.gemm in $kernel, and no tilelang.autotune",
        .change = "@tilelang.autotune over block sizes, num_stages and threads",
    },
    {
        .id = "tilelang-gemm-in-float32",
        .languages = TILELANG,
        .cause = KG_CAUSE_AUTHORING,
        .path = {TILELANG_KERNEL,
                 "(assignment left: (identifier) @operand right: (call function: (attribute attribute: (identifier) "
                 "@alloc) arguments: (argument_list (_) (_) @dtype)) (#eq? @alloc \"alloc_shared\") (#match? @dtype "
                 "\"^.?(T[.])?float(32)?.?$\")) @at"},
        .has = {{1,
                 "(call function: (attribute attribute: (identifier) @f) arguments: (argument_list (identifier) @a) "
                 "(#eq? @f \"gemm\") (#eq? @a \"$operand\"))"}},
        .when = {SLOW, PRODUCT, HALF},
        .weight = 0.7,
        .message = "T.gemm gets its operands in float32: half the rate of half precision at best (TF32)",
        .evidence = "$operand holds $dtype in $kernel",
        .change = "shared blocks in the dtype of the data; the fragment accumulates in float32",
    },
    {
        .id = "tilelang-silent-tf32",
        .languages = TILELANG,
        .cause = KG_CAUSE_HAZARD,
        .path = {TILELANG_KERNEL, PYTHON_CALL_AT("gemm")},
        .when = {PRODUCT, {"bits", '=', 32}},
        .message = "T.gemm on float32 runs in TF32 without saying so: about a third of the outputs miss 1e-5",
        .evidence = "T.gemm in $kernel on {bits}-bit data",
        .change = "where full precision counts, split the operands in three TF32 parts, or multiply without T.gemm",
    },
    {
        .id = "tilelang-whole-row-shared",
        .languages = TILELANG,
        .cause = KG_CAUSE_HAZARD,
        .path = {TILELANG_KERNEL, ROW_SHAPE "(#eq? @f \"alloc_shared\"))"},
        .has = {{0, TENSOR_LAST}},
        .message =
            "shared memory holds a whole row of $row elements: it starves devices with less of it, and long rows "
            "do not fit anywhere",
        .evidence = "$at in $kernel",
        .change = "stream the row in blocks of 4 KB with running results",
    },
    {
        .id = "tilelang-whole-row-fragment",
        .languages = TILELANG,
        .cause = KG_CAUSE_TUNING,
        .path = {TILELANG_KERNEL, ROW_SHAPE "(#eq? @f \"alloc_fragment\"))"},
        .has = {{0, TENSOR_LAST}},
        .when = {SLOW, MEMORY_BOUND},
        .weight = 0.25,
        .message = "registers hold a whole row of $row elements: long rows spill, and leave few blocks on a unit",
        .evidence = "$at in $kernel",
        .change = "stream the row in blocks of a few KB with running results",
    },
    {
        .id = "tilelang-one-block",
        .languages = TILELANG,
        .cause = KG_CAUSE_AUTHORING,
        .path = {TILELANG_KERNEL, PYTHON_CALL_AT("Kernel"),
                 "(argument_list . (integer) @blocks [(keyword_argument) \")\"] (#eq? @blocks \"1\")) @in"},
        .lacks =
            {{0,
              "(call function: (attribute attribute: (identifier) @f) arguments: (argument_list . (_) @grid) (#eq? "
              "@f \"Kernel\") (#not-eq? @grid \"1\"))"}},
        .when = {SLOW},
        .weight = 0.9,
        .message = "the kernel runs as one block: one multiprocessor works and the others wait",
        .evidence = "$at in $kernel, and no other kernel",
        .change = "a grid over rows or blocks of elements: T.Kernel(T.ceildiv(n, block), threads=128)",
    },
    {
        .id = "tilelang-built-in-call",
        .languages = TILELANG,
        .cause = KG_CAUSE_AUTHORING,
        .path = {"(function_definition name: (identifier) @host body: (block (expression_statement (assignment right: "
                 "(call) @in))) )",
                 PYTHON_CALL_AT("compile"), IDENTIFIER("prim_func|main|program|kernel|func") " @in"},
        .lacks = {{0, "((decorator (_) @d) (#match? @d \"cache\"))"},
                  {0,
                   "(subscript value: (identifier) @cache (#match? "
                   "@cache \"[Cc][Aa][Cc][Hh][Ee]|_KERNELS\"))"}},
        .when = {SLOW},
        .explains = "host_share",
        .weight = 0.3,
        .message = "the kernel is built inside $host, in every call",
        .evidence = "$at, and no cache around it",
        .change = "build once a shape and dtype: functools.cache around the function that compiles",
    },
};

KG_TABLE(kg_rules_tilelang);
