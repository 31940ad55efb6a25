// What any Python candidate does around its kernels, on the host.
#include "diagnose/rules.h"

#define PYTHON     (KG_IN(KG_LANG_TRITON) | KG_IN(KG_LANG_TILELANG) | KG_IN(KG_LANG_PYTHON))
#define KERNELS    (KG_IN(KG_LANG_TRITON) | KG_IN(KG_LANG_TILELANG))
#define ANY_KERNEL "((decorator (_) @d) (#match? @d \"(^|[.])jit|prim_func\"))"
// A statement that every call runs: not one under an if, where another path may be the usual one.
#define ALWAYS                                                                                                                \
    "(function_definition name: (identifier) @host body: (block [(expression_statement) (return_statement)] @in) " NOT_A_TEST \
    ")"
// torch.NAME(...), F.NAME(...)
#define LIBRARY_CALL(names)                                                                          \
    "(call function: (attribute object: (_) @library attribute: (identifier) @f) (#match? @library " \
    "\"^(torch|F|torch[.](nn[.]functional|linalg|special))$\") (#match? @f \"^(" names ")$\")) @at"
// x.NAME(...)
#define METHOD(names)                                                                                                 \
    "(call function: (attribute object: (_) @what attribute: (identifier) @f) arguments: (argument_list) @arguments " \
    "(#match? @f \"^(" names ")$\") (#not-match? @what \"^(torch|F|T|tl)$\")) @at"

static const kg_rule rules[] = {
    {
        .id = "host-waits",
        .languages = PYTHON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {HOST_FUNCTION,
                 "(call function: (attribute attribute: (identifier) @f) arguments: (argument_list) "
                 "(#any-of? @f \"synchronize\" \"item\" \"tolist\" \"cpu\" \"numpy\")) @at"},
        .when = {SLOW},
        .explains = "host_share",
        .weight = 0.3,
        .message = "the host waits for the device inside the call",
        .evidence = "$at",
        .change = "keep what the kernel needs on the device; let the caller synchronise",
    },
    {
        .id = "library-in-disguise",
        .languages = KERNELS,
        .cause = KG_CAUSE_HAZARD,
        .path =
            {ALWAYS,
             "((call function: (attribute object: (_) @library attribute: (identifier) @f) (#match? @library "
             "\"^(torch|F|torch[.](nn[.]functional|linalg|special))$\") (#match? @f "
             "\"^(matmul|mm|bmm|mv|addmm|baddbmm|einsum|linear|conv[123]d|softmax|log_softmax|(layer|rms|group|batch|"
             "instance)_norm|cross_entropy|nll_loss|scaled_dot_product_attention|logsumexp|argmax|argmin|sort|"
             "topk|qr|svd|svdvals|pinv|inv|solve|solve_triangular|cholesky|cholesky_solve|eig|eigvals|eigvalsh|eigh|lu|"
             "lu_factor|lu_solve|ldl_factor|det|slogdet|lstsq|fftn?|embedding|index_select|gelu|silu|conv_transpose[123]d|"
             "(adaptive_)?(avg|max)_pool[123]d|interpolate|grid_sample)$\")) @at) ((binary_operator operator: \"@\") @at)"},
        .has = {{0, ANY_KERNEL}},
        .message = "a library call does part of the work, and its speed is counted as this kernel's",
        .evidence = "$at in $host",
        .change = "do it in the kernel, or judge the library as what it is",
    },
    {
        .id = "converted-outside",
        .languages = KERNELS,
        .cause = KG_CAUSE_AUTHORING,
        .path =
            {HOST_FUNCTION,
             "((call function: (attribute object: (_) @what attribute: (identifier) @f) arguments: (argument_list) "
             "@none (#eq? @f \"float\") (#eq? @none \"()\")) @at (#not-match? @what \"mean|var|bias|scale|gamma|beta|loss\")) ((call function: (attribute object: (_) @what "
             "attribute: (identifier) @f) arguments: (argument_list (attribute) @dtype) (#any-of? @f \"to\" \"type\") "
             "(#eq? @dtype \"torch.float32\")) @at (#not-match? @what \"mean|var|bias|scale|gamma|beta|loss\")) ((call "
             "function: (attribute object: (_) @what attribute: (identifier) @f) arguments: (argument_list "
             "(conditional_expression) @dtype) (#eq? @f \"to\") (#match? @dtype \"torch[.]float32\")) @at (#not-match? "
             "@what \"mean|var|bias|scale|gamma|beta|loss\"))"},
        .has = {{0, ANY_KERNEL}},
        .when = {SLOW, HALF},
        .explains = "recast_share",
        .weight = 0.6,
        .message = "$what is converted to float32 by a pass of its own before the kernel runs",
        .evidence = "$at on {bits}-bit data: every element is read, written twice as wide and read again",
        .change = "load the half-precision data in the kernel and convert in registers",
    },
    {
        .id = "converted-by-name",
        .languages = KERNELS,
        .cause = KG_CAUSE_AUTHORING,
        .path = {HOST_FUNCTION,
                 "((call function: (attribute object: (_) @what attribute: (identifier) @f) arguments: (argument_list "
                 "(identifier) @dtype)) @at @in (#eq? @f \"to\") (#not-match? @what "
                 "\"mean|var|bias|scale|gamma|beta|loss|weight|^out|result|^y$\"))"},
        .has = {{0, ANY_KERNEL},
                {1,
                 "((assignment left: (identifier) @name right: (_) @value) (#eq? @name \"$dtype\") (#match? @value "
                 "\"torch[.]float32\"))"}},
        .when = {SLOW, HALF},
        .explains = "recast_share",
        .weight = 0.6,
        .message = "$what is converted to float32 by a pass of its own before the kernel runs",
        .evidence = "$at, where $dtype may be torch.float32, on {bits}-bit data",
        .change = "load the half-precision data in the kernel and convert in registers",
    },
    {
        // Only where something is float32 on the host: else this conversion is none.
        .id = "converted-back",
        .languages = KERNELS,
        .cause = KG_CAUSE_AUTHORING,
        .path =
            {HOST_FUNCTION,
             "((return_statement (call function: (attribute object: (_) @what attribute: (identifier) @f) arguments: "
             "(argument_list [(attribute) (identifier)] @dtype)) @at) @in (#any-of? @f \"to\" \"type\") (#match? @dtype "
             "\"dtype|float16|bfloat16\")) ((return_statement (call function: (attribute object: (_) @what attribute: "
             "(identifier) @f)) @at) @in (#any-of? @f \"half\" \"bfloat16\"))"},
        .has = {{0, ANY_KERNEL},
                {0,
                 "((call function: (attribute attribute: (identifier) @f) arguments: (argument_list) @none) (#eq? @f "
                 "\"float\") (#eq? @none \"()\")) ((attribute) @single (#eq? @single \"torch.float32\"))"}},
        .when = {SLOW, HALF},
        .explains = "recast_share",
        .weight = 0.4,
        .message = "the result $what is converted by a pass of its own after the kernel",
        .evidence = "$in",
        .change = "allocate the output in its own dtype and convert where it is stored",
    },
    {
        .id = "launch-in-loop",
        .languages = KERNELS,
        .cause = KG_CAUSE_AUTHORING,
        .path = {HOST_FUNCTION,
                 "(for_statement left: (_) @i right: (call function: (identifier) @range arguments: (argument_list) "
                 "@bounds) body: (block) @in (#eq? @range \"range\") (#match? @bounds "
                 "\"shape|size|batch|BATCH|rows|ROWS|heads|^[(][BMNnb][)]$\")) @at",
                 "(call function: (subscript value: (identifier) @launched)) @in"},
        .when = {SLOW},
        .weight = 0.8,
        .message = "$launched is launched once for every $i, from Python",
        .evidence = "for $i in range$bounds in $host",
        .change = "one launch for all of them: give $i an axis of the grid",
    },
    {
        .id = "python-row-loop",
        .languages = PYTHON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {HOST_FUNCTION,
                 "(for_statement left: (identifier) @i right: (call function: (identifier) @range arguments: "
                 "(argument_list) @bounds) body: (block) @in (#eq? @range \"range\") (#match? @bounds "
                 "\"^[(][A-Za-z_0-9.]+[.](shape[[]-?[0-9][]]|size[(]-?[0-9][)])[)]$\")) @at",
                 "(subscript value: (_) @what subscript: (identifier) @index (#eq? @index \"$i\") (#not-match? @what "
                 "\"shape|stride|size|dims|[]]$\")) @in"},
        // A loop of a kernel's own is no loop in Python.
        .lacks = {{2, LAUNCH}, {1, "((attribute object: (identifier) @tl) (#eq? @tl \"tl\"))"}},
        .when = {SLOW},
        .weight = 0.8,
        .message = "a loop in Python goes through $what slice by slice, and each turn launches its own kernels",
        .evidence = "for $i in range$bounds in $host",
        .change = "one operation, or one kernel, over the whole tensor",
    },
    {
        .id = "transposed-copy",
        .languages = PYTHON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {ALWAYS,
                 "(call function: (attribute object: (call function: (attribute attribute: (identifier) @turn)) "
                 "attribute: (identifier) @f) (#any-of? @turn \"t\" \"transpose\" \"swapaxes\") (#any-of? @f "
                 "\"contiguous\" \"clone\")) @at"},
        .when = {SLOW},
        .weight = 0.3,
        .message = "a whole tensor is written again in another order before the kernel runs",
        .evidence = "$at in $host",
        .change = "give the kernel the strides, and let it read the tensor as it lies",
    },
    {
        .id = "clones",
        .languages = KERNELS,
        .cause = KG_CAUSE_AUTHORING,
        .path = {ALWAYS, METHOD("clone")},
        .when = {SLOW, MEMORY_BOUND},
        .weight = 0.4,
        .message = "$what is copied whole, and the kernel then reads the copy",
        .evidence = "$at in $host",
        .change = "read the one tensor and write the other: torch.empty_like, not a copy",
    },
    {
        .id = "concatenates",
        .languages = KERNELS,
        .cause = KG_CAUSE_AUTHORING,
        .path = {ALWAYS, LIBRARY_CALL("cat|stack|concat|concatenate|hstack|vstack")},
        .when = {SLOW, MEMORY_BOUND},
        .weight = 0.3,
        .message = "tensors are joined by a copy of all their elements",
        .evidence = "$at in $host",
        .change = "pass them as they are, or let each kernel write into its part of one output",
    },
    {
        .id = "repeats",
        .languages = KERNELS,
        .cause = KG_CAUSE_AUTHORING,
        .path = {ALWAYS, METHOD("repeat|repeat_interleave|tile")},
        .when = {SLOW, MEMORY_BOUND},
        .weight = 0.35,
        .message = "$what is repeated in memory, and every copy is written and read",
        .evidence = "$at in $host",
        .change = "expand it: a stride of 0, or an index that the kernel divides",
    },
    {
        .id = "padded-copy",
        .languages = KERNELS,
        .cause = KG_CAUSE_AUTHORING,
        .path = {ALWAYS, LIBRARY_CALL("pad")},
        .when = {SLOW},
        .weight = 0.25,
        .message = "a padded copy of a whole tensor is made before the kernel runs",
        .evidence = "$at in $host",
        .change = "mask the edge in the kernel: tl.load(..., mask=inside, other=0)",
    },
    {
        .id = "unfolds",
        .languages = PYTHON,
        .cause = KG_CAUSE_AUTHORING,
        .path =
            {ALWAYS,
             "((call function: (attribute attribute: (identifier) @f) arguments: (argument_list) @arguments "
             "(#any-of? @f \"unfold\" \"im2col\")) @at) ((call function: (identifier) @f (#match? @f "
             "\"^_?(im2col|unfold)$\")) @at) ((call function: (subscript value: (identifier) @f) (#match? @f \"im2col|unfold\")) @at)"},
        .when = {SLOW, PRODUCT},
        .weight = 0.5,
        .message = "every window is written out (im2col): the input, as many times over as the filter has taps",
        .evidence = "$at in $host",
        .change = "an implicit product: compute the windows' addresses in the kernel",
    },
    {
        .id = "zeroes-first",
        .languages = KERNELS,
        .cause = KG_CAUSE_AUTHORING,
        .path = {ALWAYS, LIBRARY_CALL("zeros|zeros_like|full_like")},
        .has = {{0, LAUNCH}},
        .lacks = {{0, PYTHON_CALL("atomic_[a-z]+")}, {0, IDENTIFIER("^(scatter|index_add|index_put|counts?)_?$")}},
        .when = {SLOW, MEMORY_BOUND},
        .weight = 0.2,
        .message = "the output is filled by a pass of its own, and the kernel writes it again",
        .evidence = "$at in $host",
        .change = "torch.empty or torch.empty_like",
    },
    {
        .id = "tensor-from-host",
        .languages = PYTHON,
        .cause = KG_CAUSE_AUTHORING,
        .path = {ALWAYS,
                 "((call function: (_) @f arguments: (argument_list) @arguments (#match? @f "
                 "\"^torch[.](tensor|as_tensor|from_numpy)$\") (#match? @arguments \"device|cuda\")) @at) "
                 "((call function: (attribute attribute: (identifier) @f) (#eq? @f \"cuda\")) @at)"},
        .when = {SLOW},
        .explains = "host_share",
        .weight = 0.2,
        .message = "values go from the host to the device in every call, and the host waits for the copy",
        .evidence = "$at in $host",
        .change = "pass them as arguments of the kernel, or keep the tensor between calls",
    },
    {
        .id = "allocates-scratch",
        .languages = KERNELS,
        .cause = KG_CAUSE_AUTHORING,
        .path =
            {"(function_definition name: (identifier) @host body: (block (expression_statement (assignment left: "
             "(identifier) @first right: (call function: (_) @f))) (expression_statement (assignment left: "
             "(identifier) @second right: (call function: (_) @g))) (expression_statement (assignment left: "
             "(identifier) @third right: (call function: (_) @h))) @at (#match? @f "
             "\"^torch[.](empty|zeros|ones|full)(_like)?$\") (#match? @g \"^torch[.](empty|zeros|ones|full)(_like)?$\") "
             "(#match? @h \"^torch[.](empty|zeros|ones|full)(_like)?$\")) @in)"},
        .when = {SLOW, {"host_share", '>', 0.5}},
        .weight = 0.2,
        .message = "each call allocates three tensors or more, and the host's time counts here",
        .evidence = "$first, $second and $third in $host",
        .change = "allocate the result alone; keep intermediate values in the kernel, or one scratch tensor",
    },
    {
        .id = "eager-chain",
        .languages = KG_IN(KG_LANG_PYTHON),
        .cause = KG_CAUSE_AUTHORING,
        .path =
            {HOST_FUNCTION,
             "(call function: (attribute object: (_) @outer_of attribute: (identifier) @outer) arguments: "
             "(argument_list (_) @in) (#match? @outer_of \"^torch$\") (#match? @outer "
             "\"^(exp|log|sqrt|rsqrt|abs|sigmoid|tanh|erf|sin|cos|relu|clamp|where|maximum|minimum|add|mul|sub|div|pow|"
             "square|neg|sum|mean)$\")) @at",
             "[(call arguments: (argument_list [(call) (binary_operator)])) (binary_operator [(call) "
             "(binary_operator)])] @in"},
        .lacks = {{0, IDENTIFIER("^(compile|script)$")}},
        .when = {SLOW, MEMORY_BOUND},
        .weight = 0.5,
        .message = "a chain of operations, each of which reads and writes the whole tensor",
        .evidence = "$at in $host",
        .change = "fuse the chain: torch.compile, or one kernel",
    },
};

KG_TABLE(kg_rules_python);
