/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Overtaking is allowed without REDLOCK_FAIR; keeping a waiter away for as long as one likes is
 * not.
 */
#include "check.h"
#include "hog.h"

#include <redlock.h>

enum { PATIENCE_MS = 4000, SERVICES = 5 };

CASE(hog, "A waiter is served beside a client that asks again with every release.")
{
    CHECK_INT(SERVICES, hog_beside_asker(0, SERVICES, PATIENCE_MS));
}

CASE(hog_fair,
     "A fair waiter is served beside a fair client that asks again with every release.")
{
    CHECK_INT(SERVICES, hog_beside_asker(REDLOCK_FAIR, SERVICES, PATIENCE_MS));
}

CASE(triers, "A waiter is served beside several clients that try all the time.")
{
    CHECK_INT(SERVICES, hog_beside_triers(SERVICES, PATIENCE_MS));
}
