/* SPDX-License-Identifier: BSD-2-Clause */
/* Signals as events of the loop: TERM and INT end the daemon, HUP makes it read
 * its files again. */
#ifndef REDLOCKD_SYSTEM_SIGNALS_H
#define REDLOCKD_SYSTEM_SIGNALS_H

#include "system/loop.h"

struct signals {
    struct loop_source source;
    struct loop *loop; /* NULL: not open */
    void *context;
    void (*on_end)(void *context);
    void (*on_reload)(void *context);
};

/* From now on TERM, INT and HUP wait for signals_open(): none ends a process that
 * has just begun. */
void signals_hold(void);
/* They do again what they do by default; for a process that becomes another program. */
void signals_let_go(void);

/* The fields below `loop` are set by the caller. Also ignores PIPE and XFSZ. 0, or
 * -1 with errno. */
int signals_open(struct signals *signals, struct loop *loop);
/* Also of one that is not open. */
void signals_close(struct signals *signals);

#endif
