/* SPDX-License-Identifier: BSD-2-Clause */
/* Once in a period through a service: /v1/once/NAME, for the holder of the lock NAME. Each call
 * waits for its answer. */
#ifndef CLI_SERVICE_ONCE_H
#define CLI_SERVICE_ONCE_H

#include <redlock.h>
#include <stdbool.h>
#include <stdint.h>

#include "service/call.h"

struct service_run {
    bool may_be_recorded;              /* then it is to be taken back, unless it begins */
    bool is_sure;                      /* OK: a failover does not forget it */
    int64_t start_by_ns;               /* OK: as timer_now_ns(); it begins before, or never */
    int64_t next_ms;                   /* BUSY: until it may run again; -1: unknown */
    char label[REDLOCK_LABEL_MAX + 1]; /* BUSY: of what has run it; empty: unknown */
    char detail[SERVICE_DETAIL_MAX];   /* the words for an error */
};

/*
 * Records that a run begins. REDLOCK_OK; BUSY: it has run in this period; EXPIRED: it was
 * recorded too late to begin; LOST: this lease does not have the lock. Anything else: it could
 * not be recorded, or that is not known.
 */
int service_once_record(const struct service *s, const char *name, const char *lease,
                        int64_t period_ms, struct service_run *run);

/* The run did not begin: takes its record back, before the lock is released. */
void service_once_take_back(const struct service *s, const char *name, const char *lease);

#endif
