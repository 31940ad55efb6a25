#include <stdlib.h>

#include "diagnose/repair.h"

static const kg_repair_table *const tables[] = {&kg_repairs_python, &kg_repairs_triton, &kg_repairs_tilelang,
                                                &kg_repairs_native, &kg_repairs_cuda};

static const kg_repair_rule *find(size_t i) {
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        if (i < tables[t]->n) return &tables[t]->rules[i];
        i -= tables[t]->n;
    }
    return NULL;
}

const kg_repair_info *kg_repair(size_t i) {
    const kg_repair_rule *r = find(i);
    return r ? &r->info : NULL;
}

struct kg_repairer {
    kg_queries *queries;
};

kg_repairer *kg_repairer_open(void) {
    kg_repairer *r = kg_alloc(sizeof *r);
    r->queries = kg_queries_open();
    return r;
}

void kg_repairer_close(kg_repairer *r) {
    if (!r) return;
    kg_queries_close(r->queries);
    free(r);
}

char *kg_repair_apply(kg_repairer *repairer, size_t i, size_t variant, kg_language l, const char *source, size_t len,
                      char **why) {
    const kg_repair_rule *r = find(i);
    kg_syntax s;
    kg_edits edits = {0};
    char *changed = NULL;
    *why = NULL;
    if (!kg_syntax_parse(l, source, len, &s)) {
        kg_not_repaired(why, "the source cannot be parsed");
        return NULL;
    }
    s.queries = repairer->queries;
    if (ts_node_has_error(ts_tree_root_node(s.tree)) && !r->beside_errors)
        kg_not_repaired(why, "the source has parts that are no %s", kg_language_name(l));
    else if (r->make(&s, variant, &edits, why) == 0) {
        changed = edits.n ? kg_edits_apply(&edits, source, len) : NULL;
        if (!changed) kg_not_repaired(why, "nothing in the source to change");
        if (changed && kg_syntax_expired(&s)) {
            free(changed);
            changed = NULL;
            kg_not_repaired(why, "the source takes too long to go through");
        }
    }
    kg_edits_free(&edits);
    kg_syntax_free(&s);
    return changed;
}
