// Philox4x32-10, inline so that loops over counters vectorise. Salmon, Moraes, Dror, Shaw: "Parallel random numbers:
// as easy as 1, 2, 3", SC 2011, section 3.3 (S-P network, constants) and figure 4.
#ifndef KG_PHILOX_H
#define KG_PHILOX_H

#include <stdint.h>

#define KG_PHILOX_INLINE static inline __attribute__((always_inline))

KG_PHILOX_INLINE void philox_rounds(uint64_t key, uint32_t c[4]) {
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int r = 0; r < 10; r++) {
        const uint64_t p0 = (uint64_t)0xD2511F53u * c[0], p1 = (uint64_t)0xCD9E8D57u * c[2];
        const uint32_t n0 = (uint32_t)(p1 >> 32) ^ c[1] ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c[3] ^ k1;
        c[0] = n0;
        c[1] = (uint32_t)p1;
        c[2] = n2;
        c[3] = (uint32_t)p0;
        k0 += 0x9E3779B9u;  // golden ratio
        k1 += 0xBB67AE85u;  // sqrt(3) - 1
    }
}

#endif
