/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Questions to a redlockd: one connection each. An answer that came is one of the service's own
 * only if it has `code`, or is what was asked for: anything else may be a proxy's, and then it
 * is not known what happened.
 */
#ifndef CLI_SERVICE_ASK_H
#define CLI_SERVICE_ASK_H

#include <redlock.h>
#include <stdbool.h>
#include <stdint.h>

#include "service/channel.h"
#include "service/json_read.h"
#include "settings/settings.h"

#define SERVICE_TOKEN_MAX 512
#define SERVICE_DETAIL_MAX 512

struct service {
    struct service_url url;
    struct channel_tls tls;        /* points into the settings */
    char token[SERVICE_TOKEN_MAX]; /* of the token file; empty: none */
    bool insecure; /* it, and lease ids, go to other machines without TLS, too */
};

struct service_question {
    const char *method, *path; /* the path is encoded */
    const char *lease, *grant; /* headers; NULL: none */
    const char *body;          /* JSON; NULL: none */
    int64_t limit_ms;
    int cancel_fd; /* as in struct channel */
};

/* What is known after asking. */
enum service_outcome {
    SERVICE_ANSWERED,    /* by the service: status, code, body */
    SERVICE_UNREACHABLE, /* nothing was sent */
    SERVICE_UNKNOWN,     /* it was sent, and what became of it is not known */
    SERVICE_CANCELED,    /* the same, since cancel_fd became readable */
};

struct service_answer {
    enum service_outcome outcome;
    int status;                      /* of HTTP */
    int error;                       /* enum redlock_error that says the same; OK for 2xx. Not
                                        ANSWERED: NOQUORUM if trying again may help */
    int64_t began_ns;                /* before the first byte was sent */
    int64_t retry_ms;                /* Retry-After; 0: none */
    char code[32];                   /* for programs; empty: none */
    char detail[SERVICE_DETAIL_MAX]; /* for people */
    char *text;                      /* owned */
    struct json_value body;          /* in `text` */
};

/* After settings_complete(), of settings that name a service. 0, or an exit status
 * after saying why. */
int service_open(struct service *s, const struct settings *settings);
void service_close(struct service *s);

/* Fills the answer, which service_answer_free() ends. */
void service_ask(const struct service *s, const struct service_question *q,
                 struct service_answer *a);
void service_answer_free(struct service_answer *a);

/* A success that does not have what was asked for is another program's: what happened
 * is not known. */
void service_answer_is_foreign(struct service_answer *a);

/* "/v1/locks/NAME", as a path of a URL. */
#define SERVICE_PATH_MAX (3 * REDLOCK_NAME_MAX + 64)
#define SERVICE_LOCKS "/v1/locks/"
#define SERVICE_BREAKS "/v1/breaks/"
void service_path(char out[SERVICE_PATH_MAX], const char *collection, const char *name);

#endif
