/* SPDX-License-Identifier: BSD-2-Clause */
#include "floor_words.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "resp.h"
#include "rl_scripts.h"

#define STRINGIFY_VALUE(x) #x
#define STRINGIFY(x) STRINGIFY_VALUE(x)

/* Stand where a name or a value belongs; as long as those. */
#define NAME "NNNNNNNNNNNNNNNNNNNNNNNNNN"
#define VALUE "VVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVV"

static_assert(sizeof NAME - 1 == NAME_LENGTH, "a name has this length");
static_assert(sizeof VALUE - 1 == WORDS_VALUE_LENGTH, "a value has this length");

#define LOCK_KEY BENCH_PREFIX NAME
#define QUEUE_KEY "redlock.queue:" NAME
#define ALIVE_KEY "redlock.alive:" NAME

static const char classic_script[] = "if redis.call(\"get\",KEYS[1]) == ARGV[1] then\n"
                                     "    return redis.call(\"del\",KEYS[1])\n"
                                     "else\n"
                                     "    return 0\n"
                                     "end";

static void append(struct words *words, const char *const *word)
{
    size_t size =
        resp_encode(words->text + words->size, sizeof words->text - words->size, word);
    assert(size > 0);
    words->size += size;
    words->replies++;
}

#define APPEND(words, ...) append((words), (const char *const[]){__VA_ARGS__, NULL})

static void find_gaps(struct words *words)
{
    const char *at = words->text;
    for (; (at = strstr(at, NAME)); at += NAME_LENGTH) {
        assert(words->name_count < WORDS_NAMES_MAX);
        words->name_at[words->name_count++] = (size_t)(at - words->text);
    }
    at = strstr(words->text, VALUE);
    assert(at);
    words->value_at = (size_t)(at - words->text);
}

void words_acquire(struct words *words)
{
    *words = (struct words){.size = 0};
    APPEND(words, "SET", LOCK_KEY, VALUE, "NX", "PX", STRINGIFY(BENCH_TTL_MS));
    find_gaps(words);
}

/* Whether every node answers this command with 0: nothing deleted, and no error. */
static bool all_know(struct link *const *nodes, size_t node_count, const char *const *word)
{
    char reply[256] = "";
    for (size_t i = 0; i < node_count; i++)
        if (!resp_call(nodes[i]->resp, word, reply, sizeof reply) || strcmp(reply, "0") != 0)
            return false;
    return true;
}

static int load_script(struct link *const *nodes, size_t node_count, const char *script,
                       char sha[41])
{
    const char *word[] = {"SCRIPT", "LOAD", script, NULL};
    char reply[256] = "";
    for (size_t i = 0; i < node_count; i++) {
        if (!resp_call(nodes[i]->resp, word, reply, sizeof reply) || strlen(reply) != 40) {
            fprintf(stderr, "redlock-bench: SCRIPT LOAD failed: %s\n", reply);
            return -1;
        }
    }
    memcpy(sha, reply, 41);
    return 0;
}

static const char *by_script(struct words *words, enum floor_release release,
                             struct link *const *nodes, size_t node_count)
{
    char sha[41];
    bool classic = release == FLOOR_CLASSIC;
    const char *script = classic ? classic_script : RL_SCRIPT_RELEASE;
    if (load_script(nodes, node_count, script, sha) != 0)
        return NULL;
    if (classic)
        APPEND(words, "EVALSHA", sha, "1", LOCK_KEY, VALUE);
    else /* the last argument: no waiter was seen */
        APPEND(words, "EVALSHA", sha, "3", LOCK_KEY, QUEUE_KEY, ALIVE_KEY, VALUE, "0");
    return "EVALSHA";
}

/* The library asks behind a native delete whether a client waits. */
static const char *natively(struct words *words, struct link *const *nodes, size_t node_count)
{
    static const char *const delifeq[] = {"DELIFEQ", BENCH_PREFIX "bench-probe", "no", NULL};
    static const char *const delex[] = {"DELEX", BENCH_PREFIX "bench-probe", "IFEQ", "no",
                                        NULL};
    const char *word = NULL;
    if (all_know(nodes, node_count, delifeq)) {
        word = "DELIFEQ";
        APPEND(words, "DELIFEQ", LOCK_KEY, VALUE);
    } else if (all_know(nodes, node_count, delex)) {
        word = "DELEX";
        APPEND(words, "DELEX", LOCK_KEY, "IFEQ", VALUE);
    }
    if (word)
        APPEND(words, "EXISTS", QUEUE_KEY);
    return word;
}

const char *words_release(struct words *words, enum floor_release release,
                          struct link *const *nodes, size_t node_count)
{
    const char *word = NULL;
    *words = (struct words){.size = 0};
    if (release == FLOOR_AS_LIBRARY)
        word = natively(words, nodes, node_count);
    if (!word)
        word = by_script(words, release, nodes, node_count);
    if (word)
        find_gaps(words);
    return word;
}

void words_fill(struct words *words, const struct name *name, const char *value)
{
    for (unsigned i = 0; i < words->name_count; i++)
        memcpy(words->text + words->name_at[i], name->text, NAME_LENGTH);
    memcpy(words->text + words->value_at, value, WORDS_VALUE_LENGTH);
}
