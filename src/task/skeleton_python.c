// A kernel to start from, in Python: the library's own function under the task's signature, or for functions of one
// element a small Triton or TileLang kernel. Which of the two it is, its head says.
#include <stdlib.h>
#include <string.h>

#include "task/families.h"
#include "task/skeleton.h"

static bool python_gets(const kg_param *p) {
    return !p->native_only && p->role != KG_STATE && !(p->listed && p->optional);
}

static void add_default(kg_text *out, const kg_param *p) {
    if ((p->nullable && !p->has_default) || p->kind == KG_P_FLOATS) kg_text_add(out, "=None");
    else if (p->kind == KG_P_STR) kg_text_add(out, "='%s'", p->text ? p->text : "");
    else if (p->kind == KG_P_BOOL) kg_text_add(out, "=%s", p->number != 0 ? "True" : "False");
    else kg_text_add(out, "=%.17g", p->number);
}

static bool by_keyword(const kg_param *p) { return p->keyword || p->optional; }

// "def softmax(input, dim, *, dtype=None):"
static void add_def(kg_text *out, const kg_task *t) {
    const char *comma = "";
    kg_text_add(out, "def %s(", t->name);
    for (const kg_param *p = t->params; p->name; p++)
        if (python_gets(p) && !by_keyword(p)) kg_text_add(out, "%s%s", comma, p->name), comma = ", ";
    bool star = false;
    for (const kg_param *p = t->params; p->name; p++) {
        if (!python_gets(p) || !by_keyword(p)) continue;
        kg_text_add(out, "%s%s%s", comma, star ? "" : "*, ", p->name);
        star = true;
        comma = ", ";
        if (p->optional) add_default(out, p);
    }
    kg_text_add(out, "):\n");
}

// Passes on what was given: a None means the default.
static void add_call(kg_text *out, const kg_task *t) {
    kg_text_add(out, "    given = dict(");
    const char *comma = "";
    for (const kg_param *p = t->params; p->name; p++)
        if (python_gets(p) && by_keyword(p)) kg_text_add(out, "%s%s=%s", comma, p->name, p->name), comma = ", ";
    kg_text_add(out, ")\n    return library(");
    for (const kg_param *p = t->params; p->name; p++)
        if (python_gets(p) && !by_keyword(p)) kg_text_add(out, "%s, ", p->name);
    kg_text_add(out, "**{k: v for k, v in given.items() if v is not None})\n");
}

static void add_head(kg_text *out, const kg_task *t, const char *what) {
    char *label = kg_task_label(t);
    kg_text_add(out, "# kgate: task=%s\n#\n# %s\n# %s\n#\n# %s\n", label, t->signature, t->summary, what);
    free(label);
}

static int plain_torch(kg_text *out, const kg_task *t, const char *what, kg_error *err) {
    if (!t->torch_baseline)
        return kg_fail(err, KG_ERR_CANNOT, "task %s has no Python skeleton: no library has it; use c or cuda", t->name);
    add_head(out, t, what);
    kg_text_add(out, "import torch\nimport torch.nn.functional as F\n\n");
    if (t->convention == KG_CALL_OPTIMIZER) {
        kg_text_add(out, "%s = %s\n", t->name, t->torch_baseline);
        return 0;
    }
    kg_text_add(out, "library = %s\n\n\n", t->torch_baseline);
    add_def(out, t);
    add_call(out, t);
    return 0;
}

int kg_python_skeleton(kg_text *out, const kg_task *t, kg_error *err) {
    return plain_torch(out, t, "A start: a Python callable on PyTorch, right, and no faster than the library.", err);
}

static bool has_param(const kg_task *t, const char *name) {
    for (const kg_param *p = t->params; p->name; p++)
        if (strcmp(p->name, name) == 0) return true;
    return false;
}

// The callable: `launch` fills `result` from x, both contiguous.
static void add_result(kg_text *out, const kg_task *t, const char *launch) {
    add_def(out, t);
    kg_text_add(out, "    x = input.contiguous()\n");
    kg_text_add(out,
                t->infer == kg_infer_same
                    ? "    result = torch.empty_like(x)\n"
                    : "    result = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)\n");
    kg_text_add(out, "    if x.numel():\n        %s\n", launch);
    if (has_param(t, "inplace")) kg_text_add(out, "    if inplace:\n        return input.copy_(result)\n");
    if (has_param(t, "out")) kg_text_add(out, "    if out is not None:\n        return out.copy_(result)\n");
    kg_text_add(out, "    return result\n");
}

static void triton_elementwise(kg_text *out, const kg_task *t) {
    add_head(out, t, "A start: a Triton kernel, right, and slow where the input is not contiguous.");
    kg_text_add(out, "import torch\nimport triton\nimport triton.language as tl\n%s\n\n",
                strstr(t->triton_expr, "libdevice") ? "from triton.language.extra import libdevice\n" : "");
    kg_text_add(out,
                "@triton.jit\n"
                "def _kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):\n"
                "    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)\n"
                "    x = tl.load(x_ptr + at, mask=at < n)\n"
                "    x = x.to(tl.float32 if x.dtype in (tl.float16, tl.bfloat16, tl.float32) else tl.float64)\n"
                "    tl.store(out_ptr + at, (%s).to(out_ptr.dtype.element_ty), mask=at < n)\n\n\n",
                t->triton_expr);
    add_result(out, t, "_kernel[(triton.cdiv(x.numel(), 256),)](x, result, x.numel(), BLOCK=256)");
}

// The expression in TileLang's names: T.exp for tl.exp, T.if_then_else for tl.where.
static void add_tilelang_expr(kg_text *out, const char *expr) {
    static const char *const names[][2] = {
        {"tl.where(", "T.if_then_else("}, {"tl.", "T."}, {"libdevice.", "T."}, {"", NULL}};
    while (*expr) {
        size_t i = 0;
        while (strncmp(expr, names[i][0], strlen(names[i][0])) != 0) i++;
        if (names[i][1]) kg_text_add(out, "%s", names[i][1]);
        else kg_text_add_bytes(out, expr, 1);
        expr += names[i][1] ? strlen(names[i][0]) : 1;
    }
}

// One element a thread, bounds checked for each: that keeps TileLang from moving several at once.
static void tilelang_elementwise(kg_text *out, const kg_task *t) {
    add_head(out, t, "A start: a TileLang kernel, right, and slow: one element a thread.");
    kg_text_add(out,
                "import functools\n\n"
                "import tilelang\n"
                "import tilelang.language as T\n"
                "import torch\n\n\n"
                "@functools.cache\n"
                "def _kernel(dtype, result):\n"
                "    # n is symbolic: one compilation serves every size.\n"
                "    n = T.dynamic(\"n\")\n"
                "    wide = \"float32\" if dtype in (\"float16\", \"bfloat16\", \"float32\") else \"float64\"\n\n"
                "    @T.prim_func\n"
                "    def main(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), result)):\n"
                "        with T.Kernel(T.ceildiv(n, 256), threads=256) as block:\n"
                "            for i in T.Parallel(256):\n"
                "                if block * 256 + i < n:\n"
                "                    x = T.cast(X[block * 256 + i], wide)\n"
                "                    Y[block * 256 + i] = T.cast(");
    add_tilelang_expr(out, t->triton_expr);
    kg_text_add(out,
                ", result)\n\n"
                "    return tilelang.compile(main)\n\n\n"
                "def _name(dtype):\n"
                "    return str(dtype).removeprefix(\"torch.\")\n\n\n");
    add_result(out, t, "_kernel(_name(x.dtype), _name(result.dtype))(x.view(-1), result.view(-1))");
}

// Not one element from one element: the plain form, to be replaced piece by piece.
int kg_triton_skeleton(kg_text *out, const kg_task *t, kg_error *err) {
    if (t->triton_expr) {
        triton_elementwise(out, t);
        return 0;
    }
    return plain_torch(
        out, t,
        "A start, and no Triton kernel yet: a Python callable on PyTorch. Replace the library's call by a "
        "Triton\n# kernel (`import triton`, `import triton.language as tl`); until then kgate calls its "
        "language python.",
        err);
}

int kg_tilelang_skeleton(kg_text *out, const kg_task *t, kg_error *err) {
    if (t->triton_expr) {
        tilelang_elementwise(out, t);
        return 0;
    }
    return plain_torch(
        out, t,
        "A start, and no TileLang kernel yet: a Python callable on PyTorch. Replace the library's call by a "
        "TileLang\n# kernel (`import tilelang`, `import tilelang.language as T`); until then kgate calls its "
        "language python.",
        err);
}
