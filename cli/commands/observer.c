/* SPDX-License-Identifier: BSD-2-Clause */
#include "commands/observer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "report/report.h"
#include "settings/command.h"
#include "system/signals.h"
#include "system/timer.h"
#include "ui/exit.h"
#include "ui/message.h"

/* A lock whose expiry was just missed, or is renewed in its last moment, is not asked
 * for at once. */
#define SLEEP_MIN_NS (20 * NS_PER_MS)

int observer_take_name(struct observer *o, struct args *a, const char *name)
{
    a->argv[o->count++] = a->argv[a->at - 1];
    o->names = a->argv;
    return command_check_name(name);
}

int observer_open(struct observer *o)
{
    if (o->count == 0)
        return message_usage("NAME is missing: which lock?");
    int status = settings_complete(&o->settings);
    if (status == 0)
        status = source_open(&o->source, &o->settings);
    if (status)
        return status;
    o->signal_fd = signals_take();
    if (o->signal_fd < 0)
        return EXIT_INTERNAL;
    o->expires_ns = TIMER_NEVER;
    return 0;
}

void observer_close(struct observer *o)
{
    source_close(&o->source, &o->settings);
    settings_free(&o->settings);
}

void observer_note(struct observer *o, const redlock_info *info, const redlock_report *report)
{
    int64_t left_ms = info->held ? report_longest_ms(info, report) : -1;
    int64_t expires_ns = timer_now_ns() + (left_ms + 1) * NS_PER_MS;
    if (left_ms >= 0 && expires_ns < o->expires_ns)
        o->expires_ns = expires_ns;
}

bool observer_sleep(struct observer *o, int64_t delay_ms, int64_t end_ns)
{
    struct pollfd watched[] = {
        {.fd = o->signal_fd, .events = POLLIN},
        {.fd = o->needs_reader ? STDOUT_FILENO : -1},
    };
    int64_t now_ns = timer_now_ns();
    int64_t wake_ns = now_ns + delay_ms * NS_PER_MS;
    if (o->expires_ns < wake_ns)
        wake_ns = o->expires_ns;
    if (wake_ns < now_ns + SLEEP_MIN_NS)
        wake_ns = now_ns + SLEEP_MIN_NS;
    if (wake_ns > end_ns)
        wake_ns = end_ns;
    o->expires_ns = TIMER_NEVER;
    do {
        int64_t left_ms = (wake_ns - timer_now_ns() + NS_PER_MS - 1) / NS_PER_MS;
        if (poll(watched, 2, left_ms > 0 ? (int)left_ms : 0) < 0 && errno != EINTR)
            return false;
        if (watched[0].revents)
            o->signal = signals_next_fatal();
        if (watched[1].revents & POLLERR)
            o->signal = SIGPIPE;
    } while (!o->signal && timer_now_ns() < wake_ns);
    return !o->signal;
}
