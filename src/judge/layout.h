// Where the tensors of a case lie in the session's two arenas, for every slot.
#ifndef KG_LAYOUT_H
#define KG_LAYOUT_H

#include <jansson.h>

#include "device/device.h"
#include "task/task.h"

// A guard of poison on both sides of every tensor the runner may write: a write past the end shows.
#define KG_GUARD 512

typedef struct {
    bool present;   // false: None, absent, a number, or not a tensor
    bool writable;  // in the outputs arena (outputs, KG_INOUT, KG_STATE, out=), else in the inputs arena
    bool input;     // gets values (KG_IN, KG_INOUT); else poison (outputs, out=) or zeros (KG_STATE)
    size_t offset;  // bytes, slot 0
    size_t stride;  // bytes from slot to slot
    int64_t count;  // elements of storage
    kg_dtype dtype;
} kg_place;

typedef struct {
    kg_place args[KG_MAX_ARGS], outs[KG_MAX_OUTS];
    int slots;
    size_t in_bytes, out_bytes;  // what the arenas must hold
} kg_layout;

// Lays out up to `slots` slots within memory_limit bytes for both arenas together; 0 slots when not even one fits.
kg_layout kg_layout_make(const kg_task *t, const kg_case *c, int slots, size_t memory_limit);
static inline kg_extent kg_place_extent(const kg_place *p, int slot) {
    kg_extent e = {p->offset + (size_t)slot * p->stride, p->dtype, p->count};
    return e;
}

// Seed of one tensor: argument (or, from KG_MAX_ARGS on, output) `tensor` on slot `slot` of the fill `seed`.
uint64_t kg_tensor_seed(uint64_t seed, int slot, int tensor);

// The "case" object of the protocol (src/runner/protocol.h): arguments, outputs, places.
json_t *kg_case_to_json(const kg_task *t, const kg_case *c, const kg_layout *l);

#endif
