/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * No wake-up is lost: where no process died, no waiter is served by the timer of its heartbeat.
 */
#include "check.h"
#include "loads.h"

#include <redlock.h>

enum { MISHAPS = 1 }; /* a machine may stand still for a second */

CASE_OF(new_clients, "Clients that meet for the first time lose no wake-up.",
        CHECK_BETWEEN(0, MISHAPS, wakeup_lost(0, WAKEUP_ROUNDS, MISHAPS + 1)));

CASE_OF(new_clients_fair, "Fair clients that meet for the first time lose no wake-up.",
        CHECK_BETWEEN(0, MISHAPS, wakeup_lost(REDLOCK_FAIR, WAKEUP_ROUNDS, MISHAPS + 1)));
