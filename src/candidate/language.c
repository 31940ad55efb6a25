// Which language a candidate is written in: its extension first, its content where that is not enough.
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/lines.h"
#include "candidate/internal.h"

static const struct {
    const char *name, *device;
    bool python;
} languages[] = {
    [KG_LANG_UNKNOWN] = {"unknown", NULL, false}, [KG_LANG_C] = {"c", "cpu", false},
    [KG_LANG_CUDA] = {"cuda", "cuda", false},     [KG_LANG_PTX] = {"ptx", "cuda", false},
    [KG_LANG_CUBIN] = {"cubin", "cuda", false},   [KG_LANG_OPENCL] = {"opencl", "opencl", false},
    [KG_LANG_TRITON] = {"triton", "cuda", true},  [KG_LANG_TILELANG] = {"tilelang", "cuda", true},
    [KG_LANG_PYTHON] = {"python", NULL, true},
};

static const struct {
    const char *extension;
    kg_language language;
} extensions[] = {
    {".c", KG_LANG_C},         {".cu", KG_LANG_CUDA},   {".ptx", KG_LANG_PTX},
    {".cubin", KG_LANG_CUBIN}, {".cl", KG_LANG_OPENCL}, {".py", KG_LANG_PYTHON},
};

const char *kg_language_name(kg_language l) { return languages[l].name; }
const char *kg_language_device(kg_language l) { return languages[l].device; }
bool kg_language_is_python(kg_language l) { return languages[l].python; }

kg_language kg_language_parse(const char *name) {
    for (size_t i = KG_LANG_C; i < sizeof languages / sizeof *languages; i++)
        if (!strcasecmp(name, languages[i].name)) return (kg_language)i;
    return KG_LANG_UNKNOWN;
}

static const char *extension_of(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    return dot && dot != name ? dot : "";
}

kg_language kg_language_by_extension(const char *path) {
    const char *e = extension_of(path);
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++)
        if (!strcasecmp(e, extensions[i].extension)) return extensions[i].language;
    return KG_LANG_UNKNOWN;
}

bool kg_path_is_list(const char *path) { return !strcasecmp(extension_of(path), ".jsonl"); }

// Without the blanks it begins with.
static bool next_line(const char **at, const char *end, kg_line *l) {
    if (!kg_next_line(at, end, l)) return false;
    while (l->n && isspace((unsigned char)*l->p)) l->p++, l->n--;
    return true;
}

static bool starts(kg_line l, const char *prefix) {
    size_t n = strlen(prefix);
    return l.n >= n && !memcmp(l.p, prefix, n);
}

static bool is_word(int c) { return isalnum(c) || c == '_'; }

static bool has_word(kg_line l, const char *word) {
    size_t n = strlen(word);
    for (const char *p = l.p; (p = memmem(p, l.n - (size_t)(p - l.p), word, n)); p++) {
        bool left = p == l.p || !is_word((unsigned char)p[-1]);
        bool right = p + n == l.p + l.n || !is_word((unsigned char)p[n]);
        if (left && right) return true;
    }
    return false;
}

static bool is_import(kg_line l) {
    return (starts(l, "import ") && !memchr(l.p, ';', l.n)) || (starts(l, "from ") && has_word(l, "import"));
}

static kg_language sniff_python(const char *source, size_t n) {
    kg_language found = KG_LANG_PYTHON;
    kg_line l;
    for (const char *at = source; next_line(&at, source + n, &l);) {
        if (starts(l, "@triton.") || (is_import(l) && has_word(l, "triton"))) return KG_LANG_TRITON;
        if (is_import(l) && has_word(l, "tilelang")) found = KG_LANG_TILELANG;
    }
    return found;
}

// The strongest word wins: a CUDA file includes headers as a C file does.
static kg_language sniff_c_family(const char *source, size_t n) {
    bool version = false, target = false;
    kg_line l;
    for (const char *at = source; next_line(&at, source + n, &l);) {
        if (has_word(l, "__global__") || (starts(l, "#include") && memmem(l.p, l.n, "cuda", 4))) return KG_LANG_CUDA;
        if (has_word(l, "__kernel")) return KG_LANG_OPENCL;
        version |= starts(l, ".version");
        target |= starts(l, ".target");
    }
    return version && target ? KG_LANG_PTX : KG_LANG_C;
}

// The first line that only one family can hold decides: Python may carry CUDA in a string, C never imports.
kg_language kg_language_sniff(const char *source, size_t n, kg_language hint) {
    if (hint == KG_LANG_PYTHON) return sniff_python(source, n);
    if (hint != KG_LANG_UNKNOWN) return hint;
    if (n >= 4 && !memcmp(source, "\177ELF", 4)) return KG_LANG_CUBIN;
    kg_line l;
    for (const char *at = source; next_line(&at, source + n, &l);) {
        if (is_import(l) || starts(l, "@triton.") || (starts(l, "def ") && memchr(l.p, ':', l.n)))
            return sniff_python(source, n);
        if (starts(l, "#include") || starts(l, ".version") || starts(l, "__global__") || starts(l, "__kernel") ||
            starts(l, "extern ") || has_word(l, "DLTensor"))
            return sniff_c_family(source, n);
    }
    return KG_LANG_UNKNOWN;
}
