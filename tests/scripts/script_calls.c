/* SPDX-License-Identifier: BSD-2-Clause */
#include "script_calls.h"

#include "check.h"

#include "rl_scripts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARKER "redlock.admit"

struct server node;
const char *const script_kinds[] = {"m", "s", "o", "k", NULL};
long long begun_us;

void begin(void)
{
    server_start(&node, NULL);
    begun_us = server_now_ms(&node) * 1000;
}

long long pttl(const char *key)
{
    return server_int(&node, "PTTL", key, NULL);
}

enum { ARGUMENTS_MAX = 40, KEY_SIZE = 128, PART_SIZE = 256 };

/* One EVAL being put together; the keys live here until it is sent. */
struct eval {
    int count;
    int key_count;
    const char *argument[ARGUMENTS_MAX];
    char key[16][KEY_SIZE];
    char number[16];
};

static void add_key(struct eval *e, char kind, const char *name)
{
    static const char *const prefix[] = {['l'] = "redlock:",
                                         ['f'] = "redlock.fence:",
                                         ['q'] = "redlock.queue:",
                                         ['a'] = "redlock.alive:"};
    char *key = e->key[e->key_count++];
    snprintf(key, KEY_SIZE, "%s%s", prefix[(unsigned char)kind], name);
    e->argument[e->count++] = key;
}

static const char *eval_send(struct eval *e, const struct server *s)
{
    const char **a = e->argument;
    snprintf(e->number, sizeof e->number, "%d", e->key_count);
    a[2] = e->number;
    return server_cmd(s, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10],
                      a[11], a[12], a[13], a[14], a[15], a[16], a[17], a[18], a[19], a[20],
                      a[21], a[22], a[23], a[24], a[25], a[26], a[27], a[28], a[29], a[30],
                      NULL);
}

/*
 * Runs a script. Its keys are, for each of the names (which commas part), the lock, the fence
 * counter, the queue and the living, by the letters of `kinds`; M: the marker, behind them.
 */
static const char *call(const struct server *s, const char *script, const char *kinds,
                        const char *names, const char *const *words)
{
    struct eval e = {.count = 3, .argument = {"EVAL", script}};
    char copy[KEY_SIZE], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", names);
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        for (const char *kind = kinds; *kind != '\0' && *kind != 'M'; kind++)
            add_key(&e, *kind, name);
    if (strchr(kinds, 'M') != NULL) {
        e.argument[e.count++] = MARKER;
        e.key_count++;
    }
    for (; *words != NULL; words++)
        e.argument[e.count++] = *words;
    return eval_send(&e, s);
}

#define CALL(s, script, kinds, names, ...)                                                     \
    call(s, RL_SCRIPT_##script, kinds, names, (const char *const[]){__VA_ARGS__, NULL})

static const char *or_else(const char *given, const char *otherwise)
{
    return given != NULL ? given : otherwise;
}

static const char *take_script(const char *kind)
{
    switch (kind ? kind[0] : 'm') {
    case 'm':
        return RL_SCRIPT_TAKE_MUTEX;
    case 's':
        return RL_SCRIPT_TAKE_SHARED;
    case 'o':
        return RL_SCRIPT_TAKE_OWNER;
    case 'k':
        return RL_SCRIPT_TAKE_SLOTS;
    default:
        FAIL("there is no kind %s", kind);
    }
}

const char *call_take(const struct server *s, struct take t)
{
    const char *const words[] = {
        or_else(t.value, "v"),
        or_else(t.ttl, "20000"),
        or_else(t.waiter, ""),
        or_else(t.ticket, "0"),
        or_else(t.life, "3000"),
        or_else(t.fence_life, "0"),
        or_else(t.identity, "0"),
        or_else(t.incarnation, "i1"),
        or_else(t.group, ""),
        or_else(t.slot, "0"),
        NULL,
    };
    return call(s, take_script(t.kind), "lfqaM", or_else(t.name, "x"), words);
}

/* The reply of wait.lua with the elements that it leaves out. */
static const char *as_take(const char *reply)
{
    static char out[PART_SIZE];
    if (part_count(reply) == 1)
        snprintf(out, sizeof out, "1\n%s\n\n0\n\n\n0", strcmp(reply, "1") == 0 ? "0" : reply);
    else
        snprintf(out, sizeof out, "0\n%s\n\n0\n\n\n%s\n%s\n%s", part(reply, 1), part(reply, 2),
                 part(reply, 3), part(reply, 4));
    return out;
}

const char *call_wait(const struct server *s, struct take t)
{
    const char *const words[] = {
        or_else(t.value, "v"),
        or_else(t.ttl, "20000"),
        or_else(t.waiter, ""),
        or_else(t.ticket, "0"),
        or_else(t.life, "3000"),
        t.fence_life ? or_else(t.incarnation, "i1") : NULL,
        NULL,
    };
    return as_take(
        call(s, RL_SCRIPT_WAIT, t.fence_life ? "lqaf" : "lqa", or_else(t.name, "x"), words));
}

const char *call_acquire(const struct server *s, struct acquire a)
{
    return CALL(s, ACQUIRE, a.strict ? "lfM" : "lf", "x", or_else(a.value, "v"), "20000",
                a.incarnation, a.in_doubt ? "?" : NULL);
}

const char *call_give(const struct server *s, struct give g)
{
    const char *name = or_else(g.name, "x"), *waiter = or_else(g.waiter, "");
    const char *ticket = or_else(g.ticket, "0");
    return g.value ? CALL(s, GIVEBACK, "lqa", name, g.value, waiter, ticket, "3000")
                   : CALL(s, LEAVE, "lqa", name, waiter, ticket, "3000");
}

const char *call_renew(const struct server *s, const char *names, const char *value,
                       const char *ttl)
{
    return CALL(s, RENEW, "l", names, value, ttl);
}

const char *call_align(const struct server *s, const char *names, const char *value,
                       const char *token)
{
    return CALL(s, ALIGN, "lf", names, value, token, "86400000", "i1");
}

const char *call_ticket(const struct server *s, const char *names)
{
    return call(s, RL_SCRIPT_TICKET, "la", names, (const char *const[]){NULL});
}

const char *call_look(const struct server *s, const char *name)
{
    return call(s, RL_SCRIPT_LOOK, "lfqa", name, (const char *const[]){NULL});
}

const char *call_peek(const struct server *s, const char *name)
{
    return call(s, RL_SCRIPT_PEEK, "lq", name, (const char *const[]){NULL});
}

const char *call_break(const struct server *s, const char *name, const char *fingerprint)
{
    return CALL(s, BREAK, "lqa", name, fingerprint, "60000");
}

const char *call_release(const struct server *s, const char *name, const char *value)
{
    return CALL(s, RELEASE, "lqa", name, value, "1");
}

const char *part(const char *reply, int index)
{
    static char parts[8][PART_SIZE];
    static unsigned next;
    char *out = parts[next++ % 8];
    for (; index > 0; index--) {
        reply = strchr(reply, '\n');
        if (reply == NULL)
            return "";
        reply++;
    }
    snprintf(out, PART_SIZE, "%.*s", (int)strcspn(reply, "\n"), reply);
    return out;
}

long long part_int(const char *reply, int index)
{
    const char *text = part(reply, index);
    char *end = NULL;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end != '\0')
        FAIL("element %d of \"%s\" is no number", index, reply);
    return number;
}

int part_count(const char *reply)
{
    int count = reply[0] != '\0';
    for (; *reply != '\0'; reply++)
        count += *reply == '\n';
    return count;
}

static bool part_is(const char *reply, const char *wanted)
{
    char *value;
    int index;

    if (wanted[0] == '#')
        return part_count(reply) == atoi(wanted + 1);
    index = (int)strtol(wanted, &value, 10);
    if (value[0] == '=')
        return strcmp(part(reply, index), value + 1) == 0;
    return part_int(reply, index) >= atoll(value + 1) / 2 &&
           part_int(reply, index) <= atoll(value + 1);
}

void check_parts(const char *file, int line, const char *expected, const char *reply)
{
    char copy[PART_SIZE];

    snprintf(copy, sizeof copy, "%s", expected);
    for (char *wanted = copy, *end; wanted; wanted = end ? end + 2 : NULL) {
        end = strstr(wanted, ", ");
        if (end)
            *end = '\0';
        if (!part_is(reply, wanted))
            check_fail(file, line, "expected %s in \"%s\"", wanted, reply);
    }
}

long long server_now_ms(const struct server *s)
{
    const char *time = server_cmd(s, "TIME", NULL);
    return part_int(time, 0) * 1000 + part_int(time, 1) / 1000;
}
