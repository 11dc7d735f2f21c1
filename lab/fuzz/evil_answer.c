/* SPDX-License-Identifier: BSD-2-Clause */
/* What a server might answer, friendly or not. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "evil.h"

#define WALL_US ((int64_t)1700000000 * 1000000)

struct writer {
    char *out;
    size_t size;
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *w, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    w->used += (size_t)vsnprintf(w->out + w->used, w->size - w->used, format, list);
    va_end(list);
}

static void put_bulk(struct writer *w, const char *text)
{
    put(w, "$%zu\r\n%s\r\n", strlen(text), text);
}

static void put_error(struct writer *w, struct fuzz_input *input)
{
    static const char *const errors[] = {
        "ERR unknown command",
        "NOSCRIPT No matching script. Please use EVAL.",
        "NOAUTH Authentication required.",
        "NOPERM this user has no permissions",
        "LOADING Redis is loading the dataset in memory",
        "READONLY You can't write against a read only replica.",
        "OOM command not allowed when used memory > 'maxmemory'.",
        "WRONGTYPE Operation against a key holding the wrong kind of value",
        "ERR max number of clients reached",
        "BUSY Redis is busy running a script.",
    };

    put(w, "-%s\r\n", errors[fuzz_byte(input) % (sizeof errors / sizeof errors[0])]);
}

static void write_identity(const struct evil_node *node, char out[RL_IDENTITY_MAX])
{
    snprintf(out, RL_IDENTITY_MAX, "%039d%x:%039d%x", node->index, node->incarnation & 15,
             node->index, node->incarnation >> 4);
}

static void put_info(struct writer *w, const struct evil_node *node, uint8_t section, bool bad)
{
    char text[512] = "";
    char identity[RL_IDENTITY_MAX];

    write_identity(node, identity);
    switch (section) {
    case 's':
        snprintf(text, sizeof text,
                 "# Server\r\nredis_version:7.0.15\r\nrun_id:%.40s\r\nuptime_in_seconds:%d\r\n",
                 identity, node->young ? 3 : 90000);
        break;
    case 'r':
        snprintf(text, sizeof text, "# Replication\r\nrole:%s\r\nmaster_replid:%s\r\n",
                 bad ? "slave" : "master", identity + 41);
        break;
    case 'p':
        snprintf(text, sizeof text, "# Persistence\r\nloading:%d\r\naof_enabled:0\r\n", bad);
        break;
    default:
        snprintf(text, sizeof text, "maxmemory:0\r\nmaxmemory_policy:noeviction\r\n");
    }
    put_bulk(w, text);
}

static void put_time(struct writer *w, const struct evil_node *node, int64_t now_ns, bool bad)
{
    int64_t now_us = WALL_US + now_ns / 1000 + node->clock_step_us;
    char seconds[24];
    char microseconds[24];

    if (bad)
        now_us += 7000000;
    snprintf(seconds, sizeof seconds, "%" PRId64, now_us / 1000000);
    snprintf(microseconds, sizeof microseconds, "%" PRId64, now_us % 1000000);
    put(w, "*2\r\n");
    put_bulk(w, seconds);
    put_bulk(w, microseconds);
}

static void put_acquired(struct writer *w, struct evil_node *node, struct fuzz_input *input,
                         bool bad)
{
    char identity[RL_IDENTITY_MAX];
    uint8_t choice = fuzz_byte(input);

    write_identity(node, identity);
    if (bad && (choice & 1)) {
        put(w, "*2\r\n:-2\r\n:%d\r\n", choice * 10);
        return;
    }
    put(w, "*5\r\n:%d\r\n:%d\r\n", !bad, (int)fuzz_byte(input) - 3);
    put_bulk(w, choice & 2 ? "" : identity);
    put(w, ":%d\r\n", choice & 4 ? 60000 : choice * 100);
    put_bulk(w, choice & 8 ? "another identity" : identity);
}

static void put_marker(struct writer *w, struct evil_node *node, bool bad)
{
    char identity[RL_IDENTITY_MAX];

    write_identity(node, identity);
    put(w, "*2\r\n");
    if (bad) {
        put(w, "$-1\r\n$-1\r\n");
    } else {
        put_bulk(w, identity);
        put_bulk(w, "60000");
    }
}

/* What such a request is answered with, or `bad`: the other possible answer. */
static void put_fitting(struct writer *w, struct evil_node *node,
                        const struct evil_request *request, struct fuzz_input *input, bool bad,
                        int64_t now_ns)
{
    switch (request->kind) {
    case EVIL_OK:
        put(w, bad ? "-ERR not you\r\n" : "+OK\r\n");
        return;
    case EVIL_LOAD:
        put(w, "$40\r\n%040d\r\n", 7);
        return;
    case EVIL_PROBE:
        put(w, bad ? "-NOPERM this user has no permissions\r\n" : ":7\r\n");
        return;
    case EVIL_INFO:
        put_info(w, node, request->detail, bad);
        return;
    case EVIL_MARKER:
        put_marker(w, node, bad);
        return;
    case EVIL_TIME:
        put_time(w, node, now_ns, bad);
        return;
    case EVIL_SET:
        put(w, bad ? "$-1\r\n" : "+OK\r\n");
        return;
    case EVIL_ACQUIRE:
        put_acquired(w, node, input, bad);
        return;
    case EVIL_EXTEND:
        if (request->detail)
            put(w, bad ? "$-1\r\n" : "+OK\r\n");
        else
            put(w, ":%d\r\n", !bad);
        return;
    case EVIL_PEEK:
        put(w, "*3\r\n:%d\r\n", bad ? -2 : (int)fuzz_number(input, 2));
        put_bulk(w, bad ? ""
                        : "\x1b[2J"
                          "a holder");
        put(w, ":%d\r\n", fuzz_byte(input));
        return;
    case EVIL_TEXT:
        put_bulk(w, bad ? "" : "12345");
        return;
    case EVIL_PING:
        put(w, "+PONG\r\n");
        return;
    case EVIL_DELETE:
    case EVIL_NUMBER:
        put(w, ":%d\r\n", !bad);
        return;
    case EVIL_SCRIPT:
        put_bulk(w, bad ? "A" : "probation-of-this-node");
        return;
    case EVIL_TICKET:
        put(w, "*2\r\n:%d\r\n:%d\r\n", bad ? 0 : 1 + fuzz_byte(input), fuzz_byte(input));
        return;
    case EVIL_LOOK:
        put(w, "*12\r\n");
        put_bulk(w, bad ? "none" : "string");
        put(w, ":100\r\n:%d\r\n:%d\r\n", fuzz_byte(input), fuzz_byte(input));
        put(w, ":%d\r\n", bad ? fuzz_byte(input) : 1);
        put_bulk(w, "");
        put(w, ":%d\r\n", bad ? fuzz_byte(input) : 1);
        put_bulk(w, "holder");
        put(w, ":100\r\n");
        put_bulk(w, "0123456789012345678901234567890123456789");
        put_bulk(w, "w0123456789abcdef.1 \x1b[2J");
        put(w, ":%d\r\n", fuzz_byte(input));
        return;
    }
}

size_t evil_answer(struct evil_node *node, struct fuzz_input *input, int64_t now_ns, char *out,
                   size_t size)
{
    struct writer w = {out, size, 0};
    uint8_t choice = fuzz_byte(input);

    if (node->answered >= node->request_count)
        return 0;
    /* Seven in eight answers make sense: a session that never comes up teaches little. */
    if (choice >= 0xf0)
        put_error(&w, input);
    else if (choice >= 0xe0)
        put(&w, ":%d\r\n", fuzz_byte(input));
    else
        put_fitting(&w, node, &node->request[node->answered], input, choice >= 0x80, now_ns);
    node->answered++;
    FUZZ_CHECK(w.used < w.size);
    return w.used;
}
