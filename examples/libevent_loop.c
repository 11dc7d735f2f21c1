/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lock inside a libevent loop: an event on redlock_fd().
 *
 *     redlock dev -c 3 -- ./libevent_loop
 */
#include <event2/event.h>
#include <redlock.h>
#include <stdio.h>

#include "life.h"

struct app {
    redlock *client;
    struct event_base *base;
    struct life life;
};

static void on_readable(evutil_socket_t fd, short what, void *data)
{
    struct app *app = data;

    (void)fd;
    (void)what;
    life_drain(&app->life, app->client);
    if (app->life.is_over) {
        event_base_loopbreak(app->base);
    }
}

int main(void)
{
    struct app app;
    struct event *readable;

    if (redlock_open(NULL, &app.client) != REDLOCK_OK) {
        fprintf(stderr, "%s\n", redlock_detail());
        return 1;
    }
    if (!life_begin(&app.life, app.client, "example:libevent")) {
        redlock_close(app.client);
        return 1;
    }
    app.base = event_base_new();
    readable =
        event_new(app.base, redlock_fd(app.client), EV_READ | EV_PERSIST, on_readable, &app);
    event_add(readable, NULL);
    event_base_dispatch(app.base);
    event_free(readable);
    event_base_free(app.base);
    redlock_close(app.client);
    return app.life.status;
}
