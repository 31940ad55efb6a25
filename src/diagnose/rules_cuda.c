// CUDA C++: how kernels are written, as far as the source tells.
#include "diagnose/rules.h"

#define CUDA KG_IN(KG_LANG_CUDA)
// i = ... threadIdx.x ...: neighbours in a warp have neighbouring i.
#define THREAD_INDEX(name)                                                                   \
    "(init_declarator declarator: (identifier) @index value: (_) @from (#eq? @index \"" name \
    "\") (#match? @from \"threadIdx[.]x\") (#not-match? @from \"[/%&?]|>>|warp\"))"
#define TIMES(capture)                                                                                 \
    "(binary_expression left: [(identifier) " capture " (cast_expression value: (identifier) " capture \
    ")] operator: \"*\")"
// sum += x[i] * y[j], or conversions of them.
#define MULTIPLY_ADD \
    "((assignment_expression operator: \"+=\" right: (binary_expression left: [(subscript_expression) (call_expression arguments: (argument_list . (subscript_expression) .))] @a operator: \"*\" right: [(subscript_expression) (call_expression arguments: (argument_list . (subscript_expression) .))] @b)) @in (#not-eq? @a @b))"
#define MATRIX_UNITS                                                                         \
    {0, "((identifier) @unit (#match? @unit \"mma|cublas|cutlass\"))"},                      \
        {0, "((namespace_identifier) @unit (#match? @unit \"mma|cublas|cutlass|cute\"))"}, { \
        0, "(gnu_asm_expression)"                                                            \
    }
#define WIDE                                                                                                              \
    "((type_identifier) @wide (#match? @wide \"^(float|int|uint|double|half|__half|ushort|char|uchar)_?[248]$|bfloat162|" \
    "[Vv]ec|[Pp]ack\")) ((identifier) @wide (#match? @wide \"^(float|int|uint|double)[24]$|half2$|bfloat162$|[Vv]ec|"     \
    "[Pp]ack\"))"

static const kg_rule rules[] = {
    {
        .id = "cuda-serial-row",
        .languages = CUDA,
        .cause = KG_CAUSE_AUTHORING,
        .path = {CUDA_KERNEL, C_UNIT_LOOP,
                 "(subscript_expression indices: (subscript_argument_list (binary_expression left: " TIMES(
                     "@row") " operator: \"+\" right: (identifier) @last)) (#eq? @last \"$k\")) @in"},
        .has = {{1, THREAD_INDEX("$row")}},
        .when = {SLOW},
        .weight = 0.9,
        .message =
            "each thread walks its own row: a warp's loads are a whole row apart, and one row's elements wait for "
            "each other",
        .evidence = "$in in $kernel, where $row comes from threadIdx.x",
        .change = "a warp or a block a row: threads take neighbouring columns, then a reduction by shuffles",
    },
    {
        .id = "cuda-serial-row-pointer",
        .languages = CUDA,
        .cause = KG_CAUSE_AUTHORING,
        .path =
            {CUDA_KERNEL,
             "(compound_statement (declaration declarator: (init_declarator declarator: (pointer_declarator declarator: (identifier) @line) value: (binary_expression operator: \"+\" right: (binary_expression left: [(identifier) @row (cast_expression value: (identifier) @row)] operator: \"*\"))))) @in",
             C_UNIT_LOOP,
             "(subscript_expression argument: (identifier) @of indices: (subscript_argument_list (identifier) @last) (#eq? @of \"$line\") (#eq? @last \"$k\")) @in"},
        .has = {{1, THREAD_INDEX("$row")}},
        .when = {SLOW},
        .weight = 0.9,
        .message =
            "each thread walks its own row: a warp's loads are a whole row apart, and one row's elements wait for "
            "each other",
        .evidence = "$in in $kernel, where $line is the row of the thread",
        .change = "a warp or a block a row: threads take neighbouring columns, then a reduction by shuffles",
    },
    {
        .id = "cuda-one-lane",
        .languages = CUDA,
        .cause = KG_CAUSE_AUTHORING,
        .path =
            {CUDA_KERNEL,
             "(if_statement condition: (condition_clause value: (binary_expression left: (_) @lane operator: \"==\" "
             "right: (number_literal) @zero)) consequence: (_) @in (#match? @lane \"^(threadIdx[.]x|tid|t|lane)$\") "
             "(#eq? @zero \"0\")) @at",
             C_UNIT_LOOP, "(subscript_expression argument: (identifier) @array indices: (subscript_argument_list) @in)",
             "((identifier) @in (#eq? @in \"$k\"))"},
        // The few partial results of the warps are another matter.
        .lacks = {{1,
                   "(declaration (type_qualifier) @shared declarator: (array_declarator declarator: (identifier) "
                   "@name) (#eq? @shared \"__shared__\") (#eq? @name \"$array\"))"}},
        .when = {SLOW},
        .weight = 0.7,
        .message = "one thread of the block does a loop over memory while the others wait",
        .evidence = "if ($lane == 0) around the loop over $k in $kernel",
        .change = "share the loop among the threads, and reduce by shuffles or in shared memory",
    },
    {
        .id = "cuda-naive-product",
        .languages = CUDA,
        .cause = KG_CAUSE_AUTHORING,
        .path = {CUDA_KERNEL, C_UNIT_LOOP, MULTIPLY_ADD},
        .lacks = {{0, SHARED_ARRAY}, MATRIX_UNITS},
        .when = {SLOW, PRODUCT, COMPUTE_BOUND},
        .weight = 0.9,
        .message = "the product reads both operands from memory for every multiplication",
        .evidence = "$in in the loop over $k in $kernel, and no shared memory",
        .change = "tiles in shared memory and in registers, and matrix units (wmma, mma.sync) where the dtype has them",
    },
    {
        .id = "cuda-no-matrix-unit",
        .languages = CUDA,
        .cause = KG_CAUSE_AUTHORING,
        .path = {CUDA_KERNEL, C_UNIT_LOOP, MULTIPLY_ADD},
        .has = {{0, SHARED_ARRAY}},
        .lacks = {MATRIX_UNITS},
        .when = {SLOW, PRODUCT, COMPUTE_BOUND, HALF},
        .weight = 0.8,
        .message = "half-precision operands are multiplied one by one: no matrix unit takes part",
        .evidence = "$in in $kernel, and no wmma or mma",
        .change = "nvcuda::wmma fragments of 16 x 16 x 16 or mma.sync, fed from shared memory",
    },
    {
        .id = "cuda-scalar-half",
        .languages = CUDA,
        .cause = KG_CAUSE_TUNING,
        .path = {CUDA_KERNEL,
                 "(call_expression function: (identifier) @f arguments: (argument_list "
                 "(subscript_expression) @element) (#any-of? @f \"__half2float\" \"__bfloat162float\")) @at"},
        .lacks = {{0, WIDE}},
        .when = {SLOW, MEMORY_BOUND, HALF},
        .weight = 0.4,
        .message = "half-precision elements are loaded one by one, two bytes at a time",
        .evidence = "$at in $kernel, and no vector type",
        .change = "load eight at a time through uint4, or two through __half2, where the address is aligned",
    },
    {
        .id = "cuda-scalar-access",
        .languages = CUDA,
        .cause = KG_CAUSE_TUNING,
        .path = {"(function_definition \"__global__\") @at"},
        .lacks = {{0, WIDE}},
        .when = {SLOW, MEMORY_BOUND, {"load_width", '<', 8}},
        .weight = 0.25,
        .message = "each thread moves one element at a time",
        .evidence = "{load_width} bytes a load, and no vector type",
        .change = "float4 (16 bytes) a thread where the address is aligned, and a scalar tail",
    },
    {
        .id = "cuda-atomic-element",
        .languages = CUDA,
        .cause = KG_CAUSE_AUTHORING,
        .path = {CUDA_KERNEL,
                 "(call_expression function: (identifier) @f arguments: (argument_list . (_) @to . "
                 "(subscript_expression argument: (identifier) @from)) (#any-of? @f \"atomicAdd\" "
                 "\"atomicMax\" \"atomicMin\")) @at"},
        .lacks = {{1,
                   "(declaration (type_qualifier) @shared declarator: (array_declarator declarator: (identifier) "
                   "@array) (#eq? @shared \"__shared__\") (#eq? @array \"$from\"))"}},
        .when = {SLOW},
        .weight = 0.6,
        .message = "every element is added by an atomic operation of its own",
        .evidence = "$at in $kernel",
        .change = "add in registers, reduce the block by shuffles, and one atomic operation a block",
    },
    {
        .id = "cuda-bank-conflict",
        .languages = CUDA,
        .cause = KG_CAUSE_AUTHORING,
        .path = {CUDA_KERNEL,
                 "(subscript_expression argument: (subscript_expression argument: (identifier) @tile indices: "
                 "(subscript_argument_list (_) @row)) indices: (subscript_argument_list (_) @column) (#match? @row "
                 "\"^(threadIdx[.]x|tx)$\")) @at @in"},
        .has = {{1,
                 "(declaration (type_qualifier) @shared declarator: (array_declarator declarator: (array_declarator "
                 "declarator: (identifier) @array) size: (_) @width) (#eq? @shared \"__shared__\") (#eq? @array "
                 "\"$tile\") (#match? @width \"^(16|32|64|TILE|TILE_DIM|TILE_SIZE|BLOCK|BLOCK_SIZE)$\"))"}},
        .when = {SLOW},
        .weight = 0.35,
        .message = "the threads of a warp read one column of $tile: all from the same bank, one after the other",
        .evidence = "$at in $kernel",
        .change = "pad the rows by one element: [32][33]",
    },
    {
        .id = "cuda-barrier-tree",
        .languages = CUDA,
        .cause = KG_CAUSE_TUNING,
        .path = {CUDA_KERNEL,
                 "(for_statement update: (assignment_expression operator: [\">>=\" \"/=\"]) body: (_) @in) @at",
                 "(call_expression function: (identifier) @f (#eq? @f \"__syncthreads\")) @in"},
        .lacks = {{0, "((identifier) @shuffle (#match? @shuffle \"__shfl|reduce_add_sync|cg\"))"}},
        .when = {SLOW, MEMORY_BOUND},
        .weight = 0.2,
        .message = "the block's reduction has a barrier at every step",
        .evidence = "__syncthreads() in the halving loop of $kernel",
        .change = "__shfl_down_sync inside each warp, and one barrier between the warps",
    },
    {
        .id = "cuda-double-literal",
        .languages = CUDA,
        .cause = KG_CAUSE_AUTHORING,
        .path = {CUDA_KERNEL,
                 "(binary_expression (number_literal) @literal (#match? @literal "
                 "\"^[0-9]*[.][0-9]*(e[-+]?[0-9]+)?$\")) @at"},
        .lacks = {{1, "((primitive_type) @double (#eq? @double \"double\"))"},
                  {1, "((type_identifier) @wide (#match? @wide \"^(T|A|acc_t|scalar_t)$\"))"},
                  {1, "((identifier) @helper (#match? @helper \"^kg_(get|put)\"))"}},
        .when = {SLOW, {"bits", '<', 64}},
        .weight = 0.3,
        .message = "a literal without f makes the arithmetic around it double",
        .evidence = "$at in $kernel",
        .change = "$literal as a float: write the f behind it",
    },
    {
        .id = "cuda-power",
        .languages = CUDA,
        .cause = KG_CAUSE_AUTHORING,
        .path =
            {CUDA_KERNEL,
             "(call_expression function: (_) @f arguments: (argument_list . (_) @base . (number_literal) @exponent .) "
             "(#match? @f \"^(std::)?powf?$\") (#match? @exponent \"^(2|3|4|0?[.]5|2[.]0?|3[.]0?)f?$\")) @at"},
        .when = {SLOW},
        .weight = 0.2,
        .message =
            "a power with a small fixed exponent costs a logarithm and an exponential, in double with an integer",
        .evidence = "$at in $kernel",
        .change = "multiply $base by itself, or sqrtf",
    },
    {
        .id = "cuda-division-an-element",
        .languages = CUDA,
        .cause = KG_CAUSE_AUTHORING,
        .path = {CUDA_KERNEL,
                 "(binary_expression left: (identifier) @i operator: [\"/\" \"%\"] right: (identifier) @by) @at @in"},
        .has = {{1, THREAD_INDEX("$i")}},
        .when = {SLOW, MEMORY_BOUND},
        .weight = 0.2,
        .message = "every element's index is taken apart by integer divisions",
        .evidence = "$at in $kernel",
        .change = "give rows and columns their own grid axes, or treat contiguous tensors as one flat range",
    },
};

KG_TABLE(kg_rules_cuda);
