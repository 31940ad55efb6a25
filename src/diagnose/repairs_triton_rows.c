// A row that a Triton kernel holds in one block is streamed: a loop over blocks of it for every reduction, one for what
// is stored. The kernel stays for short rows; long ones go to a copy of it.
#include <stdlib.h>
#include <string.h>

#include "diagnose/row.h"

#define MOST KG_TRITON_MOST

static void free_row(kg_row *x) {
    for (size_t i = 0; i < x->n_vectors; i++) free(x->vectors[i]);
    for (size_t i = 0; i < x->n; i++) free(x->all[i].text);
    free(x->kernel), free(x->column), free(x->block), free(x->bound), free(x->start);
    kg_text_free(&x->out);
    kg_text_free(&x->names);
}

// The definition as it stands, with another name and body, behind it.
static int add_kernel(kg_row *x, const char *streamed, kg_edits *out) {
    const TSNode name = kg_field_of(kg_field_of(x->definition, "definition"), "name");
    kg_edits edits = {0};
    const size_t from = ts_node_start_byte(x->definition), to = ts_node_start_byte(x->body);
    kg_edit_node(&edits, name, "%s", streamed);
    char *head = kg_rewritten(x->s, &edits, from, to);
    kg_edits_free(&edits);
    if (!head || kg_row_write(x)) {
        free(head);
        return -1;
    }
    size_t len = strlen(head);
    while (len && head[len - 1] != '\n') len--;  // up to the line on which the body begins
    head[len ? len - 1 : 0] = '\0';
    const size_t at = ts_node_end_byte(x->definition);
    while (x->out.len && x->out.data[x->out.len - 1] == '\n') x->out.data[--x->out.len] = '\0';
    // Further parameters stay below the first.
    char *def = strstr(head, "def ");
    kg_text t = {0};
    kg_text_add(&t, "%.*s", (int)(def ? def - head : 0), head);
    kg_add_deeper(&t, def ? def : head, (int)(strlen(streamed) - strlen(x->kernel)));
    kg_edit_replace(out, at, at, "\n\n\n%s\n%s", t.data, x->out.data);
    kg_text_free(&t);
    free(head);
    return 0;
}

static int stream_kernel(const kg_syntax *s, const kg_captures *kernel, const void *how, kg_edits *out, char **why) {
    kg_captures launches[MOST];
    kg_row x = {.s = s, .definition = *kg_captured(kernel, "at"), .body = *kg_captured(kernel, "c"), .why = why};
    x.kernel = kg_node_text(s, *kg_captured(kernel, "b"));
    const size_t n = kg_triton_launches(s, x.kernel, launches);
    char *wanted = kg_format("%s_streamed", x.kernel), *streamed = kg_new_name(s, &x.names, wanted);
    x.start = kg_uses(s, x.definition, "start") ? kg_new_name(s, &x.names, "start") : kg_strdup("start");
    int rc = -1;
    if (!kg_node_is(ts_node_parent(x.definition), "module"))
        kg_not_repaired(why, "the kernel is defined inside a function");
    else if (kg_triton_is_autotuned(s, x.definition)) kg_not_repaired(why, "an autotuner chooses the block");
    else if (!n) kg_not_repaired(why, "the kernel is not launched as kernel[grid](...)");
    else if (!kg_row_read(&x) && !add_kernel(&x, streamed, out)) {
        rc = 0;
        for (size_t i = 0; i < n && !rc; i++)
            rc = kg_triton_split_launch(s, &launches[i], x.kernel, streamed, x.block, how, out, why);
    }
    free(wanted), free(streamed);
    free_row(&x);
    return rc;
}

int kg_triton_stream_row(const kg_syntax *s, size_t variant, kg_edits *out, char **why) {
    static const kg_row_split ways[] = {
        {8192, 4096, 8}, {16384, 8192, 16}, {4096, 4096, 8}, {2048, 2048, 4}, {32768, 8192, 16}};
    return kg_triton_each(s, stream_kernel, &ways[variant], out, why);
}
