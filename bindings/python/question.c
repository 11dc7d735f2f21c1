/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "op.h"

/* A struct that begins with its size, as the library in use knows it. */
static void *copied(const void *from, size_t size)
{
    void *to = from ? calloc(1, size) : NULL;
    size_t known;

    if (!to)
        return NULL;
    memcpy(&known, from, sizeof known);
    memcpy(to, from, known < size ? known : size);
    return to;
}

/* False without memory. */
static bool copy_answer(rlpy_op *op, const redlock_answer *answer)
{
    op->info = copied(answer->info, sizeof *op->info);
    op->report = copied(answer->report, sizeof *op->report);
    if ((answer->info && !op->info) || (answer->report && !op->report))
        return false;
    if (answer->name_count == 0)
        return true;
    op->names = calloc(answer->name_count, sizeof *op->names);
    for (; op->names && op->name_count < answer->name_count; op->name_count++) {
        op->names[op->name_count] = strdup(answer->names[op->name_count]);
        if (!op->names[op->name_count])
            return false;
    }
    return op->names != NULL;
}

static void on_answer(int error, const redlock_answer *answer, void *data)
{
    if (answer && !copy_answer(data, answer) && !error)
        error = REDLOCK_NOMEM;
    rlpy_note_end(data, error);
}

static char *text(const char *from)
{
    return strdup(from ? from : "");
}

static void on_check(const redlock_check *check, void *data)
{
    rlpy_op *op = data;
    rlpy_check *more = realloc(op->checks, (op->check_count + 1) * sizeof *more);

    if (!more)
        return;
    op->checks = more;
    more[op->check_count++] =
        (rlpy_check){check->verdict,    text(check->address), text(check->name),
                     text(check->text), text(check->remedy),  text(check->quorum)};
}

static int ask(redlock *library, rlpy_op *op, int question, const char *name, const char *word,
               int64_t ttl_ms)
{
    switch (question) {
    case RLPY_QUERY:
        return redlock_start_query(library, name, on_answer, op);
    case RLPY_LIST:
        return redlock_start_list(library, on_answer, op);
    case RLPY_BREAK:
        return redlock_start_break(library, name, word, on_answer, op);
    case RLPY_RELEASE_TAGGED:
        return redlock_start_release_tagged(library, name, word, on_answer, op);
    case RLPY_PING:
        return redlock_start_ping(library, on_answer, op);
    case RLPY_ADMIT:
        return redlock_start_admit(library, on_answer, op);
    default:
        return redlock_start_audit(library, ttl_ms, on_check, on_answer, op);
    }
}

int rlpy_ask(rlpy_op *op, int question, const char *name, const char *word, int64_t ttl_ms,
             int quorum)
{
    rlpy_client *client = op->client;
    bool entered = rlpy_enter(client);
    redlock *library = quorum < 0 || !client->library
                           ? client->library
                           : redlock_member(client->library, (size_t)quorum);
    int error;

    op->is_question = true;
    error = ask(library, op, question, name, word, ttl_ms);
    rlpy_exit(client, entered);
    return error;
}

const redlock_info *rlpy_answer_info(const rlpy_op *op)
{
    return op->info;
}

const redlock_report *rlpy_answer_report(const rlpy_op *op)
{
    return op->report;
}

size_t rlpy_answer_count(const rlpy_op *op)
{
    return op->checks ? op->check_count : op->name_count;
}

const char *rlpy_answer_name(const rlpy_op *op, size_t index)
{
    return index < op->name_count ? op->names[index] : NULL;
}

const rlpy_check *rlpy_answer_check(const rlpy_op *op, size_t index)
{
    return index < op->check_count ? &op->checks[index] : NULL;
}
