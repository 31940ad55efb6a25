// C: how kernels are written, as far as the source tells.
#include "diagnose/rules.h"

#define C KG_IN(KG_LANG_C)
#define INNERMOST \
    { 1, "(for_statement)" }
#define POLYNOMIAL "a polynomial written out in the loop, as examples/c/softmax_fast.c has it for exp"
// What computes a number of many from one in the C library, with a call.
#define FUNCTIONS                                                                                                \
    "exp|exp2|expm1|log|log2|log10|log1p|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|asinh|acosh|atanh|erf|" \
    "erfc|tgamma|lgamma|pow|cbrt|hypot|fmod|remainder"

static const kg_rule rules[] = {
    {
        .id = "c-no-threads",
        .languages = C,
        .cause = KG_CAUSE_AUTHORING,
        .path =
            {"(function_definition . type: (_) declarator: (function_declarator declarator: (identifier) @kernel) "
             "body: (compound_statement [(for_statement) @at (if_statement [(for_statement) @at (compound_statement "
             "(for_statement) @at) (else_clause [(for_statement) @at (compound_statement (for_statement) @at)])])]) "
             "@in)"},
        .lacks = {{0, "((preproc_call argument: (preproc_arg) @pragma) (#match? @pragma \"^ *omp\"))"},
                  {0, "((identifier) @threads (#match? @threads \"pthread_create|thrd_create|_Pragma\"))"}},
        .when = {SLOW},
        .explains = "one_core_share",
        .weight = 0.4,
        .message = "one core does all the work",
        .evidence = "the loop of $kernel, and no #pragma omp in the file",
        .change = "#pragma omp parallel for over rows, or over blocks of elements",
    },
    {
        .id = "c-generic-access",
        .languages = C,
        .cause = KG_CAUSE_AUTHORING,
        .path = {"(for_statement body: (_) @in)", C_CALL_AT("kg_get|kg_put|kg_get_at|kg_put_at")},
        // A file with a plain loop beside it uses this one for what is rare.
        .lacks =
            {{1, "(for_statement)"},
             {0,
              "((declaration type: (primitive_type) @type declarator: (init_declarator declarator: "
              "(pointer_declarator))) (#eq? @type \"float\")) ((parameter_declaration type: (primitive_type) @type "
              "declarator: (pointer_declarator)) (#eq? @type \"float\"))"}},
        .when = {SLOW},
        .weight = 0.6,
        .message = "every element goes through $f, which asks for its dtype again and keeps the loop from vectors",
        .evidence = "$at in the innermost loop",
        .change = "ask once, before the loop: a plain loop over float * where the data is contiguous float32",
    },
    {
        .id = "c-column-inner",
        .languages = C,
        .cause = KG_CAUSE_AUTHORING,
        .path = {C_UNIT_LOOP,
                 "(subscript_expression indices: (subscript_argument_list (binary_expression left: (binary_expression "
                 "left: (identifier) @row operator: \"*\" right: [(identifier) (number_literal)] @by) operator: \"+\" "
                 "right: (_) @rest)) (#eq? @row \"$k\") (#not-eq? @rest @row) (#not-match? @by "
                 "\"stride|step|inc|_s$|^[A-Z][A-Z_0-9]+$|^[0-9][0-9]?$\")) @in"},
        .lacks = {INNERMOST},
        .when = {SLOW},
        .weight = 0.7,
        .message = "the inner loop goes down a column: each turn needs a cache line of its own",
        .evidence = "$in in the loop over $k",
        .change = "exchange the loops, so that the inner one walks along a row; or work in blocks",
    },
    {
        .id = "c-one-chain",
        .languages = C,
        .cause = KG_CAUSE_AUTHORING,
        .path =
            {C_UNIT_LOOP,
             "(assignment_expression left: (identifier) @sum operator: \"+=\" right: (_) @term (#match? @term \"[[]\") "
             "(#not-match? @term \"kg_|stride|shape|%\")) @in"},
        .has =
            {{0,
              "((declaration type: (primitive_type) @type declarator: [(init_declarator declarator: (identifier) @s) "
              "(identifier) @s]) (#match? @type \"^(float|double)$\") (#eq? @s \"$sum\"))"}},
        .lacks = {INNERMOST,
                  {0, "((preproc_call argument: (preproc_arg) @pragma) (#match? @pragma \"simd\"))"},
                  {1,
                   "(assignment_expression left: (identifier) @other operator: \"+=\" right: (_) @more (#match? @more "
                   "\"[[]\") (#not-eq? @other \"$sum\"))"}},
        .when = {SLOW},
        .weight = 0.5,
        .message = "$sum is one chain of additions: each waits for the last, and the order keeps the loop from vectors",
        .evidence = "$in in the loop over $k, and no omp simd",
        .change = "#pragma omp simd reduction(+ : $sum), or eight partial sums",
    },
    {
        .id = "c-allocates-in-loop",
        .languages = C,
        .cause = KG_CAUSE_AUTHORING,
        .path = {"(for_statement body: (_) @in)", C_CALL_AT("malloc|calloc|realloc|aligned_alloc")},
        .when = {SLOW},
        .weight = 0.3,
        .message = "memory is allocated in every turn of a loop",
        .evidence = "$at",
        .change = "allocate once before the loop, one buffer a thread",
    },
    {
        .id = "c-power",
        .languages = C,
        .cause = KG_CAUSE_AUTHORING,
        .path = {"(for_statement body: (_) @in)",
                 "(call_expression function: (identifier) @f arguments: (argument_list . (_) @base . (number_literal) "
                 "@exponent .) (#match? @f \"^powf?$\") (#match? @exponent "
                 "\"^(2|3|4|0?[.]5|2[.]0?|3[.]0?)f?$\")) @at"},
        .when = {SLOW},
        .weight = 0.4,
        .message = "a call of $f with a small fixed exponent, for every element",
        .evidence = "$at",
        .change = "multiply $base by itself, or sqrtf",
    },
    {
        // Where nothing else is double, the precision was not meant.
        .id = "c-double-function",
        .languages = C,
        .cause = KG_CAUSE_AUTHORING,
        .path = {"(for_statement body: (_) @in)",
                 "(call_expression function: (identifier) @f arguments: (_) @given (#match? @f \"^(" FUNCTIONS
                 "|sqrt)$\") (#not-match? @given \"kg_\")) @at"},
        .has = {{0, "((primitive_type) @float (#eq? @float \"float\"))"}},
        .lacks =
            {{0,
              "([(declaration type: (primitive_type) @double declarator: [(identifier) (pointer_declarator) "
              "(array_declarator)]) (parameter_declaration type: (primitive_type) @double)] (#eq? @double \"double\"))"},
             {0,
              "((declaration type: (primitive_type) @double declarator: (init_declarator value: (_) @value)) (#eq? "
              "@double \"double\") (#not-match? @value \"kg_get\"))"}},
        .when = {SLOW, {"bits", '<', 64}},
        .weight = 0.35,
        .message = "$f computes in double for float values",
        .evidence = "$at, and nothing else in the file is double",
        .change = "$f with an f behind its name",
    },
    {
        .id = "c-library-calls",
        .languages = C,
        .cause = KG_CAUSE_AUTHORING,
        .path = {C_CALL_AT("(" FUNCTIONS ")f?")},
        .hot = 0.5,
        .when = {SLOW, {"math_share", '>', 0.2}},
        .weight = 0.7,
        .message = "$f of the C library is called for every element, and a loop with calls is no loop over vectors",
        .evidence = "$at; the library has {math_share} of its work's samples",
        .change = POLYNOMIAL,
    },
    {
        // Through a macro, a pointer, or a function whose call of it was made a jump.
        .id = "c-library-time",
        .languages = C,
        .cause = KG_CAUSE_AUTHORING,
        .unless = "c-library-calls",
        .when = {SLOW, {"math_share", '>', 0.4}},
        .weight = 0.7,
        .message =
            "the C library's mathematics takes the time, one number a call: a loop with calls is none over vectors",
        .evidence = "the library has {math_share} of its work's samples",
        .change = POLYNOMIAL,
    },
    {
        .id = "c-scalar-loop",
        .languages = C,
        .cause = KG_CAUSE_AUTHORING,
        .path = {"(for_statement body: (_) @in) @at"},
        // Those have a cause of their own.
        .lacks = {INNERMOST,
                  {1, "((identifier) @access (#match? @access \"^kg_(get|put)\"))"},
                  {1, "(assignment_expression left: (identifier) operator: \"+=\")"}},
        .hot = 0.5,
        .unless = "c-library-calls",
        .when = {SLOW, {"scalar_share", '>', 0.15}, {"vector_share", '<', 0.03}, {"math_share", '<', 0.4}},
        .weight = 0.7,
        .message = "the compiler made no vectors of the loop: it computes one number at a time",
        .evidence =
            "scalar float instructions have {scalar_share} of its work's samples, those on vectors {vector_share}",
        .change =
            "gcc -O3 -march=native -fopt-info-vec-missed says what is in the way: branches and early exits in the "
            "body, strides, pointers that may overlap; then #pragma omp simd",
    },
    {
        .id = "c-index-division",
        .languages = C,
        .cause = KG_CAUSE_AUTHORING,
        .path = {C_UNIT_LOOP, "(subscript_expression indices: (subscript_argument_list (_) @in))",
                 "(binary_expression left: (identifier) @i operator: [\"/\" \"%\"] right: (_) @by (#eq? @i \"$k\") "
                 "(#not-match? @by \"^(2|4|8|16|32|64)$\")) @in"},
        .when = {SLOW},
        .weight = 0.4,
        .message = "the index of every element is found by a division",
        .evidence = "$in in the loop over $k",
        .change = "nested loops over the dimensions, whose indices count by themselves",
    },
    {
        .id = "c-dynamic-turns",
        .languages = C,
        .cause = KG_CAUSE_AUTHORING,
        .path = {"((preproc_call argument: (preproc_arg) @pragma) . (for_statement body: (_) @in) @at (#match? @pragma "
                 "\"^ *omp .*schedule *[(] *dynamic *(, *[1-8] *)?[)]\"))"},
        .lacks = {{1, "(for_statement)"}, {1, "(while_statement)"}, {1, "(do_statement)"}, {1, "(call_expression)"}},
        .when = {SLOW},
        .weight = 0.8,
        .message = "threads ask for each turn of a loop whose turns are a few instructions",
        .evidence = "#pragma $pragma",
        .change = "schedule(static), or turns that are blocks of a thousand elements",
    },
    {
        .id = "c-critical",
        .languages = C,
        .cause = KG_CAUSE_AUTHORING,
        .path = {"(for_statement body: (compound_statement) @in)",
                 "(preproc_call argument: (preproc_arg) @pragma (#match? @pragma \"^ *omp +(critical|atomic)\")) @at"},
        .when = {SLOW},
        .weight = 0.5,
        .message = "threads take turns at one variable in every turn of the loop",
        .evidence = "#pragma $pragma",
        .change = "reduction(+ : ...) on the parallel loop, or a partial result a thread",
    },
};

KG_TABLE(kg_rules_c);
