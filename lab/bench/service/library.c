/* SPDX-License-Identifier: BSD-2-Clause */
#include "library.h"

#include <err.h>
#include <stdio.h>
#include <time.h>

#include "callers.h"
#include "io/clock.h"

struct user {
    redlock *client;
    struct library_result *result;
    redlock_lock *lock;
    unsigned index;
    uint64_t number;
    int64_t began_ns, end_ns;
    unsigned *busy;
};

static void begin(struct user *user);

static void handle(const redlock_event *event)
{
    struct user *user = event->data;

    if (event->error)
        errx(1, "%s: %s: %s", redlock_event_text(event->type), redlock_error_name(event->error),
             event->detail);
    if (event->type == REDLOCK_EVENT_ACQUIRED) {
        samples_add(&user->result->acquire_us, (double)(rl_now_ns() - user->began_ns) / 1e3);
        if (redlock_start_release(event->lock) != REDLOCK_OK)
            errx(1, "release: %s", redlock_detail());
    } else if (event->type == REDLOCK_EVENT_RELEASED) {
        redlock_lock_free(event->lock);
        user->result->cycles++;
        if (rl_now_ns() < user->end_ns)
            begin(user);
        else
            --*user->busy;
    }
}

static void begin(struct user *user)
{
    char name[64], tag[REDLOCK_IDEMPOTENCY_KEY_SIZE + 1];
    redlock_request request =
        REDLOCK_REQUEST(.flags = REDLOCK_FENCED | REDLOCK_KEEP, .data = user, .label = "bench",
                        .idempotency_key = tag);

    snprintf(name, sizeof name, "bench:library:%u", user->index);
    snprintf(tag, sizeof tag, "%04u%018llu", user->index, (unsigned long long)user->number++);
    user->began_ns = rl_now_ns();
    if (redlock_start_acquire(user->client, name, 30000, &request, &user->lock) != REDLOCK_OK)
        errx(1, "acquire: %s", redlock_detail());
}

static double cpu_us(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec * 1e6 + (double)used.tv_nsec / 1e3;
}

void library_run(redlock *client, unsigned callers, int64_t duration_ns,
                 struct library_result *result)
{
    static struct user users[CALLERS_MAX];
    static uint64_t runs;
    int64_t from_ns = rl_now_ns();
    double before_us = cpu_us();
    unsigned busy = callers;

    runs++;
    for (unsigned i = 0; i < callers; i++) {
        users[i] = (struct user){.client = client,
                                 .result = result,
                                 .index = i,
                                 .number = runs << 32,
                                 .end_ns = from_ns + duration_ns,
                                 .busy = &busy};
        begin(&users[i]);
    }
    while (busy > 0) {
        const redlock_event *event;

        while (redlock_next(client, &event, busy > 0 ? 1000 : 0) == 1)
            handle(event);
    }
    result->cpu_us += cpu_us() - before_us;
    result->seconds += (double)(rl_now_ns() - from_ns) / 1e9;
}
