/* SPDX-License-Identifier: BSD-2-Clause */
/* What every http_set_user() of the daemon is given: the first member of what a handler keeps. */
#ifndef REDLOCKD_HTTP_USER_H
#define REDLOCKD_HTTP_USER_H

#include "http/server.h"

struct http_user {
    void (*ended)(struct http_user *user, enum http_ended how);
};

#endif
