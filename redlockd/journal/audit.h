/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The audit log: one line of JSON per grant, release, expiry, loss, break and denial, as this
 * replica sees them, in a file of its own or on standard error. Which principal, which lock,
 * its label and fence; never a lease id, a grant, a value or a token.
 *
 *     {"time":"2026-11-16T06:00:00.123Z","event":"granted","principal":"token:ci",
 *      "name":"ci/build","label":"robot 7","fence":1790000000123456,"reason":null,
 *      "peer":"192.0.2.9:41312","listener":"tls:0.0.0.0:9443"}
 *
 *     granted   the grant was written to its client
 *     released  by a DELETE; by the close of a stream ("CLOSED"); or because the grant could
 *               not be delivered ("UNDELIVERED")
 *     ended     it was gone before its time was over when the nodes were looked at: released
 *               through another replica, which has a line of that, as a rule ("ELSEWHERE")
 *     expired   its time was over without a release; the nodes were looked at, and do not have
 *               it
 *     lost      a renewal or a release found that it was gone before its time, or a stream lost
 *               it; only of leases that this replica knows
 *     broken    by an operator; the principal is the operator
 *     denied    401, 403 or 429, or 400 for a host that is not ours, with the code of the
 *               answer as the reason; also the path of the request
 *
 * The peer is the address of the client, or "uid:1000 pid:77" on a unix socket; null where no
 * request is under way, as of what expired. Label and fence are null where this replica does
 * not know them by itself: what a client claims in a Grant is not written.
 *
 * Names and labels are other people's text: the JSON writer escapes what could end a line or
 * steer a terminal. The loop waits for no disk and no reader (io/sink.h): a line that finds
 * no room is dropped and counted (redlockd_audit_dropped_total).
 *
 * Requests that are denied cost their sender nothing, so that a flood of them could fill a
 * disk: of one principal and reason there are at most AUDIT_DENIALS lines a second. The next
 * line of them has the number of those left out ("left_out"), and redlockd_denied_total counts
 * all.
 */
#ifndef REDLOCKD_JOURNAL_AUDIT_H
#define REDLOCKD_JOURNAL_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "io/sink.h"
#include "journal/entry.h"

#define AUDIT_STDERR "stderr"
#define AUDIT_DENIALS 10         /* lines a second */
#define AUDIT_DENIAL_PLACES 256  /* two that share a place share its lines */
#define AUDIT_BYTES (256u << 10) /* of lines that wait for the disk */
#define AUDIT_PATIENCE_MS 1000   /* at the end: for what is not written yet */

/* Denials of one principal for one reason, in the second that is counted. */
struct audit_denials {
    int64_t began_ns;
    unsigned lines;
    uint64_t left_out; /* since the last line */
};

struct audit {
    struct rl_sink *sink; /* NULL: there is no target */
    struct rl_json json;  /* one line, in memory */
    struct audit_denials denials[AUDIT_DENIAL_PLACES];
    uint64_t dropped;             /* without those that `sink` counts */
    const char *const *listeners; /* their names, by number; NULL: unknown */
};

/* path: a file to append to, AUDIT_STDERR, or empty for none. 0, or -1 with a sentence in
 * why. */
int audit_open(struct audit *audit, const char *path, char *why, size_t why_size);
/* For --check: could it be opened? Makes no file. */
int audit_check(const char *path, char *why, size_t why_size);
/* Also of one that is zero or was not opened. */
void audit_close(struct audit *audit);

/* For HUP: the target of `fresh`; what was counted stays. */
void audit_replace(struct audit *audit, struct audit *fresh);

/* Lines that were dropped, and those that are not written yet. */
struct rl_sink_counts audit_counts(const struct audit *audit);

/* Of an event that is for the log, where there is a target. */
void audit_note(struct audit *audit, const struct journal_entry *entry);

#endif
