// Rules, and the parts that ask them. This room's own.
#ifndef KG_DIAGNOSE_INTERNAL_H
#define KG_DIAGNOSE_INTERNAL_H

#include <tree_sitter/api.h>

#include "diagnose/diagnose.h"

// ---- rules ----------------------------------------------------------------------------------------------------------

typedef enum {
    KG_CAUSE_AUTHORING,  // how it is written: a repair of the source removes it
    KG_CAUSE_TUNING,     // its configuration, or what the compiler made of it
    KG_CAUSE_HAZARD      // costs no time here: wrong on larger inputs, slow on other devices
} kg_cause;

#define KG_PATH  5
#define KG_SIDES 4
#define KG_WHEN  6

// A query that must (or must not) match somewhere inside step `in` of the path: 0 is the whole file, 1 what path[0]
// captured, and so on.
typedef struct {
    int in;
    const char *query;
} kg_inner;

typedef struct {
    const char *fact;
    char is;  // '<', '>', '=' or '!' (not equal)
    double value;
} kg_condition;

// A rule holds where its conditions hold on the facts (one that is not known is not met), and its path matches: tree-
// sitter queries, each looked for inside the node that the one before captured as @in (else @at). @at is where the
// finding points. A predicate's string "$name" stands for the text that an earlier step captured as @name.
// In the texts "$name" is that text too, and "{fact}" a number. Without a path it is about facts alone.
typedef struct {
    const char *id;
    unsigned languages;  // KG_IN(...); 0: any
    kg_cause cause;
    const char *path[KG_PATH];
    kg_inner has[KG_SIDES], lacks[KG_SIDES];
    size_t at_most;  // of a path's places, more are no fault; 0: any number is
    double hot;      // only where a profile says that at least this share of the time goes; 0: without a profile too
    kg_condition when[KG_WHEN];
    const char *unless;    // a rule before it in its table: where that one speaks, this one has nothing to add
    const char *explains;  // a fact: the share of its time that goes when the change is made; NULL: not modelled
    double weight;         // without one: how much such a cause usually explains, 0 to 1
    const char *message, *evidence, *change;
} kg_rule;
#define KG_IN(language) (1u << (language))

typedef struct {
    const kg_rule *rules;
    size_t n;
} kg_rule_table;
extern const kg_rule_table kg_rules_triton, kg_rules_triton_blocks, kg_rules_triton_product, kg_rules_tilelang,
    kg_rules_python, kg_rules_cuda, kg_rules_cuda_launch, kg_rules_c, kg_rules_machine, kg_rules_times;
// All tables, in a fixed order; NULL past the last.
const kg_rule_table *kg_rule_tables(size_t i);

// ---- source ---------------------------------------------------------------------------------------------------------

typedef enum { KG_GRAMMAR_NONE, KG_GRAMMAR_PYTHON, KG_GRAMMAR_CUDA, KG_GRAMMARS } kg_grammar;
kg_grammar kg_grammar_of(kg_language l);

typedef struct kg_queries kg_queries;
typedef struct {
    kg_grammar grammar;
    const char *text;
    size_t len;
    TSTree *tree;
    double *deadline;     // by kg_now(): queries find nothing after it; owned
    kg_queries *queries;  // for kg_matches; whoever parsed it sets them and owns them
} kg_syntax;
// Whether what was looked for may be there all the same: there was no time to find it.
bool kg_syntax_expired(const kg_syntax *s);
// The deadline is for the source: what compiling a query took is added to it.
void kg_syntax_allow(const kg_syntax *s, double seconds);
// false: no grammar for it, nested deeper than any program is, or it takes too long to parse.
bool kg_syntax_parse(kg_language l, const char *text, size_t len, kg_syntax *out);
void kg_syntax_free(kg_syntax *s);

// A compiled query with its predicates.
typedef struct kg_query kg_query;
// NULL: not a query of this grammar, and err says where it fails.
kg_query *kg_query_compile(kg_grammar g, const char *text, kg_error *err);
void kg_query_free(kg_query *q);

// Queries that were compiled, by grammar and text. One thread at a time.
kg_queries *kg_queries_open(void);
void kg_queries_close(kg_queries *q);
// Stays until another one is asked for; NULL: not a query of this grammar.
const kg_query *kg_queries_get(kg_queries *q, kg_grammar g, const char *text);

#define KG_CAPTURES 24
// What a match captured, and those it stands in.
typedef struct {
    struct {
        const char *name;  // of the query
        uint32_t len;
        TSNode node;
    } items[KG_CAPTURES];
    size_t n;
} kg_captures;
const TSNode *kg_captured(const kg_captures *c, const char *name);  // the latest of this name; NULL

// Calls each() for every match inside `node` until it returns false; `c` holds what was captured on the way, and is as
// it was afterwards. Returns false when each() did.
typedef bool kg_match_fn(void *ctx, kg_captures *c);
bool kg_query_each(const kg_query *q, const kg_syntax *s, TSNode node, kg_captures *c, kg_match_fn *each, void *ctx);

// A rule's queries, compiled.
typedef struct {
    kg_query *path[KG_PATH], *has[KG_SIDES], *lacks[KG_SIDES];
} kg_rule_queries;
int kg_rule_compile(const kg_rule *r, kg_grammar g, kg_rule_queries *out, kg_error *err);
void kg_rule_queries_free(kg_rule_queries *q);

// samples, code: NUL-terminated texts.
kg_profile *kg_profile_read(const char *samples, const char *code, const char *file, kg_facts *f);
kg_profile *kg_launches_read(const char *json, size_t size, kg_facts *f);
// The share of the time that was spent in any of these lines.
double kg_profile_share(const kg_profile *p, const kg_lines *where, size_t n);

// A regular file's bytes in an open folder, NUL-terminated; owned by the caller. NULL: something else, or too large.
char *kg_read_plain(int folder, const char *name, size_t *size);

#define KG_PLACES 6
typedef struct {
    uint32_t lines[KG_PLACES];  // from 1, distinct; ascending but for those with more of the time, which come first
    double shares[KG_PLACES];   // of the time, in the loop around each; 0 without a profile
    size_t n;
    kg_captures first;           // of the first place
    kg_lines around[KG_PLACES];  // the loops they are in, as far as a profile says that time goes there
    size_t n_around;
    double share;  // of the time, in all of these; NAN: no profile says
} kg_places;
// Where a rule's path matches and, by the profile, time goes; false: nowhere. profile: may be NULL.
bool kg_rule_find(const kg_rule *r, const kg_rule_queries *q, const kg_syntax *s, const kg_profile *profile,
                  kg_places *out);

bool kg_conditions_hold(const kg_condition *when, const kg_facts *facts);
// A rule's text with "$name" and "{fact}" filled in; owned by the caller.
char *kg_rule_text(const char *text, const kg_captures *c, const kg_syntax *s, const kg_facts *facts);

#endif
