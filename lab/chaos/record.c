/* SPDX-License-Identifier: BSD-2-Clause */
#include "record.h"

#include "base/time.h"
#include "names.h"
#include "schedule.h"

#include <redlock.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const char *const texts[] = {
#define RECORD_TEXT(name, text) text,
    RECORDS(RECORD_TEXT)
#undef RECORD_TEXT
};

void record_append(int fd, struct record r)
{
    if (r.at_ns == 0) {
        struct timespec t;
        clock_gettime(CLOCK_BOOTTIME, &t);
        r.at_ns = (int64_t)t.tv_sec * RL_NS_PER_S + t.tv_nsec;
    }
    /* A history with holes proves nothing. */
    if (write(fd, &r, sizeof r) != (ssize_t)sizeof r)
        abort();
}

struct history history_read(const char *path)
{
    struct history h = {0};
    FILE *f = fopen(path, "rb");
    size_t count;
    if (f == NULL)
        return h;
    fseek(f, 0, SEEK_END);
    count = (size_t)ftell(f) / sizeof *h.record;
    rewind(f);
    h.record = calloc(count + 1, sizeof *h.record);
    if (h.record != NULL)
        h.count = fread(h.record, sizeof *h.record, count, f);
    fclose(f);
    return h;
}

/* Records of one instant keep the order in which they were written: by hand in tests. */
static int by_time(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return (x > y) - (x < y);
}

void history_sort(struct history *h)
{
    qsort(h->record, h->count, sizeof *h->record, by_time);
}

void history_free(struct history *h)
{
    free(h->record);
    *h = (struct history){0};
}

static void print_fault(FILE *out, const struct record *r)
{
    fprintf(out, "#%u %s %s %u (%lld)", r->hold, fault_text(r->kind),
            fault_target_text(r->kind), r->worker + 1u, (long long)r->value);
}

void record_print(FILE *out, const struct record *r, int64_t zero_ns)
{
    fprintf(out, "%11.6f %-8s ", (double)(r->at_ns - zero_ns) / 1e9, texts[r->what]);
    if (r->what == RECORD_FAULT || r->what == RECORD_HEALED) {
        print_fault(out, r);
    } else if (r->what == RECORD_TERM || r->what == RECORD_INIT) {
        fprintf(out, "vote %u server %u epoch %lld", r->slot + 1u, r->worker + 1u,
                (long long)r->value);
    } else if (r->what == RECORD_PHASE || r->what == RECORD_LATE) {
        fprintf(out, "%lld", (long long)r->value);
    } else {
        char names[96];
        fprintf(out, "w%u.%u", r->worker + 1u, r->life);
        if (r->what != RECORD_BORN && r->what != RECORD_DIED)
            fprintf(out, " #%u %s %s", r->hold, names_text(r->names, names, sizeof names),
                    redlock_kind_text(r->kind));
        if (r->slot != 0)
            fprintf(out, " slot %u", r->slot);
        if (r->deadline_ns != 0)
            fprintf(out, " until %.6f", (double)(r->deadline_ns - zero_ns) / 1e9);
        if (r->token != 0)
            fprintf(out, " token %lld", (long long)r->token);
        if (r->what == RECORD_FENCED || r->what == RECORD_PLAIN || r->what == RECORD_REFUSED)
            fprintf(out, " %lld -> %lld", (long long)r->based_on, (long long)r->value);
        if (r->error != 0)
            fprintf(out, " %s", redlock_error_name(r->error));
    }
    fputc('\n', out);
}
