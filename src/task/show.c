// A task in words: its prototypes, parameters and cases.
#include <stdlib.h>
#include <string.h>

#include "task/prototype.h"

// Names of the C library's functions, and C++'s namespace: a kernel of that name would clash with the headers'
// declarations.
static const char *const libc_names[] = {
    "std",   "signbit", "abs",       "acos",  "asin",  "atan",  "ceil",  "cos",    "cosh",  "div",  "erf",
    "erfc",  "exp",     "exp2",      "expm1", "floor", "fmax",  "fmin",  "fmod",   "index", "log",  "log10",
    "log1p", "log2",    "pow",       "rand",  "rint",  "rsqrt", "round", "select", "sin",   "sinh", "sqrt",
    "tan",   "tanh",    "remainder", "trunc", "gamma", "j0",    "j1",    "y0",     NULL};

char *kg_task_function(const kg_task *t) {
    const char *start = t->signature, *end = start;
    for (; *end && *end != '('; end++)
        if (*end == '.') start = end + 1;
    return kg_format("%.*s", (int)(end - start), start);
}

char *kg_task_c_entry(const kg_task *t) {
    for (const char *const *n = libc_names; *n; n++)
        if (strcmp(t->name, *n) == 0) return kg_format("%s_kernel", t->name);
    return kg_strdup(t->name);
}

void kg_add_c_parameter(kg_text *out, const kg_param *p) {
    const char *type = "";
    switch (p->kind) {
    case KG_P_TENSOR: type = p->role == KG_INOUT || p->role == KG_STATE ? "DLTensor *" : "const DLTensor *"; break;
    case KG_P_INT: type = p->nullable ? "const int64_t *" : "int64_t "; break;
    case KG_P_FLOAT: type = p->nullable ? "const double *" : "double "; break;
    case KG_P_BOOL: type = "bool "; break;
    case KG_P_STR:
    case KG_P_DTYPE: type = "const char *"; break;
    case KG_P_INTS: type = "const kg_ints *"; break;
    case KG_P_FLOATS: type = "const kg_floats *"; break;
    }
    kg_text_add(out, "%s%s", type, p->name);
}

void kg_add_c_parameters(kg_text *out, const kg_task *t) {
    const char *comma = "";
    for (const kg_param *p = t->params; p->name; p++) {
        if (!kg_c_gets(p)) continue;
        kg_text_add(out, "%s", comma);
        kg_add_c_parameter(out, p);
        comma = ", ";
    }
    for (const char *const *o = t->outputs; *o; o++) {
        kg_text_add(out, "%sDLTensor *%s", comma, *o);
        comma = ", ";
    }
}

char *kg_task_c_prototype(const kg_task *t, bool cuda) {
    kg_text out = {0};
    char *entry = kg_task_c_entry(t);
    kg_text_add(&out, "%sint %s(", cuda ? "extern \"C\" " : "", entry);
    kg_add_c_parameters(&out, t);
    kg_text_add(&out, cuda ? ", cudaStream_t stream);" : ");");
    free(entry);
    return out.data;
}

// ---- parameters in words ------------------------------------------------------------------------------
static void add_default(kg_text *out, const kg_param *p) {
    if (p->nullable && !p->has_default) kg_text_add(out, ", default None");
    else if (p->kind == KG_P_STR || p->kind == KG_P_DTYPE) kg_text_add(out, ", default '%s'", p->text ? p->text : "");
    else if (p->kind == KG_P_FLOATS) kg_text_add(out, ", with a default");
    else if (p->kind == KG_P_BOOL) kg_text_add(out, ", default %s", p->number != 0 ? "True" : "False");
    else kg_text_add(out, ", default %g", p->number);
}

static void add_parameter(kg_text *out, const kg_param *p) {
    static const char *const kinds[] = {"tensor", "int", "float", "bool", "text", "dtype", "int or tuple of ints",
                                        "floats"};
    kg_text_add(out, "  %-14s %s", p->name, kinds[p->kind]);
    if (p->optional) add_default(out, p);
    if (p->role == KG_INOUT) kg_text_add(out, "; overwritten in place");
    if (p->role == KG_STATE) kg_text_add(out, "; kept from call to call, zero at first");
    if (p->role == KG_OUT_ARG) kg_text_add(out, "; Python only");
    if (p->listed) kg_text_add(out, "; Python gets them in one list");
    if (kg_is_seed(p)) kg_text_add(out, "; another number at every call");
    if (p->native_only) kg_text_add(out, "; C and CUDA only");
    kg_text_add(out, "\n");
}

static void add_cases(kg_text *out, const kg_task *t) {
    static const char *const level[] = {"quick", "full", "timed on the CPU", "timed on CUDA"};
    kg_text_add(out, "cases\n");
    for (int l = KG_CASES_QUICK; l <= KG_TIMED_CUDA; l++) {
        kg_cases b;
        if (kg_task_cases(t, (kg_case_level)l, &b, NULL)) continue;
        kg_text_add(out, "  %-18s %zu", level[l], b.n);
        if (b.n) kg_text_add(out, ": %s .. %s", b.items[0].name, b.items[b.n - 1].name);
        kg_text_add(out, "\n");
        kg_cases_free(&b);
    }
}

char *kg_task_describe(const kg_task *t) {
    kg_text out = {0};
    char *c = kg_task_c_prototype(t, false), *cuda = kg_task_c_prototype(t, true), *entry = kg_task_c_entry(t);
    kg_text_add(&out, "%s/%s (%s)\n%s\n\n%s\n\n", t->suite, t->name, t->category, t->summary, t->signature);
    kg_text_add(&out, "C     %s\nCUDA  %s\n", c, cuda);
    if (strcmp(entry, t->name) != 0)
        kg_text_add(&out, "      with the comment `kgate: entry=%s`: C or C++ has the name %s already\n", entry,
                    t->name);
    kg_text_add(&out, "\nparameters\n");
    for (const kg_param *p = t->params; p->name; p++) add_parameter(&out, p);
    kg_text_add(&out, "outputs\n ");
    for (const char *const *o = t->outputs; *o; o++) kg_text_add(&out, " %s", *o);
    kg_text_add(&out, "%s\nlowest precision for float32: %s\n", *t->outputs ? "" : " none: works in place",
                kg_precision_name(t->lowest));
    kg_text_add(&out, "baseline: CUDA %s, without PyTorch %s; CPU %s\n", t->torch_baseline ? t->torch_baseline : "none",
                t->cuda_baseline ? t->cuda_baseline : "none", t->cpu_baseline ? t->cpu_baseline : "none");
    if (t->readings) kg_text_add(&out, "designs that are right (all outputs of a call must follow one)\n");
    for (const kg_reading *r = t->readings; r && r->name; r++)
        if (!r->wrong) kg_text_add(&out, "  %s\n", r->name);
    add_cases(&out, t);
    free(c);
    free(cuda);
    free(entry);
    return out.data;
}
