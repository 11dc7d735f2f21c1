/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

#include "check.h"
#include "clock.h"
#include "fake_commands.h"
#include "helper.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BULK_MAX = 8192, FILLER_BYTES_MAX = 64 << 20 };

static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;

static void note(struct fake_shared *shared, int connection, const struct fake_request *q)
{
    int index = shared->record_count;
    if (index < FAKE_RECORDS_MAX) {
        struct fake_record *r = &shared->record[index];
        size_t used = 0;
        *r = (struct fake_record){
            .connection = connection, .argc = q->argc, .time_ns = now_ns()};
        for (int i = 0; i < q->argc && used < sizeof r->text; i++)
            used += (size_t)snprintf(r->text + used, sizeof r->text - used, "%s%.64s",
                                     i > 0 ? " " : "", q->argv[i]);
    }
    shared->record_count = index + 1;
}

/* False when the client is gone or speaks nonsense. */
static bool read_request(FILE *in, struct fake_request *q)
{
    char line[64];
    if (fgets(line, sizeof line, in) == NULL || line[0] != '*')
        return false;
    int count = atoi(line + 1);
    if (count < 1 || count > FAKE_ARGS_MAX)
        return false;
    for (q->argc = 0; q->argc < count; q->argc++) {
        if (fgets(line, sizeof line, in) == NULL || line[0] != '$')
            return false;
        long size = atol(line + 1);
        if (size < 0 || size > BULK_MAX)
            return false;
        char *text = calloc(1, (size_t)size + 3);
        if (text == NULL || fread(text, 1, (size_t)size + 2, in) != (size_t)size + 2) {
            free(text);
            return false;
        }
        text[size] = '\0';
        q->argv[q->argc] = text;
    }
    return true;
}

static void drop_request(struct fake_request *q)
{
    for (int i = 0; i < q->argc; i++)
        free(q->argv[i]);
    q->argc = 0;
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

static bool is_acquire(const struct fake_request *q)
{
    return q->argc == 6 && strcasecmp(q->argv[0], "SET") == 0 &&
           strcasecmp(q->argv[3], "NX") == 0;
}

static void serve(struct helper_connection *c)
{
    struct fake *f = c->argument;
    struct fake_request q = {0};
    char reply[FAKE_REPLY_MAX];
    FILE *in = fdopen(dup(c->fd), "r");
    if (in == NULL)
        _exit(1);
    f->shared->connections++;
    while (read_request(in, &q)) {
        pthread_mutex_lock(&store_lock);
        note(f->shared, c->number, &q);
        fake_execute(f->shared, &q, reply);
        pthread_mutex_unlock(&store_lock);
        if (f->shared->delay_ms > 0)
            sleep_ms(f->shared->delay_ms);
        if (is_acquire(&q) && f->shared->poison[0] != '\0') {
            poison(f->shared, c->fd);
            break;
        }
        if (helper_write(c->fd, reply, strlen(reply)) != 0)
            break;
        drop_request(&q);
    }
    drop_request(&q);
    fclose(in);
}

static void run(void *data)
{
    struct fake *f = data;
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
