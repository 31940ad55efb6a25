// CUDA C++: launches, and what the host does around them.
#include "diagnose/rules.h"

#define CUDA KG_IN(KG_LANG_CUDA)

static const kg_rule rules[] = {
    {
        .id = "cuda-waits-in-call",
        .languages = CUDA,
        .cause = KG_CAUSE_AUTHORING,
        .path = {C_CALL_AT("cudaDeviceSynchronize|cudaStreamSynchronize|cudaEventSynchronize|cudaMemcpy")},
        .when = {SLOW},
        .explains = "host_share",
        .weight = 0.3,
        .message = "the host waits for the device inside the call",
        .evidence = "$at",
        .change = "leave it out: the caller synchronises when it needs the result",
    },
    {
        .id = "cuda-allocates-in-call",
        .languages = CUDA,
        .cause = KG_CAUSE_AUTHORING,
        .path = {C_CALL_AT("cudaMalloc|cudaFree|cudaMallocHost|cudaHostAlloc|cudaMallocManaged")},
        .lacks = {{0,
                   "(if_statement condition: (condition_clause value: [(unary_expression) (binary_expression)]) "
                   "consequence: (_) @body (#match? @body \"cudaMalloc[(]\"))"},
                  {0, "((storage_class_specifier) @static (#eq? @static \"static\") . (_) . (pointer_declarator))"}},
        .when = {SLOW},
        .explains = "host_share",
        .weight = 0.4,
        .message = "each call allocates or frees device memory, which stops the device",
        .evidence = "$at",
        .change = "allocate once and keep it, or cudaMallocAsync on the stream",
    },
    {
        .id = "cuda-one-block",
        .languages = CUDA,
        .cause = KG_CAUSE_AUTHORING,
        .path = {"(call_expression function: (_) @launched (kernel_call_syntax . (number_literal) @one (#eq? @one "
                 "\"1\"))) @at"},
        .lacks = {{0, "(kernel_call_syntax . (_) @grid (#not-eq? @grid \"1\"))"}},
        .when = {SLOW},
        .weight = 0.9,
        .message = "$launched runs as one block: one multiprocessor works and the others wait",
        .evidence = "$at, and no other launch",
        .change = "spread the elements over a grid of blocks, a few for every multiprocessor",
    },
    {
        .id = "cuda-one-thread",
        .languages = CUDA,
        .cause = KG_CAUSE_AUTHORING,
        .path = {"(call_expression function: (_) @launched (kernel_call_syntax . (_) . (number_literal) @one (#match? "
                 "@one \"^([1-9]|1[0-6])$\"))) @at"},
        .lacks = {{0, "(kernel_call_syntax . (_) . (_) @block (#not-match? @block \"^([1-9]|1[0-6])$\"))"}},
        .when = {SLOW},
        .weight = 0.9,
        .message = "most lanes of each warp have no work: $one threads a block",
        .evidence = "$at",
        .change = "blocks of 128 to 256 threads that share a row or a range of elements",
    },
    {
        .id = "cuda-small-block",
        .languages = CUDA,
        .cause = KG_CAUSE_TUNING,
        .path = {"(call_expression function: (_) @launched (kernel_call_syntax . (_) . (number_literal) @size (#match? "
                 "@size \"^(32|64)$\"))) @at"},
        .lacks = {{0, "(kernel_call_syntax . (_) . (_) @block (#not-match? @block \"^(32|64)$\"))"}},
        .when = {SLOW},
        .weight = 0.25,
        .message = "blocks of $size threads: a multiprocessor holds few of them, and so few loads are under way",
        .evidence = "$at",
        .change = "blocks of 128 to 256 threads",
    },
    {
        .id = "cuda-launch-in-loop",
        .languages = CUDA,
        .cause = KG_CAUSE_AUTHORING,
        .path =
            {"(for_statement condition: (_) @until update: (update_expression argument: (identifier) @k) body: (_) @in "
             "(#match? @until \"rows|batch|ROWS|BATCH|shape|[<] *[nmbNMB]$|kg_dim\")) @at",
             "(call_expression function: (_) @launched (kernel_call_syntax)) @in"},
        .when = {SLOW},
        .weight = 0.7,
        .message = "$launched is launched once for every $k",
        .evidence = "for (...; $until; ...) around the launch",
        .change = "one launch for all of them: give $k an axis of the grid",
    },
    {
        .id = "cuda-several-launches",
        .languages = CUDA,
        .cause = KG_CAUSE_AUTHORING,
        .path =
            {"(compound_statement (expression_statement (call_expression function: (_) @first (kernel_call_syntax))) "
             "(expression_statement (call_expression function: (_) @second (kernel_call_syntax))) "
             "(expression_statement (call_expression function: (_) @third (kernel_call_syntax))) @at) @in"},
        .when = {SLOW, MEMORY_BOUND},
        .weight = 0.35,
        .message = "one call launches three kernels or more, and each reads from memory what the one before wrote",
        .evidence = "$first, $second and $third",
        .change = "fuse the passes over the same elements into one kernel",
    },
    {
        .id = "cuda-library-in-disguise",
        .languages = CUDA,
        .cause = KG_CAUSE_HAZARD,
        .path = {C_CALL_AT("cublas.*([Gg]emm|gemv|Matmul).*|cudnn.*(Forward|Backward).*|"
                           "cufftExec.*|cusolver.*")},
        .message = "a library call does part of the work, and its speed is counted as this kernel's",
        .evidence = "$f",
        .change = "do it in the kernel, or judge the library as what it is",
    },
    {
        .id = "cuda-narrow-offsets",
        .languages = CUDA,
        .cause = KG_CAUSE_HAZARD,
        .path =
            {CUDA_KERNEL,
             "(declaration type: (_) @type declarator: (init_declarator declarator: (identifier) @i value: (_) @from) "
             "(#match? @type \"^(int|unsigned|unsigned int|int32_t|uint32_t)$\") (#match? @from "
             "\"^(blockIdx[.][xyz] *[*] *blockDim[.][xyz] *[+] *threadIdx[.][xyz]|threadIdx[.][xyz] *[+] "
             "*blockIdx[.][xyz] *[*] *blockDim[.][xyz]|blockIdx[.][xyz])$\")) @at",
             "(init_declarator) @in"},
        .has = {{1,
                 "(subscript_expression indices: (subscript_argument_list (binary_expression left: (binary_expression "
                 "left: (identifier) @row operator: \"*\" right: (identifier)) operator: \"+\")) (#eq? @row \"$i\"))"}},
        .lacks = {{1, "(parameter_declaration type: (_) @wide (#match? @wide \"64_t|size_t|long\"))"}},
        .message =
            "offsets are computed in 32 bits: past 2^31 elements they wrap, and other memory is read and written",
        .evidence = "$type $i, multiplied in $kernel",
        .change = "const int64_t $i = ...",
    },
};

KG_TABLE(kg_rules_cuda_launch);
