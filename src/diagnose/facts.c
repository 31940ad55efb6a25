#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/internal.h"

static kg_fact *find(const kg_facts *f, const char *name) {
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->items[i].name, name) == 0) return &f->items[i];
    return NULL;
}

void kg_facts_set(kg_facts *f, const char *name, double value) {
    kg_fact *known = find(f, name);
    if (!known) {
        f->items = kg_realloc(f->items, (f->n + 1) * sizeof *f->items);
        known = &f->items[f->n++];
        known->name = name;
    }
    known->value = value;
}

void kg_facts_at_least(kg_facts *f, const char *name, double value) {
    if (!(kg_facts_get(f, name) >= value)) kg_facts_set(f, name, value);
}

void kg_facts_add(kg_facts *f, const char *name, double value) {
    const double before = kg_facts_get(f, name);
    kg_facts_set(f, name, value + (isnan(before) ? 0 : before));
}

double kg_facts_get(const kg_facts *f, const char *name) {
    const kg_fact *known = f ? find(f, name) : NULL;
    return known ? known->value : NAN;
}

void kg_facts_free(kg_facts *f) {
    free(f->items);
    *f = (kg_facts){0};
}

static bool holds(const kg_condition *c, double value) {
    switch (c->is) {
    case '<': return value < c->value;
    case '>': return value > c->value;
    case '=': return value == c->value;
    default: return value != c->value;
    }
}

bool kg_conditions_hold(const kg_condition *when, const kg_facts *facts) {
    for (size_t i = 0; i < KG_WHEN && when[i].fact; i++) {
        const double value = kg_facts_get(facts, when[i].fact);
        if (isnan(value) || !holds(&when[i], value)) return false;
    }
    return true;
}
