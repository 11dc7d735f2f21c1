/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which server is that of an elected vote, and until when (docs/elected.md, E2 to E4)?
 *
 * A Sentinel group is one vote. The server behind it changes, and the deposed one looks right
 * to itself: it grants from its buffers, with its old marker. So nothing that a server reports
 * of itself is enough. Its *electors*, the sentinels, name a *term*: an epoch and the server
 * that it belongs to. A grant counts only while a majority of them has named the term that it
 * was sent to, in answer to a request no older than RL_VOUCH_NS.
 *
 * The electors are a fixed list of ids, which `redlock init` has written beside the set of
 * nodes: any two majorities of it share an elector, and an elector never goes back to an
 * earlier epoch. Until a client has read that list, a majority of those it was given only shows
 * it where to look.
 */
#ifndef RL_CORE_ELECTORS_H
#define RL_CORE_ELECTORS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/time.h"
#include "redlock.h"

#define RL_ELECTORS_MAX 7
#define RL_ELECTOR_ID_SIZE 40
/* All ids, a blank between two of them, and the terminator. */
#define RL_ELECTOR_LIST_MAX (RL_ELECTORS_MAX * (RL_ELECTOR_ID_SIZE + 1))

/*
 * How old a request may be whose answer vouches for a term: L. A constant of the protocol: the
 * quarantine of a new term is longer by it than the longest TTL, at every client.
 */
#define RL_VOUCH_NS (2 * RL_NS_PER_S)

/* Equal only as a whole, ordered by the epoch: addresses come back, epochs do not (E3). */
struct rl_term {
    int64_t epoch;
    char owner[REDLOCK_ADDRESS_MAX]; /* host:port; empty: no term */
    /*
     * Of a cluster: the owner's node id, by which it is known wherever it listens. Empty: it is
     * known by its address.
     */
    char id[RL_ELECTOR_ID_SIZE + 1];
};

/* Is it one term? */
bool rl_term_equals(const struct rl_term *a, const struct rl_term *b);

struct rl_elector {
    char id[RL_ELECTOR_ID_SIZE + 1]; /* its own, as it reports it; empty: not yet */
    struct rl_term named;
    int64_t
        requested_ns; /* when the request left that `named` answers: the date of the answer */
};

struct rl_electors {
    uint8_t count; /* that this client was given */
    struct rl_elector elector[RL_ELECTORS_MAX];
    uint8_t listed_count; /* of the set; 0: the list is not known */
    char listed[RL_ELECTORS_MAX][RL_ELECTOR_ID_SIZE + 1];

    struct rl_term term; /* that a majority has named last */
    /* Who did so first: with the list of the set known, do they still make a majority? */
    uint8_t named_by_count;
    char named_by[RL_ELECTORS_MAX][RL_ELECTOR_ID_SIZE + 1];
    uint32_t term_number;     /* one more with every change of it; 0: there was none yet */
    bool rose;                /* the last change was to a later epoch */
    int64_t highest_epoch;    /* that a majority has ever named */
    uint32_t went_back_count; /* changes to an earlier epoch: electors lost their files (E12) */
};

/* An elector has answered. True: a majority names another term than before. */
bool rl_electors_receive(struct rl_electors *electors, uint8_t which, const char *id,
                         const struct rl_term *named, int64_t requested_ns);

/*
 * The list of the set, ids with blanks between them; empty: unknown. True: those that had named
 * the term are no majority of it. So far no majority names any, or it is named from now on
 * only.
 */
bool rl_electors_set_list(struct rl_electors *electors, struct rl_slice list);

/* Until when a majority vouches for the term; 0: none does (E4). */
int64_t rl_electors_vouch_end_ns(const struct rl_electors *electors);

/*
 * The ids of all electors that this client was given, in order: what `redlock init` writes.
 * False: one has not answered, or two are one.
 */
bool rl_electors_write_list(const struct rl_electors *electors, char out[RL_ELECTOR_LIST_MAX]);

/* "12@10.0.0.5:6379", of a cluster "12@ID", as markers have it. */
#define RL_TERM_TEXT_MAX (21 + REDLOCK_ADDRESS_MAX)
void rl_term_write(const struct rl_term *term, char out[RL_TERM_TEXT_MAX]);

#endif
