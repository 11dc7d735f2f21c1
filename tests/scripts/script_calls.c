/* SPDX-License-Identifier: BSD-2-Clause */
#include "script_calls.h"

#include "check.h"

#include "rl_scripts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARKER "redlock.admit"

struct server node;
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

static void eval_begin(struct eval *e, const char *text)
{
    *e = (struct eval){.count = 3, .argument = {"EVAL", text}};
}

static void add_key(struct eval *e, const char *prefix, const char *name)
{
    char *key = e->key[e->key_count++];
    snprintf(key, KEY_SIZE, "%s%s", prefix, name);
    e->argument[e->count++] = key;
}

static void add(struct eval *e, const char *argument, const char *otherwise)
{
    e->argument[e->count++] = argument != NULL ? argument : otherwise;
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

static int count_names(const char *const *name)
{
    int count = 0;
    while (count < CALL_NAMES_MAX && name[count] != NULL)
        count++;
    return count;
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
    struct eval e;
    int count;
    if (t.name[0] == NULL)
        t.name[0] = "x";
    count = count_names(t.name);
    eval_begin(&e, take_script(t.kind));
    for (int i = 0; i < count; i++) {
        add_key(&e, "redlock:", t.name[i]);
        add_key(&e, "redlock.fence:", t.name[i]);
        add_key(&e, "redlock.queue:", t.name[i]);
        add_key(&e, "redlock.alive:", t.name[i]);
    }
    add_key(&e, MARKER, "");
    add(&e, t.value, "v");
    add(&e, t.ttl, "20000");
    add(&e, t.waiter, "");
    add(&e, t.ticket, "0");
    add(&e, t.life, "3000");
    add(&e, t.fence_life, "0");
    add(&e, t.identity, "0");
    add(&e, t.incarnation, "i1");
    add(&e, t.group, "");
    add(&e, t.slot, "0");
    return eval_send(&e, s);
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
    struct eval e;
    eval_begin(&e, RL_SCRIPT_WAIT);
    add_key(&e, "redlock:", t.name[0] ? t.name[0] : "x");
    add_key(&e, "redlock.queue:", t.name[0] ? t.name[0] : "x");
    add_key(&e, "redlock.alive:", t.name[0] ? t.name[0] : "x");
    if (t.fence_life)
        add_key(&e, "redlock.fence:", t.name[0] ? t.name[0] : "x");
    add(&e, t.value, "v");
    add(&e, t.ttl, "20000");
    add(&e, t.waiter, "");
    add(&e, t.ticket, "0");
    add(&e, t.life, "3000");
    if (t.fence_life)
        add(&e, t.incarnation, "i1");
    return as_take(eval_send(&e, s));
}

const char *call_acquire(const struct server *s, struct acquire a)
{
    struct eval e;
    eval_begin(&e, RL_SCRIPT_ACQUIRE);
    add_key(&e, "redlock:", "x");
    add_key(&e, "redlock.fence:", "x");
    if (a.strict)
        add_key(&e, MARKER, "");
    add(&e, a.value, "v");
    add(&e, "20000", NULL);
    add(&e, a.incarnation, NULL);
    if (a.in_doubt)
        add(&e, "?", NULL);
    return eval_send(&e, s);
}

const char *call_give(const struct server *s, struct give g)
{
    struct eval e;
    if (g.name[0] == NULL)
        g.name[0] = "x";
    eval_begin(&e, g.value ? RL_SCRIPT_GIVEBACK : RL_SCRIPT_LEAVE);
    for (int i = 0; i < count_names(g.name); i++) {
        add_key(&e, "redlock:", g.name[i]);
        add_key(&e, "redlock.queue:", g.name[i]);
        add_key(&e, "redlock.alive:", g.name[i]);
    }
    if (g.value)
        add(&e, g.value, NULL);
    add(&e, g.waiter, "");
    add(&e, g.ticket, "0");
    add(&e, NULL, "3000");
    return eval_send(&e, s);
}

/* The keys of names separated by commas, each with up to two prefixes. */
static void add_list(struct eval *e, const char *names, const char *first, const char *second)
{
    char copy[KEY_SIZE], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", names);
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        add_key(e, first, name);
        if (second != NULL)
            add_key(e, second, name);
    }
}

const char *call_renew(const struct server *s, const char *names, const char *value,
                       const char *ttl)
{
    struct eval e;
    eval_begin(&e, RL_SCRIPT_RENEW);
    add_list(&e, names, "redlock:", NULL);
    add(&e, value, NULL);
    add(&e, ttl, NULL);
    return eval_send(&e, s);
}

const char *call_align(const struct server *s, const char *names, const char *value,
                       const char *token)
{
    struct eval e;
    eval_begin(&e, RL_SCRIPT_ALIGN);
    add_list(&e, names, "redlock:", "redlock.fence:");
    add(&e, value, NULL);
    add(&e, token, NULL);
    add(&e, "86400000", NULL);
    add(&e, "i1", NULL);
    return eval_send(&e, s);
}

const char *call_ticket(const struct server *s, const char *names)
{
    struct eval e;
    eval_begin(&e, RL_SCRIPT_TICKET);
    add_list(&e, names, "redlock:", "redlock.alive:");
    return eval_send(&e, s);
}

const char *call_look(const struct server *s, const char *name)
{
    struct eval e;
    eval_begin(&e, RL_SCRIPT_LOOK);
    add_list(&e, name, "redlock:", "redlock.fence:");
    add_list(&e, name, "redlock.queue:", "redlock.alive:");
    return eval_send(&e, s);
}

const char *call_peek(const struct server *s, const char *name)
{
    struct eval e;
    eval_begin(&e, RL_SCRIPT_PEEK);
    add_list(&e, name, "redlock:", "redlock.queue:");
    return eval_send(&e, s);
}

const char *call_break(const struct server *s, const char *name, const char *fingerprint)
{
    struct eval e;
    eval_begin(&e, RL_SCRIPT_BREAK);
    add_key(&e, "redlock:", name);
    add_key(&e, "redlock.queue:", name);
    add_key(&e, "redlock.alive:", name);
    add(&e, fingerprint, NULL);
    add(&e, "60000", NULL);
    return eval_send(&e, s);
}

const char *call_release(const struct server *s, const char *name, const char *value)
{
    struct eval e;
    eval_begin(&e, RL_SCRIPT_RELEASE);
    add_list(&e, name, "redlock:", "redlock.queue:");
    add_list(&e, name, "redlock.alive:", NULL);
    add(&e, value, NULL);
    add(&e, "1", NULL);
    return eval_send(&e, s);
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
