/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/sim/trace.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/answer.h"
#include "lab/sim/world.h"

#define WORD_SHOWN 24
#define REPLY_SHOWN 60

const char *sim_error_name(int error)
{
    switch (error) {
#define NAME(name, number, text)                                                               \
    case number:                                                                               \
        return #name;
        REDLOCK_ERRORS(NAME)
#undef NAME
    }
    return "?";
}

static void print_time(struct sim_world *world)
{
    fprintf(world->trace, "[%9lld.%03lld] ", (long long)(world->now_ns / RL_NS_PER_MS),
            (long long)(world->now_ns / 1000 % 1000));
}

void sim_trace(struct sim_world *world, const char *format, ...)
{
    va_list args;

    if (!world->trace)
        return;
    print_time(world);
    va_start(args, format);
    vfprintf(world->trace, format, args);
    va_end(args);
    fputc('\n', world->trace);
}

static void print_word(FILE *out, struct rl_slice word)
{
    size_t shown = word.size < WORD_SHOWN ? word.size : 10;

    fprintf(out, " %.*s%s", (int)shown, word.data, shown < word.size ? ".." : "");
}

static void print_reply(FILE *out, const char *reply, size_t size)
{
    for (size_t i = 0; i < size && i < REPLY_SHOWN; i++) {
        if (reply[i] == '\r')
            continue;
        fputc(reply[i] == '\n' ? ' ' : reply[i], out);
    }
    if (size > REPLY_SHOWN)
        fputs("..", out);
}

void sim_trace_command(struct sim_world *world, const struct sim_conn *conn,
                       const struct fake_words *words, const char *reply, size_t size)
{
    FILE *out = world->trace;
    bool scripted = rl_slice_starts(words->word[0], "EVAL");
    const char *name = scripted ? fake_scripts_name(words) : NULL;
    uint32_t first = scripted ? 3 : 1;

    print_time(world);
    fprintf(out, "c%u > n%u ", conn->client->index + 1, conn->node->index + 1);
    if (name)
        fputs(name, out);
    else
        fprintf(out, "%.*s", (int)words->word[0].size, words->word[0].data);
    for (uint32_t i = first; i < words->count; i++)
        print_word(out, words->word[i]);
    fputs(" -> ", out);
    print_reply(out, reply, size);
    if (!conn->client_open)
        fputs(" (on a connection that its client has closed)", out);
    fputc('\n', out);
}
