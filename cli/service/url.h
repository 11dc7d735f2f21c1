/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a redlockd listens:
 * unix:/path,
 * http+unix://%2Fpath,
 * http://HOST[:PORT],
 * https://HOST[:PORT]. */
#ifndef CLI_SERVICE_URL_H
#define CLI_SERVICE_URL_H

#include <stdbool.h>

#define URL_HOST_MAX 256
#define URL_PORT_MAX 8

struct service_url {
    char path[108]; /* of a unix socket; empty: TCP */
    char host[URL_HOST_MAX];
    char port[URL_PORT_MAX];
    bool tls;
};

/* NULL, or what is wrong with the text, as the rest of a sentence. */
const char *service_url_read(struct service_url *url, const char *text);

#endif
