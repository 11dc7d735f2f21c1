/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lock inside a libuv loop: uv_poll_t on redlock_fd().
 *
 *     redlock dev -c 3 -- ./libuv_loop
 */
#include <redlock.h>
#include <stdio.h>
#include <uv.h>

#include "life.h"

struct app {
    redlock *client;
    struct life life;
};

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct app *app = poll->data;

    (void)status;
    (void)events;
    life_drain(&app->life, app->client);
    if (app->life.is_over) {
        uv_close((uv_handle_t *)poll, NULL);
    }
}

int main(void)
{
    struct app app;
    uv_poll_t poll;

    if (redlock_open(NULL, &app.client) != REDLOCK_OK) {
        fprintf(stderr, "%s\n", redlock_detail());
        return 1;
    }
    if (!life_begin(&app.life, app.client, "example:libuv")) {
        redlock_close(app.client);
        return 1;
    }
    poll.data = &app;
    uv_poll_init(uv_default_loop(), &poll, redlock_fd(app.client));
    uv_poll_start(&poll, UV_READABLE, on_readable);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    redlock_close(app.client);
    uv_loop_close(uv_default_loop());
    return app.life.status;
}
