/* SPDX-License-Identifier: BSD-2-Clause */
/* Three members of etcd on loopback, with their data where the benchmark runs. */
#ifndef REDLOCK_BENCH_SERVICE_ETCD_H
#define REDLOCK_BENCH_SERVICE_ETCD_H

#include <stdbool.h>
#include <sys/types.h>

#define ETCD_MEMBERS 3

struct etcd {
    pid_t pids[ETCD_MEMBERS];
    char leader[32]; /* 127.0.0.1:PORT: callers ask it, so that no member has to pass on */
};

/* False: etcd is not installed. */
bool etcd_is_there(void);
/* Elected and ready when it returns. directory: exists, and is removed by its owner. */
void etcd_start(struct etcd *etcd, const char *directory);
void etcd_stop(struct etcd *etcd);

#endif
