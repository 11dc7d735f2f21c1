/* SPDX-License-Identifier: BSD-2-Clause */
/* What a fake server answers to one command. */
#ifndef REDLOCK_TESTS_FAKE_COMMANDS_H
#define REDLOCK_TESTS_FAKE_COMMANDS_H

#include "fake.h"

enum { FAKE_ARGS_MAX = 32, FAKE_REPLY_MAX = 2048 };

struct fake_request {
    int argc;
    char *argv[FAKE_ARGS_MAX];
};

/* `reply` holds FAKE_REPLY_MAX bytes. */
void fake_execute(struct fake_shared *shared, const struct fake_request *q, char *reply);

#endif
