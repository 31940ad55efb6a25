#include "base/philox.h"

#include "base/base.h"

kg_philox kg_philox4x32(uint64_t key, uint64_t counter_lo, uint64_t counter_hi) {
    kg_philox r = {
        {(uint32_t)counter_lo, (uint32_t)(counter_lo >> 32), (uint32_t)counter_hi, (uint32_t)(counter_hi >> 32)}};
    philox_rounds(key, r.v);
    return r;
}
