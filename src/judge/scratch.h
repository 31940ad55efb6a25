// A runner's scratch folder. It is locked while its judge lives, so that what a killed judge left is known.
#ifndef KG_SCRATCH_H
#define KG_SCRATCH_H

#include "base/base.h"

typedef struct {
    char *path;  // owned; NULL: none
    int lock;    // descriptor of the folder, or -1
} kg_scratch;

int kg_scratch_make(kg_scratch *out, kg_error *err);
void kg_scratch_remove(kg_scratch *s);
// Removes the folders of this user whose judges were killed.
void kg_scratch_sweep(void);

#endif
