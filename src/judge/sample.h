// Which outputs of a large case the oracle computes.
#ifndef KG_SAMPLE_H
#define KG_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "judge/session.h"

// True when computing every output would touch more input elements than the effort allows.
bool kg_sample_needed(int64_t total, double reach, kg_effort effort);
// Ascending distinct indices of [0, total): the ends, random single ones and random short runs, as many as the budget
// allows when each costs `reach`. Drawn from a seed the candidate never sees. *index is owned by the caller.
size_t kg_sample_indices(int64_t total, double reach, uint64_t seed, int64_t **index);

#endif
