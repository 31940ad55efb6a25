#include "diagnose/diagnose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/internal.h"

// Causes explain a miss when they stand for at least this share of the time.
#define EXPLAINS 0.5

static const kg_rule_table *const tables[] = {
    &kg_rules_triton,  &kg_rules_triton_blocks, &kg_rules_triton_product, &kg_rules_tilelang,
    &kg_rules_python,  &kg_rules_cuda,          &kg_rules_cuda_launch,    &kg_rules_c,
    &kg_rules_machine, &kg_rules_times};

const kg_rule_table *kg_rule_tables(size_t i) { return i < sizeof tables / sizeof *tables ? tables[i] : NULL; }

struct kg_diagnoser {
    // By table, rule and grammar; NULL: not compiled yet.
    kg_rule_queries **compiled[sizeof tables / sizeof *tables];
};

kg_diagnoser *kg_diagnoser_open(void) {
    kg_diagnoser *d = kg_alloc(sizeof *d);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        d->compiled[i] = kg_alloc(tables[i]->n * KG_GRAMMARS * sizeof **d->compiled);
    return d;
}

void kg_diagnoser_close(kg_diagnoser *d) {
    if (!d) return;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        for (size_t k = 0; k < tables[i]->n * KG_GRAMMARS; k++) {
            if (!d->compiled[i][k]) continue;
            kg_rule_queries_free(d->compiled[i][k]);
            free(d->compiled[i][k]);
        }
        free(d->compiled[i]);
    }
    free(d);
}

// A rule whose queries are no queries of this grammar is a bug of the rule, which its test shows; here it finds
// nothing.
static const kg_rule_queries *queries_of(kg_diagnoser *d, size_t table, size_t rule, const kg_syntax *s) {
    const kg_grammar g = s->grammar;
    kg_rule_queries **q = &d->compiled[table][rule * KG_GRAMMARS + (size_t)g];
    if (!*q) {
        kg_error err = {0};
        const double start = kg_now();
        *q = kg_alloc(sizeof **q);
        kg_rule_compile(&tables[table]->rules[rule], g, *q, &err);
        kg_error_clear(&err);
        kg_syntax_allow(s, kg_now() - start);
    }
    return (*q)->path[0] ? *q : NULL;
}

static const char *const causes[] = {
    [KG_CAUSE_AUTHORING] = "authoring", [KG_CAUSE_TUNING] = "tuning", [KG_CAUSE_HAZARD] = "hazard"};

typedef struct {
    json_t *json;
    double rank;
    size_t order;
    bool authoring;
    bool enough;   // by itself it explains a miss: such a cause usually does, and most of the time goes there
    double share;  // NAN: not modelled
    const kg_rule *rule;
} finding;

// What a profile's shares are of.
static const char *parts_of(const kg_subject *subject) {
    return subject->profile && subject->profile->launches ? "of the device's time in this kernel" : "of samples there";
}

static char *evidence_of(const kg_rule *r, const kg_places *p, const kg_subject *subject, const kg_syntax *s) {
    const kg_facts *facts = subject->facts;
    char *said = r->evidence ? kg_rule_text(r->evidence, p ? &p->first : NULL, s, facts) : NULL;
    kg_text t = {0};
    kg_text_add(&t, "%s", said ? said : "");
    if (p && p->n > 1) kg_text_add(&t, "%slines", said ? "; " : "");
    for (size_t i = 0; p && p->n > 1 && i < p->n; i++) kg_text_add(&t, "%s %u", i ? "," : "", p->lines[i]);
    if (p && !isnan(p->share)) kg_text_add(&t, "%s%.0f %% %s", t.len ? "; " : "", 100 * p->share, parts_of(subject));
    free(said);
    if (t.len) return t.data;
    kg_text_free(&t);
    return NULL;
}

static void set_text(json_t *o, const char *key, char *text) {
    json_object_set_new(o, key, text ? json_string(text) : json_null());
    free(text);
}

// What a finding's weight rests on.
static const char *basis_of(const kg_places *p, const kg_subject *subject, bool modelled) {
    if (modelled) return "modelled";
    if (!p) return "counted";
    return isnan(p->share) ? "text" : subject->profile->launches ? "timed" : "sampled";
}

static finding make(const kg_rule *r, const kg_places *p, const kg_subject *subject, const kg_syntax *s) {
    const kg_facts *facts = subject->facts;
    const double share = r->explains ? kg_facts_get(facts, r->explains) : NAN;
    const bool known = isfinite(share);
    json_t *o = json_object();
    json_object_set_new(o, "rule", json_string(r->id));
    json_object_set_new(o, "line", p ? json_integer(p->lines[0]) : json_null());
    set_text(o, "message", kg_rule_text(r->message, p ? &p->first : NULL, s, facts));
    set_text(o, "evidence", evidence_of(r, p, subject, s));
    set_text(o, "change", kg_rule_text(r->change, p ? &p->first : NULL, s, facts));
    json_object_set_new(o, "cause", json_string(causes[r->cause]));
    json_object_set_new(o, "explains", known ? json_real(share) : json_null());
    json_object_set_new(o, "basis", json_string(basis_of(p, subject, known)));
    const double spent = p && !isnan(p->share) ? p->share : 1, weight = known ? share : r->weight * spent;
    return (finding){.json = o,
                     .rank = r->cause == KG_CAUSE_HAZARD ? 0 : weight,
                     .authoring = r->cause == KG_CAUSE_AUTHORING,
                     .enough = !known && r->weight >= EXPLAINS && spent >= EXPLAINS,
                     .share = known ? share : NAN,
                     .rule = r};
}

static int by_rank(const void *a, const void *b) {
    const finding *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? 1 : -1;
    return x->order < y->order ? -1 : x->order > y->order;
}

typedef struct {
    finding *items;
    size_t n;
} findings;

static bool said_already(const findings *found, const char *rule) {
    for (size_t i = 0; rule && i < found->n; i++)
        if (strcmp(found->items[i].rule->id, rule) == 0) return true;
    return false;
}

static void ask(kg_diagnoser *d, size_t table, const kg_subject *s, const kg_syntax *syntax, findings *found) {
    for (size_t i = 0; i < tables[table]->n; i++) {
        const kg_rule *r = &tables[table]->rules[i];
        kg_places places = {.n = 0};
        if (s->only && strcmp(s->only, r->id) != 0) continue;
        if (r->languages && !(r->languages & KG_IN(s->language))) continue;
        if (!kg_conditions_hold(r->when, s->facts) || said_already(found, r->unless)) continue;
        if (r->path[0]) {
            if (!syntax->tree) continue;
            const kg_rule_queries *q = queries_of(d, table, i, syntax);
            if (!q || !kg_rule_find(r, q, syntax, s->profile, &places)) continue;
        }
        found->items = kg_realloc(found->items, (found->n + 1) * sizeof *found->items);
        found->items[found->n] = make(r, r->path[0] ? &places : NULL, s, syntax);
        found->items[found->n].order = found->n;
        found->n++;
    }
}

// Shares that a model gives add up. What only the text says stands for itself: three small habits are not one large
// fault.
static bool explains(const findings *found) {
    double together = 0;
    for (size_t i = 0; i < found->n; i++) {
        const finding *f = &found->items[i];
        if (!f->authoring) continue;
        if (f->enough) return true;
        together += isnan(f->share) ? 0 : f->share;
    }
    return together >= EXPLAINS;
}

json_t *kg_diagnose(kg_diagnoser *d, const kg_subject *s, bool *explained) {
    kg_syntax syntax;
    findings found = {0};
    kg_syntax_parse(s->language, s->source, s->len, &syntax);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) ask(d, i, s, &syntax, &found);
    if (found.n) qsort(found.items, found.n, sizeof *found.items, by_rank);
    json_t *list = json_array();
    *explained = explains(&found);
    for (size_t i = 0; i < found.n; i++) json_array_append_new(list, found.items[i].json);
    free(found.items);
    kg_syntax_free(&syntax);
    return list;
}
