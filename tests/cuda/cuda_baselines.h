// Part of cuda_selftest: the CUDA libraries that serve as baselines.
#ifndef KG_CUDA_BASELINES_H
#define KG_CUDA_BASELINES_H

// Judges cuBLASLt and cuDNN over their tasks' own cases, by the tasks' oracles; prints a line a task. Returns the
// number of failures, -1 without a device.
int cuda_baselines(void);

#endif
