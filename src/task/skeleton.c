// A kernel to start from, in C or CUDA C++: right, and slow. Both come from the task's c_body: the C one loops over the
// items, the CUDA one gives each item a thread.
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "task/prototype.h"
#include "task/skeleton.h"

static void add_head(kg_text *out, const kg_task *t, const char *entry) {
    char *label = kg_task_label(t);
    kg_text_add(out, "// kgate: task=%s\n", label);
    free(label);
    if (strcmp(entry, t->name) != 0) kg_text_add(out, "// kgate: entry=%s\n", entry);
    kg_text_add(out, "//\n// %s\n// %s\n//\n// A start: right, and slow.\n#include <kgate/kernel.h>\n", t->signature,
                t->summary);
}

static void add_items(kg_text *out, const kg_task *t) {
    if (t->c_items) kg_text_add(out, "    const int64_t items = %s;\n", t->c_items);
    else kg_text_add(out, "    const int64_t items = kg_elements(%s);\n", t->outputs[0]);
}

static void add_one(kg_text *out, const kg_task *t, const char *qualifier) {
    kg_text_add(out, "%sstatic void one(int64_t i, ", qualifier);
    kg_add_c_parameters(out, t);
    kg_text_add(out, ") {\n");
    for (const char *line = t->c_body; *line;) {
        const size_t n = strcspn(line, "\n");
        kg_text_add(out, n ? "    %.*s\n" : "%.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
    kg_text_add(out, "}\n\n");
}

// "input, dim, out": each name, printed through `form`.
static void add_names(kg_text *out, const kg_task *t, void (*form)(kg_text *, const kg_param *)) {
    const char *comma = "";
    for (const kg_param *p = t->params; p->name; p++) {
        if (!kg_c_gets(p)) continue;
        kg_text_add(out, "%s", comma);
        form(out, p);
        comma = ", ";
    }
    for (const char *const *o = t->outputs; *o; o++) {
        const kg_param p = {.name = *o, .kind = KG_P_TENSOR, .role = KG_INOUT};
        kg_text_add(out, "%s", comma);
        form(out, &p);
        comma = ", ";
    }
}

static void form_name(kg_text *out, const kg_param *p) { kg_text_add(out, "%s", p->name); }

static void c_skeleton(kg_text *out, const kg_task *t, const char *entry) {
    add_head(out, t, entry);
    kg_text_add(out, "#include <math.h>\n%s\n", strstr(t->c_body, "malloc(") ? "#include <stdlib.h>\n" : "");
    add_one(out, t, "");
    kg_text_add(out, "int %s(", entry);
    kg_add_c_parameters(out, t);
    kg_text_add(out, ") {\n");
    add_items(out, t);
    kg_text_add(out, "    for (int64_t i = 0; i < items; i++) one(i, ");
    add_names(out, t, form_name);
    kg_text_add(out, ");\n    return 0;\n}\n");
}

// ---- CUDA -----------------------------------------------------------------------------------------------
// Arguments live in host memory (shapes, texts, Numbers): each is packed into a struct that travels by value with the
// launch, and unpacked in the kernel.
static bool packed(const kg_param *p) {
    if (p->kind == KG_P_INT || p->kind == KG_P_FLOAT) return p->nullable;
    return p->kind != KG_P_BOOL;
}

static const char *pack_type(const kg_param *p) {
    switch (p->kind) {
    case KG_P_TENSOR: return "packed_tensor";
    case KG_P_INT: return "packed<int64_t>";
    case KG_P_FLOAT: return "packed<double>";
    case KG_P_INTS: return "packed_list<kg_ints, int64_t>";
    case KG_P_FLOATS: return "packed_list<kg_floats, double>";
    default: return "packed_text";
    }
}

static void form_kernel_parameter(kg_text *out, const kg_param *p) {
    if (packed(p)) kg_text_add(out, "%s %s", pack_type(p), p->name);
    else kg_add_c_parameter(out, p);
}
static void form_pack(kg_text *out, const kg_param *p) {
    if (packed(p)) kg_text_add(out, "%s(%s)", pack_type(p), p->name);
    else kg_text_add(out, "%s", p->name);
}
static void form_unpack(kg_text *out, const kg_param *p) { kg_text_add(out, packed(p) ? "%s.get()" : "%s", p->name); }

static const char pack_tensor_text[] =
    "// Tensors as the kernel needs them: shape and strides point into host memory, so they travel by value.\n"
    "struct packed_tensor {\n"
    "    DLTensor t;\n"
    "    int64_t shape[8], strides[8];\n"
    "    double number;\n"
    "    bool given;\n"
    "    explicit packed_tensor(const DLTensor *from) : t(), number(0), given(from != nullptr) {\n"
    "        if (!from) return;\n"
    "        t = *from;\n"
    "        for (int i = 0; i < t.ndim; i++) shape[i] = t.shape[i], strides[i] = kg_stride(from, i);\n"
    "        if (t.device.device_type == kDLCPU) number = kg_number(from);\n"
    "    }\n"
    "    __device__ DLTensor *get() {\n"
    "        if (!given) return nullptr;\n"
    "        t.shape = shape;\n"
    "        t.strides = strides;\n"
    "        if (t.device.device_type == kDLCPU) t.data = &number, t.byte_offset = 0;\n"
    "        return &t;\n"
    "    }\n"
    "};\n";
static const char pack_value_text[] =
    "template <typename T> struct packed {\n"
    "    T value;\n"
    "    bool given;\n"
    "    explicit packed(const T *from) : value(from ? *from : T()), given(from != nullptr) {}\n"
    "    __device__ const T *get() const { return given ? &value : nullptr; }\n"
    "};\n";
static const char pack_list_text[] =
    "template <typename L, typename T> struct packed_list {\n"
    "    T values[8];\n"
    "    L list;\n"
    "    bool given;\n"
    "    explicit packed_list(const L *from) : list(), given(from != nullptr) {\n"
    "        if (from) list.n = from->n;\n"
    "        for (int64_t i = 0; i < list.n; i++) values[i] = from->v[i];\n"
    "    }\n"
    "    __device__ const L *get() {\n"
    "        list.v = values;\n"
    "        return given ? &list : nullptr;\n"
    "    }\n"
    "};\n";
static const char pack_text_text[] =
    "struct packed_text {\n"
    "    char text[32];\n"
    "    bool given;\n"
    "    explicit packed_text(const char *from) : text(), given(from != nullptr) {\n"
    "        for (int i = 0; from && from[i] && i < 31; i++) text[i] = from[i];\n"
    "    }\n"
    "    __device__ const char *get() const { return given ? text : nullptr; }\n"
    "};\n";

static void add_packs(kg_text *out, const kg_task *t) {
    bool value = false, list = false, text = false;
    for (const kg_param *p = t->params; p->name; p++) {
        value |= (p->kind == KG_P_INT || p->kind == KG_P_FLOAT) && p->nullable;
        list |= p->kind == KG_P_INTS || p->kind == KG_P_FLOATS;
        text |= p->kind == KG_P_STR || p->kind == KG_P_DTYPE;
    }
    kg_text_add(out, "%s%s%s%s\n", pack_tensor_text, value ? pack_value_text : "", list ? pack_list_text : "",
                text ? pack_text_text : "");
}

static void cuda_skeleton(kg_text *out, const kg_task *t, const char *entry) {
    add_head(out, t, entry);
    kg_text_add(out, "\n");
    add_packs(out, t);
    add_one(out, t, "__device__ ");
    kg_text_add(out, "__global__ static void each(int64_t items, ");
    add_names(out, t, form_kernel_parameter);
    kg_text_add(out,
                ") {\n    const int64_t first = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;\n"
                "    for (int64_t i = first; i < items; i += (int64_t)gridDim.x * blockDim.x)\n        one(i, ");
    add_names(out, t, form_unpack);
    kg_text_add(out, ");\n}\n\nextern \"C\" int %s(", entry);
    kg_add_c_parameters(out, t);
    kg_text_add(out, ", cudaStream_t stream) {\n");
    add_items(out, t);
    kg_text_add(out,
                "    if (items == 0) return 0;\n"
                "    const int64_t blocks = (items + 127) / 128;\n"
                "    each<<<(unsigned)(blocks < 65535 ? blocks : 65535), 128, 0, stream>>>(items, ");
    add_names(out, t, form_pack);
    kg_text_add(out, ");\n    return cudaGetLastError() != cudaSuccess;\n}\n");
}

int kg_task_skeleton_check_path(const char *language, const char *path, kg_error *err) {
    static const char *const own[][2] = {
        {"c", ".c"}, {"cuda", ".cu"}, {"triton", ".py"}, {"tilelang", ".py"}, {"python", ".py"}};
    static const char *const known[] = {".c", ".cu", ".py", ".cl", ".ptx", ".cubin", ".jsonl"};
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.'), *right = NULL;
    bool other = false;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(language, own[i][0]) == 0) right = own[i][1];
    for (size_t i = 0; dot && i < sizeof known / sizeof *known; i++) other = other || strcasecmp(dot, known[i]) == 0;
    if (!right || !other || strcasecmp(dot, right) == 0) return 0;
    return kg_fail(err, KG_ERR_USAGE, "%s: %s says another language than --lang %s: name it *%s", path, dot, language,
                   right);
}

char *kg_task_skeleton(const kg_task *t, const char *language, kg_error *err) {
    kg_text out = {0};
    char *entry = kg_task_c_entry(t);
    const bool c = strcmp(language, "c") == 0, cuda = strcmp(language, "cuda") == 0;
    if ((c || cuda) && !t->c_body)
        kg_fail(err, KG_ERR_CANNOT, "task %s has no %s skeleton: use python", t->name, language);
    else if (c) c_skeleton(&out, t, entry);
    else if (cuda) cuda_skeleton(&out, t, entry);
    else if (strcmp(language, "python") == 0) kg_python_skeleton(&out, t, err);
    else if (strcmp(language, "triton") == 0) kg_triton_skeleton(&out, t, err);
    else if (strcmp(language, "tilelang") == 0) kg_tilelang_skeleton(&out, t, err);
    else
        kg_fail(err, KG_ERR_USAGE, "no skeleton for language \"%s\": use c, cuda, triton, tilelang or python",
                language);
    free(entry);
    return out.data;
}
