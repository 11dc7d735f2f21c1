/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/fake/fake.h"

#include "clock.h"
#include "helper.h"
#include "lab/fake/commands.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { FILLER_BYTES_MAX = 64 << 20, REQUEST_MAX = 65536, SUBSCRIBERS_MAX = 64 };

#define AGE_US (999999 * INT64_C(1000000)) /* old enough to vote without a marker */

/* One server for the process, which the helper's connections take turns to use. */
static struct {
    pthread_mutex_t lock;
    struct fake_server server;
    struct {
        int fd;
        char channel[FAKE_MESSAGE_SIZE];
    } subscriber[SUBSCRIBERS_MAX];
    int subscriber_count;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void note(struct fake_shared *shared, int connection, const struct fake_words *q)
{
    int index = shared->record_count;
    if (index < FAKE_RECORDS_MAX) {
        struct fake_record *r = &shared->record[index];
        size_t used = 0;
        *r = (struct fake_record){
            .connection = connection, .argc = (int)q->count, .time_ns = now_ns()};
        for (uint32_t i = 0; i < q->count && used < sizeof r->text; i++)
            used += (size_t)snprintf(
                r->text + used, sizeof r->text - used, "%s%.*s", i > 0 ? " " : "",
                (int)(q->word[i].size < 64 ? q->word[i].size : 64), q->word[i].data);
    }
    shared->record_count = index + 1;
}

static void add_message(struct fake_bytes *out, const char *type, const char *channel)
{
    fake_reply_array(out, 3);
    fake_reply_text(out, type);
    fake_reply_text(out, channel);
}

static void subscribe(const struct fake_words *q, int fd, struct fake_bytes *out)
{
    char channel[FAKE_MESSAGE_SIZE];
    fake_copy_text(channel, sizeof channel, q->word[1]);
    if (all.subscriber_count < SUBSCRIBERS_MAX) {
        all.subscriber[all.subscriber_count].fd = fd;
        memcpy(all.subscriber[all.subscriber_count++].channel, channel, sizeof channel);
    }
    add_message(out, "subscribe", channel);
    fake_reply_integer(out, 1);
}

static void unsubscribe(int fd)
{
    for (int i = all.subscriber_count - 1; i >= 0; i--)
        if (all.subscriber[i].fd == fd)
            all.subscriber[i] = all.subscriber[--all.subscriber_count];
}

static uint32_t count_listeners(const struct fake_server *server, const char *channel)
{
    uint32_t count = 0;
    (void)server;
    for (int i = 0; i < all.subscriber_count; i++)
        count += strcmp(all.subscriber[i].channel, channel) == 0;
    return count;
}

static void deliver_messages(void)
{
    struct fake_bytes out = {0};
    for (uint32_t m = 0; m < all.server.message_count; m++) {
        const struct fake_message *message = &all.server.message[m];
        out.size = 0;
        add_message(&out, "message", message->channel);
        fake_reply_text(&out, message->text);
        for (int i = 0; i < all.subscriber_count; i++)
            if (strcmp(all.subscriber[i].channel, message->channel) == 0)
                helper_write(all.subscriber[i].fd, out.data, out.size);
    }
    all.server.message_count = 0;
    fake_bytes_free(&out);
}

static bool is(const struct fake_words *q, uint32_t index, const char *word)
{
    return index < q->count && fake_is_word(q->word[index], word);
}

/* What the switches have of the command; FAKE_PRESENT: it has none. */
static int ability_of(const struct fake_shared *shared, const struct fake_words *q)
{
    if (is(q, 0, "DELIFEQ"))
        return shared->delifeq;
    if (is(q, 0, "DELEX"))
        return shared->delex;
    if (is(q, 0, "EVAL") || is(q, 0, "EVALSHA"))
        return shared->eval;
    return is(q, 0, "SCRIPT") && is(q, 1, "LOAD") ? shared->script_load : FAKE_PRESENT;
}

static void execute(const struct fake_shared *shared, const struct fake_words *q, int fd,
                    struct fake_bytes *out)
{
    int ability = ability_of(shared, q);
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    all.server.now_us = (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
    all.server.started_us = all.server.now_us - AGE_US;
    all.server.has_delifeq = shared->delifeq == FAKE_PRESENT;
    all.server.has_delex = shared->delex == FAKE_PRESENT;
    all.server.has_set_ifeq = shared->set_ifeq == FAKE_PRESENT;
    if (shared->forgetful)
        all.server.scripts = 0;
    if (ability == FAKE_DENIED)
        fake_reply_error(out, "NOPERM this user has no permissions to run this command");
    else if (is(q, 0, "SUBSCRIBE") && q->count > 1)
        subscribe(q, fd, out);
    else
        fake_server_execute(&all.server, q, out);
    deliver_messages();
}

static void poison(const struct fake_shared *shared, int fd)
{
    char block[4096];
    memset(block, 'x', sizeof block);
    if (helper_write(fd, shared->poison, strlen(shared->poison)) != 0)
        return;
    for (long sent = 0; sent < FILLER_BYTES_MAX; sent += (long)sizeof block)
        if (helper_write(fd, block, sizeof block) != 0)
            return;
}

static bool is_acquire(const struct fake_words *q)
{
    return q->count == 6 && is(q, 0, "SET") && is(q, 3, "NX");
}

/* One request; false when the connection is to end. */
static bool answer(struct helper_connection *c, const struct fake_words *q)
{
    struct fake *f = c->argument;
    struct fake_bytes out = {0};
    bool poisons = is_acquire(q) && f->shared->poison[0] != '\0';
    bool goes_on;
    pthread_mutex_lock(&all.lock);
    note(f->shared, c->number, q);
    execute(f->shared, q, c->fd, &out);
    pthread_mutex_unlock(&all.lock);
    if (f->shared->delay_ms > 0)
        sleep_ms(f->shared->delay_ms);
    if (poisons)
        poison(f->shared, c->fd);
    goes_on = !poisons && helper_write(c->fd, out.data, out.size) == 0;
    fake_bytes_free(&out);
    return goes_on;
}

static void serve(struct helper_connection *c)
{
    struct fake *f = c->argument;
    struct fake_words q;
    char bytes[REQUEST_MAX];
    size_t size = 0;
    long taken = 0;
    bool goes_on = true;
    f->shared->connections++;
    while (goes_on) {
        ssize_t got = taken == 0 ? recv(c->fd, bytes + size, sizeof bytes - size, 0) : 0;
        if (taken == 0 && got <= 0)
            break;
        size += (size_t)got;
        taken = fake_request_read(bytes, size, &q);
        goes_on = taken == 0 || (taken > 0 && answer(c, &q));
        size -= taken > 0 ? (size_t)taken : 0;
        memmove(bytes, bytes + (taken > 0 ? taken : 0), size);
    }
    pthread_mutex_lock(&all.lock);
    unsubscribe(c->fd);
    pthread_mutex_unlock(&all.lock);
}

static void run(void *data)
{
    struct fake *f = data;
    all.server.listeners = count_listeners;
    all.server.version_line = f->shared->version_line;
    snprintf(all.server.run_id, sizeof all.server.run_id, "%040d", f->shared->identity);
    snprintf(all.server.replid, sizeof all.server.replid, "%040d", f->shared->identity);
    helper_accept_loop(f->listener, serve, f);
}

void fake_init(struct fake *f)
{
    *f = (struct fake){.port = port_reserve()};
    f->shared = helper_memory(sizeof *f->shared);
    f->shared->eval = FAKE_PRESENT;
    f->shared->script_load = FAKE_PRESENT;
    f->shared->identity = f->port.number;
    snprintf(f->shared->version_line, sizeof f->shared->version_line, "redis_version:7.0.15");
    snprintf(f->url, sizeof f->url, "redis://127.0.0.1:%d", f->port.number);
}

void fake_run(struct fake *f)
{
    f->listener = port_listen(&f->port);
    f->pid = helper_start(run, f);
    close(f->listener);
}

void fake_start(struct fake *f)
{
    fake_init(f);
    fake_run(f);
}

void fake_stop(struct fake *f)
{
    helper_stop(&f->pid);
}

int fake_count(const struct fake *f)
{
    int count = f->shared->record_count;
    return count < FAKE_RECORDS_MAX ? count : FAKE_RECORDS_MAX;
}

int fake_find(const struct fake *f, int from, const char *head)
{
    for (int i = from; i < fake_count(f); i++)
        if (strncmp(f->shared->record[i].text, head, strlen(head)) == 0)
            return i;
    return -1;
}

int fake_find_with(const struct fake *f, int from, const char *part, const char *other)
{
    for (int i = from; i < fake_count(f); i++) {
        const char *text = f->shared->record[i].text;
        if (strstr(text, part) != NULL && strstr(text, other) != NULL)
            return i;
    }
    return -1;
}

int fake_await(const struct fake *f, int from, const char *head)
{
    int64_t end_ms = now_ms() + GIVE_UP_MS;
    for (;;) {
        int found = fake_find(f, from, head);
        if (found >= 0 || now_ms() >= end_ms)
            return found;
        sleep_ms(2);
    }
}

void fake_print(const struct fake *f)
{
    for (int i = 0; i < fake_count(f); i++)
        printf("# %4d [%d] %s\n", i, f->shared->record[i].connection,
               f->shared->record[i].text);
}
