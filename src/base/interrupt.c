// Ctrl-C while a candidate is judged: said here, looked at wherever somebody waits.
#include <signal.h>

#include "base/base.h"

static volatile sig_atomic_t asked;

void kg_interrupt(void) { asked = 1; }
bool kg_interrupted(void) { return asked; }
