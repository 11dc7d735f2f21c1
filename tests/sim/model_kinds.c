/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The simulator's model against a real server: the scripts about every kind of lock and about
 * the queue. Several waiters and holders of all kinds meet on two names; after each script the
 * two must have replied the same, woken the same waiters, and stored the same.
 */
#include "check.h"
#include "clock.h"
#include "model_both.h"
#include "resp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 2500, HEARD_SIZE = 2048, LINES_MAX = 64, KEPT_MS = 490 };

#define ONE "0123456789abcdef"
#define TWO "fedcba9876543210"
#define NAME_A "redlock:a redlock.fence:a redlock.queue:a redlock.alive:a"
#define NAME_B "redlock:b redlock.fence:b redlock.queue:b redlock.alive:b"
#define QUEUE_A "redlock:a redlock.queue:a redlock.alive:a"
#define QUEUES QUEUE_A " redlock:b redlock.queue:b redlock.alive:b"

static struct resp *ears; /* on the real one */

/* There is a subscriber for the first client's waiters, and none for the second's. */
static void listen_to_one(void)
{
    static const char *const channels[] = {"redlock.wake:" ONE, "redlock.wake:sync"};
    char reply[REPLY_SIZE];

    ears = resp_tcp("127.0.0.1", real_port());
    CHECK(ears != NULL);
    for (int i = 0; i < 2; i++) {
        CHECK(resp_send(ears, (const char *const[]){"SUBSCRIBE", channels[i], NULL}) == 0);
        CHECK(resp_read(ears, reply, sizeof reply) == 0);
    }
}

static uint32_t listeners(const struct fake_server *server, const char *channel)
{
    (void)server;
    return strcmp(channel, "redlock.wake:" ONE) == 0;
}

/* Everything that was published since the last time, each as the three lines of a message. */
static void read_real(char *out)
{
    char reply[REPLY_SIZE];
    size_t at = 0;

    out[0] = '\0';
    call_real((const char *const[]){"PUBLISH", "redlock.wake:sync", "x", NULL}, reply);
    for (;;) {
        CHECK(resp_read(ears, reply, sizeof reply) == 0);
        if (strstr(reply, "redlock.wake:sync"))
            return;
        at += (size_t)snprintf(out + at, HEARD_SIZE - at, "%.200s|", reply);
        CHECK(at < HEARD_SIZE);
    }
}

static void read_model(char *out)
{
    size_t at = 0;

    out[0] = '\0';
    for (uint32_t i = 0; i < model.message_count; i++)
        if (listeners(&model, model.message[i].channel))
            at += (size_t)snprintf(out + at, HEARD_SIZE - at, "message\n%s\n%s|",
                                   model.message[i].channel, model.message[i].text);
    model.message_count = 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lines in order: lives that end within one millisecond of each other may stand either way. */
static void sort_lines(char *text)
{
    char copy[REPLY_SIZE];
    char *line[LINES_MAX];
    size_t count = 0;

    snprintf(copy, sizeof copy, "%s", text);
    for (char *at = strtok(copy, "\n"); at && count < LINES_MAX; at = strtok(NULL, "\n"))
        line[count++] = at;
    qsort(line, count, sizeof line[0], by_text);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        strcat(text, line[i]);
        strcat(text, "\n");
    }
}

static void compare_members(const char *key)
{
    const char *const argv[] = {"ZRANGE", key, "0", "-1", NULL};
    char theirs[REPLY_SIZE];
    char ours[REPLY_SIZE];

    call_real(argv, theirs);
    call_model(argv, ours);
    if (theirs[0] == '-')
        return;
    sort_lines(theirs);
    sort_lines(ours);
    CHECK_STR(ours, theirs);
}

static void compare_state(void)
{
    bool a = sim_chance(&rng, 500);
    const char *lock = a ? "redlock:a" : "redlock:b";
    const char *queue = a ? "redlock.queue:a" : "redlock.queue:b";
    char reply[REPLY_SIZE];

#define SAME(slack, ...) compare((const char *const[]){__VA_ARGS__, NULL}, (slack), reply)
    SAME(0, "TYPE", lock);
    SAME(LIFE_SLACK_MS, "PTTL", lock);
    SAME(0, "HLEN", lock);
    SAME(0, "HMGET", lock, "owner", "slots");
    SAME(TIME_SLACK, "HGET", lock, "fence");
    SAME(0, "ZRANGE", queue, "0", "-1", "WITHSCORES");
    SAME(LIFE_SLACK_MS, "PTTL", queue);
#undef SAME
    compare_members(lock);
    compare_members(a ? "redlock.alive:a" : "redlock.alive:b");
}

#define VALUE "v1|v2|v3#1|v4#2|v5#1"
#define WAITER "|w" ONE ".1|r" ONE ".2|w" TWO ".3|r" TWO ".4|w" TWO ".5"
#define PLACE " 0|1000|2000|3000 "

/* A request of a kind for one of the names, mostly the first, with these last words. */
#define TERMS(ttl, life, fence, group)                                                         \
    " redlock.admit " VALUE " " ttl " " WAITER PLACE life " " fence                            \
    " 0|1 here|there|here?|?| " group " 1|2"
#define ONE_NAME(script, ...)                                                                  \
    "RUN:" script " 5 " NAME_A TERMS(__VA_ARGS__),                                             \
        "RUN:" script " 5 " NAME_A TERMS(__VA_ARGS__),                                         \
        "RUN:" script " 5 " NAME_B TERMS(__VA_ARGS__)
#define TWO_NAMES(script, ...) "RUN:" script " 9 " NAME_A " " NAME_B TERMS(__VA_ARGS__)
#define TAKES(ttl, life)                                                                       \
    {                                                                                          \
        ONE_NAME("TAKE_MUTEX", ttl, life, "0|86400000", "|"),                                  \
            TWO_NAMES("TAKE_MUTEX", ttl, life, "0|86400000", "|"),                             \
            TWO_NAMES("TAKE_MUTEX", ttl, life, "0|86400000", "|"),                             \
            ONE_NAME("TAKE_SHARED", ttl, life, "0", "|"),                                      \
            ONE_NAME("TAKE_OWNER", ttl, life, "0|86400000", "me|you"),                         \
            ONE_NAME("TAKE_SLOTS", ttl, life, "0", "2|3"),                                     \
    }

static const char *const takes[] =
    TAKES("50000|600000|1000000", "1000000|1000000|1000000|repair");
static const char *const brief_takes[] = TAKES("1", "1");

static const char *const givebacks[] = {
    "RUN:GIVEBACK 6 " QUEUES " " VALUE " " WAITER " 0|1000|2000 1000000",
    "RUN:GIVEBACK 3 " QUEUE_A " " VALUE " " WAITER " 0|1000|2000 1000000",
    "RUN:GIVEBACK 3 " QUEUE_A " " VALUE " " WAITER " 0|1000|2000 1000000",
};

static const char *const others[] = {
    "RUN:WAIT 3 " QUEUE_A " " VALUE " 600000 w" ONE ".1|w" TWO ".3|w" TWO ".5" PLACE "1000000",
    "RUN:WAIT 4 " QUEUE_A " redlock.fence:a " VALUE " 600000 w" ONE ".1|w" TWO ".3" PLACE
    "1000000 here|there|",
    "RUN:LEAVE 6 " QUEUES " " WAITER,
    "RUN:RENEW 1 redlock:a " VALUE " 100000|2000000",
    "RUN:RENEW 2 redlock:a redlock:b " VALUE " 700000",
    "RUN:TICKET 4 redlock:a redlock.alive:a redlock:b redlock.alive:b",
    "RUN:ALIGN 4 redlock:a redlock.fence:a redlock:b redlock.fence:b " VALUE
    " 1700000000000000 86400000 here",
    "RUN:ALIGN 2 redlock:a redlock.fence:a " VALUE
    " 5|4400000000000000|9900000000000000 86400000 here",
    "RUN:RELEASE 3 " QUEUE_A " |||||" VALUE " 0|1",
};

static const char *const states[] = {
    "DEL redlock:a|redlock:b|redlock.fence:a|redlock.fence:b",
    "DEL redlock.alive:a|redlock.queue:a|redlock.queue:b",
    "HSET redlock.admit id me|you max_ttl 5000|0",
    "DEL redlock.admit",
    "HSET redlock.fence:a|redlock.fence:b here|there "
    "100|1600000000000000|4503599627370495|9007199254740993|-1|1e300|nan|17.5",
    "SCRIPT FLUSH",
};

static void share_owners_token(const char *key)
{
    const char *const get[] = {"HGET", key, "fence", NULL};
    char reply[REPLY_SIZE];
    char ignored[REPLY_SIZE];

    call_real(get, reply);
    if (reply[0] >= '0' && reply[0] <= '9')
        call_model((const char *const[]){"HSET", key, "fence", reply, NULL}, ignored);
}

/*
 * What is kept for half a second only would end at two moments: it gets longer. False: the
 * machine was so late that it may have ended for one of the two, and both are emptied.
 */
static bool prolong_places(int64_t begun_ms)
{
    static const char *const key[] = {"redlock.alive:a", "redlock.alive:b"};
    char theirs[REPLY_SIZE];
    char ours[REPLY_SIZE];
    bool same = true;

    for (int i = 0; i < 2; i++) {
        call_real((const char *const[]){"PEXPIRE", key[i], "1000000", NULL}, theirs);
        call_model((const char *const[]){"PEXPIRE", key[i], "1000000", NULL}, ours);
        same = same && strcmp(theirs, ours) == 0;
    }
    if (now_ms() - begun_ms < KEPT_MS) {
        CHECK(same);
        return true;
    }
    compare((const char *const[]){"FLUSHALL", NULL}, 0, theirs);
    read_real(theirs);
    model.message_count = 0;
    return false;
}

static void play(void)
{
    const char *argv[WORDS_MAX];
    char reply[REPLY_SIZE];
    char theirs[HEARD_SIZE];
    char ours[HEARD_SIZE];
    uint64_t what = sim_below(&rng, 100);
    bool short_life = what >= 95;
    int64_t begun_ms;

    if (short_life)
        DRAW(argv, brief_takes);
    else if (what < 50)
        DRAW(argv, takes);
    else if (what < 68)
        DRAW(argv, givebacks);
    else if (what < 88)
        DRAW(argv, others);
    else
        DRAW(argv, states);
    begun_ms = now_ms();
    compare(argv, TIME_SLACK, reply);
    if (short_life)
        usleep(5000);
    if (!prolong_places(begun_ms))
        return;
    read_real(theirs);
    read_model(ours);
    CHECK_STR(ours, theirs);
    share_counter("redlock.fence:a");
    share_counter("redlock.fence:b");
    share_owners_token("redlock:a");
    share_owners_token("redlock:b");
    compare_state();
}

CASE(kinds_agree, "Random requests of all kinds: same replies, same wake-ups, same state.")
{
    both_begin(4);
    model.listeners = listeners;
    listen_to_one();
    for (int i = 0; i < ROUNDS; i++)
        play();
    resp_free(ears);
    both_end();
}
