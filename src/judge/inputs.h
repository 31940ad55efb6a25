// The inputs of a call, made again on the host from their seeds.
#ifndef KG_INPUTS_H
#define KG_INPUTS_H

#include "judge/layout.h"

typedef struct kg_inputs kg_inputs;
// seeds[n-1] made the values of the call judged, the ones before it those of the calls before on the same slot.
// trusted: the input arena, where the last call's values lie and nobody else can have written (kg_device_ops.trusted);
// NULL: all are made again.
int kg_inputs_make(const kg_task *t, const kg_case *c, const kg_layout *l, int slot, const uint64_t *seeds, int n,
                   const void *trusted, kg_inputs **out, kg_error *err);
const kg_call *kg_inputs_call(const kg_inputs *in);
void kg_inputs_free(kg_inputs *in);

#endif
