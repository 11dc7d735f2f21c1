/* SPDX-License-Identifier: BSD-2-Clause */
#include "live.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "text.h"
#include "timer.h"

#define ASK_EVERY_NS 1000000000LL
#define LINE_MAX_BYTES 512
#define COLUMNS_DEFAULT 80

void live_begin(struct live *l, bool wanted)
{
    *l = (struct live){
        .on = wanted && isatty(STDERR_FILENO),
        .started_ns = timer_now_ns(),
    };
}

static void ask(struct live *l, redlock *client, const char *name, int64_t now_ns)
{
    if (l->asked && now_ns - l->asked_ns < ASK_EVERY_NS)
        return;
    redlock_info info = {.size = sizeof info};
    l->error = redlock_query(client, name, &info, NULL);
    l->known = l->error == REDLOCK_OK && info.holder[0];
    l->info = info;
    l->asked = true;
    l->asked_ns = timer_now_ns();
}

static size_t terminal_columns(void)
{
    struct winsize size;
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : COLUMNS_DEFAULT;
}

/* Cuts `line` to `columns` characters: a line that wraps could not be erased. */
static void cut(char *line, size_t columns)
{
    size_t used = 0;
    char *c = line;
    for (; *c && used + 1 < columns; used++) {
        size_t length = text_utf8(c);
        c += length ? length : 1;
    }
    *c = '\0';
}

void live_draw(struct live *l, redlock *client, const char *name)
{
    char line[LINE_MAX_BYTES], shown[TEXT_QUOTE_MAX], holder[TEXT_HOLDER_MAX];
    char waited[TEXT_TIME_MAX], left[TEXT_TIME_MAX];
    if (!l->on)
        return;
    ask(l, client, name, timer_now_ns());
    int64_t now_ns = timer_now_ns();
    text_quote(shown, name);
    text_time(waited, (now_ns - l->started_ns) / NS_PER_MS);
    int used = snprintf(line, sizeof line, "waiting for %s ... %s", shown, waited);
    if (l->known && used > 0) {
        int64_t left_ms = l->info.ttl_ms - (now_ns - l->asked_ns) / NS_PER_MS;
        text_holder(holder, l->info.holder);
        text_time(left, left_ms > 0 ? left_ms : 0);
        if (l->info.ttl_ms < 0)
            snprintf(line + used, sizeof line - (size_t)used, " (held by %s)", holder);
        else
            snprintf(line + used, sizeof line - (size_t)used, " (held by %s, %s left)", holder,
                     left);
    }
    if (l->error && used > 0)
        snprintf(line + used, sizeof line - (size_t)used, " (%s)", redlock_strerror(l->error));
    cut(line, terminal_columns());
    fprintf(stderr, "\r%s\033[K", line);
    fflush(stderr);
    l->shown = true;
}

void live_erase(struct live *l)
{
    if (!l->shown)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    l->shown = false;
}
