// Where calls spend their time: a timer interrupts them, and what the processor was at is written down.
#ifndef KG_SAMPLING_H
#define KG_SAMPLING_H

#include "base/base.h"

// Calls call(ctx) again and again for a third of a second, at least once, and writes `folder`/samples, making the
// folder: a line an interrupt of the calling thread, "@OFFSET" where it was in the shared object that `within` lies in,
// else the name of the object it was in ("?": none), then the offsets of the calls in that shared object that led
// there, innermost first. Offsets are hexadecimal, as in the file. A callable that fails: its error. Errors:
// KG_ERR_CANNOT (no such thing here).
int kg_sample_calls(int (*call)(void *ctx, kg_error *err), void *ctx, const void *within, const char *folder,
                    kg_error *err);

#endif
