// What the CUDA loader needs of the CUDA runtime.
#ifndef KG_CUDA_RT_H
#define KG_CUDA_RT_H

#include "device/cuda/api/cuda_api.h"
#include "runner/runner.h"

const kg_cuda_api *kg_cuda_rt_api(kg_rt *rt);
int kg_cuda_rt_ordinal(kg_rt *rt);
// Makes the primary context current on this thread, whatever the candidate did to it.
int kg_cuda_rt_enter(kg_rt *rt, kg_error *err);

#endif
