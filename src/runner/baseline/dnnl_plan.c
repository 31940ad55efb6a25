#include "runner/baseline/dnnl_plan.h"

#include <stdlib.h>
#include <string.h>

void kg_dnnl_plan_reset(dn_plan *p) {
    for (int i = 0; i < p->n_steps; i++) p->api.primitive_destroy(p->steps[i].primitive);
    for (int i = 0; i < p->n_memories; i++) {
        p->api.memory_destroy(p->memories[i].memory);
        free(p->memories[i].scratch);
    }
    p->n_steps = p->n_memories = 0;
}

int kg_dnnl_plan_call(dn_plan *p, int slot, kg_error *err) {
    for (int i = 0; i < p->n_memories; i++) {
        dn_memory *m = &p->memories[i];
        if (m->from.base) p->api.memory_set_data_handle(m->memory, kg_baseline_at(&m->from, slot));
    }
    for (int i = 0; i < p->n_steps; i++) {
        const dn_step *s = &p->steps[i];
        if (p->api.primitive_execute(s->primitive, p->stream, s->n, s->args))
            return kg_fail(err, KG_ERR_INTERNAL, "onednn: executing step %d failed", i);
    }
    p->api.stream_wait(p->stream);
    return 0;
}

static int data_type(kg_dtype d) {
    switch (d) {
    case KG_F32: return DN_F32;
    case KG_F16: return DN_F16;
    case KG_BF16: return DN_BF16;
    case KG_I32: return DN_S32;
    case KG_I8: return DN_S8;
    case KG_U8: return DN_U8;
    default: return 0;
    }
}

static int describe(dn_plan *p, const kg_tensor *t, bool any, dn_md *md, kg_error *err) {
    const int type = data_type(t->dtype);
    if (!type) return kg_baseline_refuse(err, "onednn", kg_dtype_name(t->dtype));
    if (kg_numel(t) == 0) return kg_baseline_refuse(err, "onednn", "empty tensor");
    dn_dims dims = {1}, strides = {1};
    for (int i = 0; i < t->ndim; i++) dims[i] = t->shape[i], strides[i] = t->stride[i];
    // The library takes a stride of 0 for one that it did not choose, even where the dimension has one element.
    for (int i = t->ndim - 1; i >= 0; i--)
        if (strides[i] == 0 && dims[i] == 1) strides[i] = i + 1 < t->ndim ? strides[i + 1] * dims[i + 1] : 1;
    const int n = t->ndim ? t->ndim : 1;
    const int bad = any ? p->api.memory_desc_init_by_tag(md, n, dims, type, DN_TAG_ANY)
                        : p->api.memory_desc_init_by_strides(md, n, dims, type, strides);
    return bad ? kg_baseline_refuse(err, "onednn", "tensor of this layout") : 0;
}

int kg_dnnl_describe(dn_plan *p, const kg_tensor *t, dn_md *md, kg_error *err) {
    return describe(p, t, false, md, err);
}

int kg_dnnl_describe_any(dn_plan *p, const kg_tensor *t, dn_md *md, kg_error *err) {
    return describe(p, t, true, md, err);
}

static dn_memory *add_memory(dn_plan *p, const dn_md *md, void *data, kg_error *err) {
    if (p->n_memories == DN_MAX_MEMORIES) {
        kg_fail(err, KG_ERR_INTERNAL, "onednn: a plan of more than %d memories", DN_MAX_MEMORIES);
        return NULL;
    }
    dn_memory *m = &p->memories[p->n_memories];
    *m = (dn_memory){0};
    if (p->api.memory_create(&m->memory, md, p->engine, data)) {
        kg_fail(err, KG_ERR_INTERNAL, "onednn: a memory object was refused");
        return NULL;
    }
    p->n_memories++;
    return m;
}

void *kg_dnnl_follow(dn_plan *p, const dn_md *md, const kg_run_tensor *t, kg_error *err) {
    dn_memory *m = add_memory(p, md, kg_baseline_at(t, 0), err);
    if (!m) return NULL;
    m->from = *t;
    return m->memory;
}

void *kg_dnnl_scratch(dn_plan *p, const dn_md *md, kg_error *err) {
    const size_t size = p->api.memory_desc_get_size(md);
    void *data = aligned_alloc(64, (size + 63) / 64 * 64);
    if (!data) {
        kg_fail(err, KG_ERR_MEMORY, "onednn: no memory for %zu bytes of scratch", size);
        return NULL;
    }
    memset(data, 0, size);
    dn_memory *m = add_memory(p, md, data, err);
    if (!m) {
        free(data);
        return NULL;
    }
    m->scratch = data;
    return m->memory;
}

static dn_step *add_step(dn_plan *p, void *pd, kg_error *err) {
    if (p->n_steps == DN_MAX_STEPS) {
        kg_fail(err, KG_ERR_INTERNAL, "onednn: a plan of more than %d steps", DN_MAX_STEPS);
        return NULL;
    }
    dn_step *s = &p->steps[p->n_steps];
    *s = (dn_step){0};
    if (p->api.primitive_create(&s->primitive, pd)) {
        kg_fail(err, KG_ERR_INTERNAL, "onednn: a primitive was refused");
        return NULL;
    }
    p->n_steps++;
    return s;
}

dn_step *kg_dnnl_step(dn_plan *p, const dn_op *op, void *attr, const char *what, kg_error *err) {
    void *pd = NULL;
    if (p->api.primitive_desc_create(&pd, op, attr, p->engine, NULL)) {
        kg_baseline_refuse(err, "onednn", what);
        return NULL;
    }
    dn_step *s = add_step(p, pd, err);
    p->api.primitive_desc_destroy(pd);
    return s;
}

dn_step *kg_dnnl_reorder_step(dn_plan *p, const dn_md *from, const dn_md *to, kg_error *err) {
    void *pd = NULL;
    if (p->api.reorder_primitive_desc_create(&pd, from, p->engine, to, p->engine, NULL)) {
        kg_baseline_refuse(err, "onednn", "reorder between these layouts");
        return NULL;
    }
    dn_step *s = add_step(p, pd, err);
    p->api.primitive_desc_destroy(pd);
    return s;
}

void kg_dnnl_step_arg(dn_step *s, int arg, void *memory) { s->args[s->n++] = (dn_exec_arg){arg, memory}; }

void *kg_dnnl_post_eltwise(dn_plan *p, int alg, float alpha, float beta) {
    void *attr = NULL, *post = NULL;
    p->api.primitive_attr_create(&attr);
    p->api.post_ops_create(&post);
    p->api.post_ops_append_eltwise(post, 1, alg, alpha, beta);
    p->api.primitive_attr_set_post_ops(attr, post);
    p->api.post_ops_destroy(post);
    return attr;
}
