// Ctrl-C while a candidate is judged: said here, looked at wherever somebody waits.
#include "base/base.h"

_Atomic int kg_interrupted_by;

bool kg_interrupted(void) { return kg_interrupted_by != 0; }
