/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Once in a period, as `redlock run --every` (cli/lock/period.h has why it is done like this):
 * that a run begins is recorded on the nodes as one more lock, NAME.every, which is left to
 * expire when the period has passed. The holder of the lock NAME requests it right before it
 * begins; answered is until when it may begin.
 *
 *     PUT     LOOKING    does this lease have the lock NAME, on a majority? Else 410: a copy of
 *               |        the request that comes late, behind its DELETE, records nothing
 *             RECORDING  acquires the record, with the tag of the lease
 *               |--------- there is one already: FINDING, and 423 with what is left of it
 *             EXTENDING  for the period and a second
 *               |
 *             SURE       of Sentinel groups: until a replica has it, for a moment
 *             ANSWERED   201, unless its second is over
 *               |  a byte of it was sent: over; the record is left
 *               v  none was, or any of this failed
 *             UNDOING    the record is released
 *     DELETE  TAKING_BACK  by the tag of the lease, on any replica: the run did not begin
 *
 * The record may last longer than the max-ttl of the nodes, and rests on a majority that
 * remembers, not on the guard: it has a client of the library of its own, which is opened by
 * the first request that needs it.
 */
#ifndef REDLOCKD_ONCE_H
#define REDLOCKD_ONCE_H

#include "leases/leases.h"

struct once_run;

struct once {
    struct leases *leases;
    /* The client of the records; NULL with a sentence. */
    redlock *(*records)(void *context, char *why, size_t why_size);
    void *context;
    struct once_run *runs; /* under way, also those whose clients are gone */
};

/* After the leases, and the client of the records, are closed. */
void once_free(struct once *once);

/* PUT or DELETE, by a principal with the right to acquire the lock NAME. */
void once_begin(struct once *once, const struct routed *routed);

/* Rules or tokens are new: a run without the right is not answered with 201. */
void once_reload(struct once *once);

/* What has come of a job, or of a record: the run is the data of the event. */
void once_on_event(struct once *once, const redlock_event *event);

#endif
