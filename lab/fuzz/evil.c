/* SPDX-License-Identifier: BSD-2-Clause */
#include "evil.h"

#include <string.h>

#include "base/time.h"
#include "core/kind.h"
#include "rl_scripts.h"

#define WORDS_MAX RL_ARGUMENTS_MAX

struct ledger_entry *ledger_find(struct ledger *ledger, const char *value, size_t size)
{
    struct ledger_entry *entry;

    for (size_t i = 0; i < ledger->count; i++) {
        entry = &ledger->entry[i];
        if (strlen(entry->value) == size && memcmp(entry->value, value, size) == 0)
            return entry;
    }
    if (ledger->count == EVIL_VALUES_MAX || size >= EVIL_VALUE_BYTES) {
        ledger->full = true;
        return NULL;
    }
    entry = &ledger->entry[ledger->count++];
    memset(entry, 0, sizeof *entry);
    memcpy(entry->value, value, size);
    return entry;
}

void evil_connect(struct evil_node *node)
{
    node->seen = node->request_count = node->answered = node->delivered = 0;
    node->input_size = 0;
    node->checked = false;
}

void evil_free(struct evil_node *node)
{
    free(node->request);
    node->request = NULL;
    node->request_capacity = 0;
}

static bool is(struct rl_slice word, const char *text)
{
    return word.size == strlen(text) && memcmp(word.data, text, word.size) == 0;
}

static int64_t milliseconds_ns(struct rl_slice digits)
{
    int64_t number = 0;

    for (size_t i = 0; i < digits.size; i++)
        number = number * 10 + (digits.data[i] - '0');
    return number * RL_NS_PER_MS;
}

static void note_value(struct evil_request *request, struct rl_slice value)
{
    FUZZ_CHECK(value.size < sizeof request->value);
    memcpy(request->value, value.data, value.size);
    request->value[value.size] = '\0';
}

static bool is_script(struct rl_slice word, const char *text, const char *sha1)
{
    return is(word, text) || is(word, sha1);
}

static bool takes_a_lock(struct rl_slice script)
{
#define IS(name, key_type, waiter, exclusive, single, has_owner, has_slots, script_name)       \
    if (is_script(script, RL_SCRIPT_##script_name, RL_SCRIPT_##script_name##_SHA1))            \
        return true;
    RL_KINDS(IS)
#undef IS
    return false;
}

/* EVALSHA sha KEYS key... value ttl ...: the scripts that grant begin their arguments alike. */
static void read_script(struct evil_request *request, const struct rl_slice *word)
{
    const struct rl_slice *argument = word + 3 + milliseconds_ns(word[2]) / RL_NS_PER_MS;
    bool takes = takes_a_lock(word[1]);

    FUZZ_CHECK(argument < word + WORDS_MAX);
    request->kind = EVIL_NUMBER;
    if (takes || is_script(word[1], RL_SCRIPT_ACQUIRE, RL_SCRIPT_ACQUIRE_SHA1) ||
        is_script(word[1], RL_SCRIPT_WAIT, RL_SCRIPT_WAIT_SHA1))
        request->kind = EVIL_ACQUIRE;
    else if (is_script(word[1], RL_SCRIPT_EXTEND, RL_SCRIPT_EXTEND_SHA1) ||
             is_script(word[1], RL_SCRIPT_RENEW, RL_SCRIPT_RENEW_SHA1))
        request->kind = EVIL_EXTEND;
    else if (is_script(word[1], RL_SCRIPT_TICKET, RL_SCRIPT_TICKET_SHA1))
        request->kind = EVIL_TICKET;
    else if (is_script(word[1], RL_SCRIPT_LOOK, RL_SCRIPT_LOOK_SHA1))
        request->kind = EVIL_LOOK;
    else if (is_script(word[1], RL_SCRIPT_PEEK, RL_SCRIPT_PEEK_SHA1))
        request->kind = EVIL_PEEK;
    else if (is(word[1], RL_SCRIPT_PROBE))
        request->kind = EVIL_SCRIPT;
    else if (is(word[1], RL_SCRIPT_NATIVE))
        request->kind = EVIL_PROBE;
    if (request->kind != EVIL_ACQUIRE && request->kind != EVIL_EXTEND)
        return;
    note_value(request, argument[0]);
    request->ttl_ns = milliseconds_ns(argument[1]);
    request->repairs = takes && is(argument[4], "repair");
}

static void read_set(struct evil_request *request, const struct rl_slice *word)
{
    note_value(request, word[2]);
    if (is(word[3], "NX")) {
        request->kind = EVIL_SET;
        request->ttl_ns = milliseconds_ns(word[5]);
    } else {
        request->kind = EVIL_EXTEND;
        request->detail = 1; /* answers OK or nil */
        request->ttl_ns = milliseconds_ns(word[6]);
    }
}

static void understand(struct evil_request *request, const struct rl_slice *word)
{
    static const struct {
        const char *name;
        enum evil_kind kind;
    } plain[] = {
        {"AUTH", EVIL_OK},        {"SELECT", EVIL_OK},     {"CLIENT", EVIL_OK},
        {"SCRIPT", EVIL_LOAD},    {"INFO", EVIL_INFO},     {"HMGET", EVIL_MARKER},
        {"TIME", EVIL_TIME},      {"GETRANGE", EVIL_TEXT}, {"GET", EVIL_TEXT},
        {"PING", EVIL_PING},      {"HSET", EVIL_NUMBER},   {"DEL", EVIL_NUMBER},
        {"DELIFEQ", EVIL_DELETE}, {"DELEX", EVIL_DELETE},
    };

    if (is(word[0], "SET")) {
        read_set(request, word);
        return;
    }
    if (is(word[0], "EVALSHA") || is(word[0], "EVAL")) {
        read_script(request, word);
        return;
    }
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (!is(word[0], plain[i].name))
            continue;
        request->kind = plain[i].kind;
        if (request->kind == EVIL_INFO)
            request->detail = (uint8_t)word[1].data[0];
        return;
    }
    /* Whatever else there may be: a number is an answer that grants nothing. */
    request->kind = EVIL_NUMBER;
}

/* The number behind the first character of a line; *at goes to the next line. */
static size_t read_header(const char **at, const char *end, char kind)
{
    size_t number = 0;

    FUZZ_CHECK(*at < end && **at == kind);
    for (++*at; *at < end && **at != '\r'; ++*at) {
        FUZZ_CHECK(**at >= '0' && **at <= '9' && number < 1000000);
        number = number * 10 + (size_t)(**at - '0');
    }
    FUZZ_CHECK(end - *at >= 2 && (*at)[1] == '\n');
    *at += 2;
    return number;
}

/* One whole command: "*N" and N bulks. Returns its size; only whole commands are queued. */
static size_t read_command(const char *bytes, size_t size, struct rl_slice *word)
{
    const char *at = bytes;
    const char *end = bytes + size;
    size_t count = read_header(&at, end, '*');

    FUZZ_CHECK(count >= 1 && count <= WORDS_MAX);
    for (size_t i = 0; i < count; i++) {
        size_t length = read_header(&at, end, '$');

        FUZZ_CHECK((size_t)(end - at) >= length + 2);
        word[i] = (struct rl_slice){at, length};
        at += length + 2;
    }
    return (size_t)(at - bytes);
}

static struct evil_request *add_request(struct evil_node *node)
{
    if (node->request_count == node->request_capacity) {
        node->request_capacity = node->request_capacity ? 2 * node->request_capacity : 64;
        node->request = realloc(node->request, node->request_capacity * sizeof *node->request);
        if (!node->request)
            abort();
    }
    node->request[node->request_count] = (struct evil_request){.kind = EVIL_OK};
    return &node->request[node->request_count++];
}

void evil_read(struct evil_node *node, const struct rl_session *session, struct ledger *ledger,
               int64_t now_ns)
{
    const struct rl_buffer *output = &session->output;

    while (node->seen < output->size) {
        struct rl_slice word[WORDS_MAX] = {{"", 0}};
        struct evil_request *request = add_request(node);
        struct ledger_entry *entry;

        node->seen += read_command(output->bytes + output->start + node->seen,
                                   output->size - node->seen, word);
        understand(request, word);
        request->queued_ns = now_ns;
        if (request->kind != EVIL_SET)
            continue;
        entry = ledger_find(ledger, request->value, strlen(request->value));
        request->repairs = entry && entry->was_held;
    }
}

void evil_took(struct evil_node *node, size_t size)
{
    node->seen -= size;
}

static bool is_script_grant(const struct rl_reply *reply)
{
    return reply->scalar.type == RL_REPLY_ARRAY && reply->element_count >= 5 &&
           reply->element[0].type == RL_REPLY_INTEGER && reply->element[0].integer == 1;
}

static bool is_grant(const struct evil_request *request, const struct rl_reply *reply)
{
    const struct rl_scalar *scalar = &reply->scalar;
    bool is_ok = scalar->type == RL_REPLY_STATUS && is(scalar->text, "OK");

    switch (request->kind) {
    case EVIL_SET:
        return is_ok && !request->repairs;
    case EVIL_ACQUIRE:
        return is_script_grant(reply) && !request->repairs;
    case EVIL_EXTEND:
        return is_ok || (scalar->type == RL_REPLY_INTEGER &&
                         (scalar->integer == 1 || scalar->integer == 2));
    default:
        return false;
    }
}

static void note_reply(struct evil_node *node, const struct rl_reply *reply,
                       struct ledger *ledger, bool guarded)
{
    const struct evil_request *request = &node->request[node->delivered++];
    int64_t until_ns = request->queued_ns + request->ttl_ns;
    struct ledger_entry *entry;

    if (request->kind == EVIL_MARKER)
        node->checked = true;
    if (!is_grant(request, reply))
        return;
    /* Before its check has been answered, a node's new grants are worth nothing (G1). */
    if (guarded && !node->checked && request->kind != EVIL_EXTEND)
        return;
    entry = ledger_find(ledger, request->value, strlen(request->value));
    if (entry && entry->granted_until_ns[node->index] < until_ns)
        entry->granted_until_ns[node->index] = until_ns;
}

void evil_deliver(struct evil_node *node, const char *bytes, size_t size, struct ledger *ledger,
                  bool guarded)
{
    size_t start = 0;

    FUZZ_CHECK(node->input_size + size <= sizeof node->input);
    memcpy(node->input + node->input_size, bytes, size);
    node->input_size += size;
    while (node->delivered < node->request_count) {
        struct rl_reply reply;
        long taken = rl_resp_decode(node->input + start, node->input_size - start, &reply);

        if (taken <= 0)
            break;
        note_reply(node, &reply, ledger, guarded);
        start += (size_t)taken;
    }
    node->input_size -= start;
    memmove(node->input, node->input + start, node->input_size);
}
