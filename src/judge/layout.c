#include "judge/layout.h"

#define ALIGN 512

static size_t up(size_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

// Room of one tensor on one slot: the storage, and guards on both sides when the runner may write there.
static size_t room(const kg_place *p) {
    size_t bytes = up((size_t)p->count * kg_dtype_size(p->dtype));
    return p->writable ? bytes + 2 * KG_GUARD : bytes;
}

static void place(kg_place *p, const kg_tensor *t, bool writable, bool input) {
    p->present = true;
    p->writable = writable;
    p->input = input;
    p->dtype = kg_dtype_part(t->dtype);  // complex tensors are filled and read by their parts
    p->count = (int64_t)(kg_span_bytes(t) / kg_dtype_size(p->dtype));
}

static void gather_places(const kg_task *t, const kg_case *c, kg_layout *l) {
    for (int i = 0; i < c->n_args; i++) {
        const kg_arg *a = &c->args[i];
        if (a->kind != KG_P_TENSOR || a->none || a->absent || a->scalar) continue;
        kg_role role = t->params[i].role;
        // inplace=True: the first argument is overwritten, so it lies where the runner may write.
        bool writable = role != KG_IN || (i == 0 && c->alias_first_out);
        place(&l->args[i], &a->tensor, writable, role == KG_IN || role == KG_INOUT);
    }
    for (int i = 0; i < c->n_outs; i++)
        if (!(i == 0 && c->alias_first_out)) place(&l->outs[i], &c->outs[i], true, false);
}

// Gives every place its offset within its arena; the next slot follows at `stride`.
static void assign(kg_layout *l, size_t *in_slot, size_t *out_slot) {
    kg_place *all[KG_MAX_ARGS + KG_MAX_OUTS];
    int n = 0;
    for (int i = 0; i < KG_MAX_ARGS; i++) all[n++] = &l->args[i];
    for (int i = 0; i < KG_MAX_OUTS; i++) all[n++] = &l->outs[i];
    *in_slot = *out_slot = 0;
    for (int i = 0; i < n; i++) {
        if (!all[i]->present) continue;
        size_t *slot = all[i]->writable ? out_slot : in_slot;
        all[i]->offset = *slot + (all[i]->writable ? KG_GUARD : 0);
        *slot += room(all[i]);
    }
    for (int i = 0; i < n; i++)
        if (all[i]->present) all[i]->stride = all[i]->writable ? *out_slot : *in_slot;
}

kg_layout kg_layout_make(const kg_task *t, const kg_case *c, int slots, size_t memory_limit) {
    kg_layout l = {0};
    gather_places(t, c, &l);
    size_t in_slot, out_slot;
    assign(&l, &in_slot, &out_slot);
    size_t one = in_slot + out_slot;
    size_t fit = one ? memory_limit / one : (size_t)slots;
    l.slots = fit < (size_t)slots ? (int)fit : slots;
    l.in_bytes = in_slot * (size_t)l.slots;
    l.out_bytes = out_slot * (size_t)l.slots;
    return l;
}

// SplitMix64's finaliser (Steele, Lea, Flood 2014): neighbouring slots and tensors get unrelated streams.
uint64_t kg_tensor_seed(uint64_t seed, int slot, int tensor) {
    uint64_t z = seed + 0x9e3779b97f4a7c15u * ((uint64_t)(uint32_t)slot * 64 + (uint64_t)(uint32_t)tensor + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
