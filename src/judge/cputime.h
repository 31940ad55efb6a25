// Processor time of a runner, as the kernel counts it: the one thing about its work that it cannot misreport.
#ifndef KG_CPUTIME_H
#define KG_CPUTIME_H

// Seconds used so far by all threads of the process. NAN when it has child processes, whose work this would miss, or
// when the kernel does not tell.
double kg_cpu_seconds(int pid);
// Seconds so far in which some runnable thread of the machine waited for a processor (pressure stall information;
// kernel documentation, accounting/psi.rst). NAN where the kernel does not keep it.
double kg_cpu_pressure_seconds(void);

#endif
