#include "judge/scope.h"

#include <stdlib.h>
#include <string.h>

static int add_word(kg_scope *s, const char *word, kg_error *err) {
    int dtype = kg_dtype_parse(word);
    if (!*word) return kg_fail(err, KG_ERR_USAGE, "--scope: there is nothing between two commas, or at an end");
    if (dtype >= 0) s->dtypes |= 1u << dtype;
    else if (strcmp(word, "contiguous") == 0) s->contiguous = true;
    else if (strcmp(word, "nonempty") == 0) s->nonempty = true;
    else if (strcmp(word, "finite") == 0) s->finite = true;
    else if (strcmp(word, "small") == 0) s->small = true;
    else if (strcmp(word, "large") == 0) s->large = true;
    else
        return kg_fail(err, KG_ERR_USAGE,
                       "--scope %s: use dtypes (f32, f16, bf16, ...), contiguous, nonempty, finite, small or large",
                       word);
    return 0;
}

int kg_scope_parse(const char *text, kg_scope *out, kg_error *err) {
    *out = (kg_scope){0};
    if (!text || !*text) return 0;
    char *copy = kg_strdup(text), *rest = copy, *word;
    int rc = 0;
    while (!rc && (word = strsep(&rest, ","))) rc = add_word(out, word, err);
    free(copy);
    return rc;
}

static bool allows_tensor(const kg_scope *s, const kg_tensor *t) {
    if (s->dtypes && kg_dtype_is_float(t->dtype) && !(s->dtypes >> t->dtype & 1u)) return false;
    if (s->contiguous && !kg_is_contiguous(t)) return false;
    if (s->nonempty && kg_numel(t) == 0) return false;
    return true;
}

bool kg_scope_allows(const kg_scope *s, const kg_case *c) {
    bool floats = false, kept = false;
    if ((s->small && kg_case_is_large(c)) || (s->large && !kg_case_is_large(c))) return false;
    for (int i = 0; i < c->n_args; i++) {
        const kg_arg *a = &c->args[i];
        if (a->kind != KG_P_TENSOR || a->none || a->absent || a->scalar) continue;
        if (!allows_tensor(s, &a->tensor) || (s->finite && !kg_fill_is_finite(&a->fill))) return false;
        floats = floats || kg_dtype_is_float(a->tensor.dtype);
        kept = kept || (s->dtypes >> a->tensor.dtype & 1u);
    }
    for (int i = 0; i < c->n_outs; i++)
        if (!allows_tensor(s, &c->outs[i])) return false;
    // A case of integers alone is in a scope that names dtypes only when it names that one.
    return !s->dtypes || floats || kept;
}
