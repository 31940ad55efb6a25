// A driver under the real one's names, whose every function succeeds and does nothing.
#include "device/cuda/api/cuda_api.h"

#define FAKE(name, symbol, older, params)          \
    kcu_result fake_##name params __asm__(symbol); \
    kcu_result fake_##name params { return 0; }
KG_CUDA_FUNCTIONS(FAKE)
