/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

#include "check.h"
#include "client.h"
#include "kinds.h"

struct cluster c;
redlock *a, *b;

void pair_begin(void)
{
    a = client_start(&c, 3, REDLOCK_THREAD);
    b = client_open_warm(&c, REDLOCK_THREAD);
}

void pair_release(redlock_lock *lock)
{
    client_unlock(lock);
    CHECK(kind_await_clean(&c));
}
