// Sizes that the Python side compares with its own description of the structs it reads (kgate_abi.py), so that a
// library and scripts of different versions refuse each other instead of misreading memory.
#include "runner/runner.h"

extern const size_t kg_python_abi[8];
const size_t kg_python_abi[8] = {
    sizeof(kg_tensor),
    sizeof(kg_run_tensor),
    sizeof(kg_run_arg),
    sizeof(kg_run_case),
    offsetof(kg_run_case, outs),
    sizeof(kg_load_request),
    offsetof(kg_load_request, rt),
    sizeof(kg_loader),
};
