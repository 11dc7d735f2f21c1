/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The other end of one connection, without the connection: it reads what a session has queued,
 * remembers it in order, and makes answers, friendly or hostile. It also reads along what is
 * delivered, so that it can be said independently of the engine which requests for which value
 * were granted, and until when a server would keep the key because of it.
 */
#ifndef REDLOCK_FUZZ_EVIL_H
#define REDLOCK_FUZZ_EVIL_H

#include "engine/engine.h"
#include "fuzz.h"

#define EVIL_VALUES_MAX 256
#define EVIL_VALUE_BYTES (REDLOCK_VALUE_MAX + 1)

/* One value that was ever requested: what its grants are worth on each node. */
struct ledger_entry {
    char value[EVIL_VALUE_BYTES];
    bool was_held; /* what is set from now on repairs a hold: it proves nothing */
    int64_t granted_until_ns[REDLOCK_NODES_MAX]; /* 0: not granted */
};

struct ledger {
    struct ledger_entry entry[EVIL_VALUES_MAX];
    size_t count;
    bool full; /* nothing can be said any more */
};

struct ledger_entry *ledger_find(struct ledger *ledger, const char *value, size_t size);

enum evil_kind {
    EVIL_OK,     /* AUTH, SELECT, CLIENT SETNAME */
    EVIL_LOAD,   /* SCRIPT LOAD */
    EVIL_PROBE,  /* a native command on the key that never exists */
    EVIL_INFO,   /* which section is in `detail` */
    EVIL_MARKER, /* HMGET redlock.admit */
    EVIL_TIME,
    EVIL_SET,     /* SET NX: an acquire or a repair */
    EVIL_ACQUIRE, /* by script */
    EVIL_EXTEND,
    EVIL_DELETE,
    EVIL_PEEK,
    EVIL_TEXT, /* GETRANGE, GET */
    EVIL_PING,
    EVIL_NUMBER, /* HSET, DEL and scripts that answer a number */
    EVIL_SCRIPT, /* PROBE */
    EVIL_TICKET,
    EVIL_LOOK,
};

struct evil_request {
    enum evil_kind kind;
    uint8_t detail;
    char value[EVIL_VALUE_BYTES];
    int64_t queued_ns;
    int64_t ttl_ns;
    bool repairs;
};

struct evil_node {
    uint8_t index;
    size_t seen; /* bytes of the session's output that were read, of those still in it */
    struct evil_request *request;
    size_t request_count;
    size_t request_capacity;
    size_t answered;  /* how many of them the made answers are about */
    size_t delivered; /* how many of them the delivered replies are about */
    bool checked;     /* the answer about the marker was delivered on this connection */
    char input[RL_SESSION_INPUT_SIZE]; /* delivered, and not a whole reply yet */
    size_t input_size;
    int64_t clock_step_us;
    uint8_t incarnation; /* of the made-up server: its run_id and replid */
    bool young;
};

void evil_connect(struct evil_node *node);
void evil_free(struct evil_node *node);

/* Reads what the session has queued since the last time. */
void evil_read(struct evil_node *node, const struct rl_session *session, struct ledger *ledger,
               int64_t now_ns);

/* The session has handed over this many bytes of its output. */
void evil_took(struct evil_node *node, size_t size);

/* An answer to the oldest request without one; choices come from the input. Bytes written. */
size_t evil_answer(struct evil_node *node, struct fuzz_input *input, int64_t now_ns, char *out,
                   size_t size);

/* These bytes are about to be given to the session. */
void evil_deliver(struct evil_node *node, const char *bytes, size_t size, struct ledger *ledger,
                  bool guarded);

#endif
