/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs that the benchmark starts: they end with it, and can be asked what they use. */
#ifndef REDLOCK_BENCH_SERVICE_PROCESSES_H
#define REDLOCK_BENCH_SERVICE_PROCESSES_H

#include <sys/types.h>

/* argv ends with NULL. Output goes to `log`. */
pid_t process_start(const char *const *argv, const char *log);
/* Forks: 0 in the child, which ends with its parent. */
pid_t process_fork(void);
/* With this signal, and waits for its end; its status as wait() has it. */
int process_end(pid_t pid, int signal);

double process_cpu_us(pid_t pid);
long process_memory_kib(
    pid_t pid); /* resident and its own: what other processes share is left out */

/* Until something accepts there; ends the process after a while without. */
void process_await(const char *address);

#endif
