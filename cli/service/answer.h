/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a redlockd answers: a status with JSON, or a stream of events. An answer is one of the
 * service's own only if it has `code`, or is what was requested: anything else may be a
 * proxy's, and then it is not known what happened.
 */
#ifndef CLI_SERVICE_ANSWER_H
#define CLI_SERVICE_ANSWER_H

#include <redlock.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_read.h"

#define SERVICE_DETAIL_MAX 512

/* What is known of a request. */
enum service_outcome {
    SERVICE_UNDER_WAY,   /* nothing new */
    SERVICE_EVENT,       /* its stream has sent an event, and goes on */
    SERVICE_ANSWERED,    /* by the service, also with the event `lost`: status, code, body */
    SERVICE_UNREACHABLE, /* nothing was sent */
    SERVICE_UNKNOWN,     /* it was sent, and what became of it is not known; or its stream has
                            ended without a last word */
};

struct service_answer {
    enum service_outcome outcome;
    int status;                      /* of HTTP; EVENT: 200 */
    int error;                       /* enum redlock_error that means the same; OK for 2xx. Not
                                        ANSWERED: NOQUORUM if trying again may help */
    int64_t sent_ns;                 /* before the first byte of the request was sent */
    int64_t retry_ms;                /* Retry-After; 0: none */
    char event[16];                  /* EVENT: its name */
    char code[32];                   /* for programs; empty: none */
    char detail[SERVICE_DETAIL_MAX]; /* for people */
    char *text;                      /* owned; NULL: the body is in that of the call */
    struct rl_json_value body;
};

/* How much of an answer has come. */
enum service_extent {
    SERVICE_PART,   /* not all of it */
    SERVICE_WHOLE,  /* an answer, from head to end */
    SERVICE_STREAM, /* the head of a stream */
    SERVICE_ALIEN,  /* no HTTP */
};

/* Looks at a text that ends with a NUL; `ended`: no more will come. *body_at: what is behind
 * the head, of a WHOLE one or a STREAM. */
enum service_extent service_answer_extent(const char *text, size_t size, bool ended,
                                          size_t *body_at);

/* Reads a WHOLE answer. */
void service_answer_read(struct service_answer *a, const char *text, const char *body);

/*
 * Reads the first event of a stream. How many bytes it has; 0: not all of them are there. A
 * comment is no event, and leaves the outcome UNDER_WAY; `lost` is ANSWERED.
 */
size_t service_answer_read_event(struct service_answer *a, const char *text, size_t size);

/* A success that does not have what was requested is another program's: what happened
 * is not known. */
void service_answer_is_foreign(struct service_answer *a);

void service_answer_free(struct service_answer *a);

#endif
