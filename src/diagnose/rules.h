// Pieces that the tables of rules share.
#ifndef KG_DIAGNOSE_RULES_H
#define KG_DIAGNOSE_RULES_H

#include "diagnose/internal.h"

#define KG_TABLE(name) const kg_rule_table name = {rules, sizeof rules / sizeof *rules}

// Conditions: only where a screen failed, by the bound of the size that decides.
#define SLOW \
    { "slow", '=', 1 }
#define MEMORY_BOUND \
    { "memory_bound", '=', 1 }
#define COMPUTE_BOUND \
    { "compute_bound", '=', 1 }
#define PRODUCT \
    { "product", '=', 1 }
#define HALF \
    { "bits", '=', 16 }

// A device function: in Triton what @triton.jit decorates, in TileLang what @T.prim_func does. @in: its body.
#define TRITON_KERNEL                                                                    \
    "(decorated_definition (decorator (_) @decorator) definition: (function_definition " \
    "name: (identifier) @kernel body: (block) @in) (#match? @decorator \"(^|[.])jit\"))"
#define TILELANG_KERNEL                                                                  \
    "(decorated_definition (decorator (_) @decorator) definition: (function_definition " \
    "name: (identifier) @kernel body: (block) @in) (#match? @decorator \"prim_func\"))"
// A call of NAME, or of anything.NAME. @call: all of it, @in: its arguments.
#define PYTHON_CALL(name)                                                                                  \
    "([(call function: (identifier) @function arguments: (argument_list) @in) (call function: (attribute " \
    "attribute: (identifier) @function) arguments: (argument_list) @in)] @call (#match? @function \"^(" name ")$\"))"
// The same, and the finding points at it.
#define PYTHON_CALL_AT(name)                                                                               \
    "([(call function: (identifier) @function arguments: (argument_list) @in) (call function: (attribute " \
    "attribute: (identifier) @function) arguments: (argument_list) @in)] @at (#match? @function \"^(" name ")$\"))"
// What a caller calls, not what tests it. @in: its body.
#define NOT_A_TEST                                                                                                \
    "(#not-match? @host \"(^|_)(test|tests|ref|reference|bench|benchmark|check|main|golden|baseline|eager|prune|" \
    "torch)(_|$)\")"
#define HOST_FUNCTION "(function_definition name: (identifier) @host body: (block) @in " NOT_A_TEST ")"
// kernel[grid](...)
#define LAUNCH              "(call function: (subscript))"
#define IDENTIFIER(pattern) "((identifier) @name (#match? @name \"" pattern "\"))"

// C and CUDA. A device function. @in: its body.
#define CUDA_KERNEL                                                                                                 \
    "(function_definition \"__global__\" declarator: (function_declarator declarator: (identifier) @kernel) body: " \
    "(compound_statement) @in)"
// A function that others may call: what starts with its type, not with static. @in: its body.
#define C_FUNCTION                                                                                               \
    "(function_definition . type: (_) declarator: (function_declarator declarator: (identifier) @kernel) body: " \
    "(compound_statement) @in)"
// for (...; ...; k++). @in: its body.
#define C_UNIT_LOOP      "(for_statement update: (update_expression argument: (identifier) @k) body: (_) @in) @at"
#define C_CALL_AT(names) "(call_expression function: (identifier) @f (#match? @f \"^(" names ")$\")) @at"
#define SHARED_ARRAY     "((type_qualifier) @qualifier (#eq? @qualifier \"__shared__\"))"

#endif
