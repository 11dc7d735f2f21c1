/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Without REDLOCK_FAIR a newcomer may overtake a waiter, but may not keep it waiting for ever.
 */
#include "check.h"
#include "clock.h"
#include "loads.h"

#include <redlock.h>

enum { WAIT_MS = GIVE_UP_MS, SERVICES = 5 };

CASE_OF(hog, "A waiter is served beside a client that requests again with every release.",
        CHECK_INT(SERVICES, hog_beside_asker(0, SERVICES, WAIT_MS)));

CASE_OF(hog_fair,
        "A fair waiter is served beside a fair client that requests again with every release.",
        CHECK_INT(SERVICES, hog_beside_asker(REDLOCK_FAIR, SERVICES, WAIT_MS)));

CASE_OF(triers, "A waiter is served beside several clients that try all the time.",
        CHECK_INT(SERVICES, hog_beside_triers(SERVICES, WAIT_MS)));
