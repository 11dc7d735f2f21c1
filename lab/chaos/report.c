/* SPDX-License-Identifier: BSD-2-Clause */
#include "report.h"

#include <redlock.h>
#include <stdarg.h>
#include <stdlib.h>

const char *regime_text(int regime)
{
    static const char *const texts[] = {"default",
                                        "strict",
                                        "broken: no guard",
                                        "broken: two lists of nodes",
                                        "broken: a rule is switched off",
                                        "broken: deadlines counted from the answer"};
    return texts[regime];
}

__attribute__((format(printf, 3, 4))) static void row(FILE *out, const char *head,
                                                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(out, "  %-26s", head);
    vfprintf(out, format, args);
    fputc('\n', out);
    va_end(args);
}

static void print_line(void *out, const char *head, const char *text)
{
    row(out, head, "%s", text);
}

static void print_faults(FILE *out, const struct verdict *v)
{
    char text[512] = "none";
    size_t used = 0;
    for (int i = 0; i < FAULT_COUNT && used < sizeof text; i++) {
        size_t times = i == FAULT_MACHINE ? 0 : v->faults[i];
        if (i == FAULT_OUTAGE_FREEZE || i == FAULT_OUTAGE_KILL)
            times /= NODES;
        if (times > 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %zu",
                                     used > 0 ? ", " : "", fault_text(i), times);
    }
    row(out, "faults", "%s", text);
}

static void print_acquisitions(FILE *out, const struct verdict *v)
{
    char text[512];
    size_t used = (size_t)snprintf(text, sizeof text, "%zu of two names", v->several);
    for (int kind = 0; kind < KIND_COUNT && used < sizeof text; kind++)
        used += (size_t)snprintf(text + used, sizeof text - used, ", %s %zu",
                                 redlock_kind_text(kind), v->grants[kind]);
    if (v->by_command > 0 && used < sizeof text)
        snprintf(text + used, sizeof text - used, "; %zu by command", v->by_command);
    row(out, "acquisitions", "%s", text);
}

void report_print(FILE *out, const struct verdict *v, const struct report_about *about)
{
    print_faults(out, v);
    row(out, "links", "%s", about->network);
    if (about->balancer != NULL)
        row(out, "balancer",
            "%ld answers, %ld dropped, %ld requests doubled, %ld delayed, %ld ends of clients "
            "hidden, %ld replicas killed at a grant; %ld streams, %ld times one came back",
            (long)about->balancer->requests, (long)about->balancer->dropped,
            (long)about->balancer->doubled, (long)about->balancer->delayed,
            (long)about->balancer->hidden, (long)about->balancer->killed,
            (long)about->balancer->streams, (long)about->balancer->returned);
    print_acquisitions(out, v);
    if (about->turns != NULL)
        turns_print(about->turns, about->schedule->votes, about->schedule->max_ttl_ms,
                    print_line, out);
    row(out, "refused or in vain", "%zu", v->denied);
    row(out, "locks lost and reported", "%zu", v->lost);
    if (v->reported > 0)
        row(out, "reported, at the latest",
            "%lld ms %s the validity ended (%zu losses in running workers)",
            (long long)llabs(v->reported_worst_ms),
            v->reported_worst_ms <= 0 ? "before" : "after", v->reported);
    row(out, "waits that were served", "%zu: median %lld ms, 99 %% %lld ms, longest %lld ms",
        v->waits, (long long)v->wait_p50_ms, (long long)v->wait_p99_ms,
        (long long)v->wait_max_ms);
    row(out, "longest wait at the end", "%lld ms, every worker served: %s",
        (long long)v->quiet_max_ms, v->breaches[BREACH_STARVED] == 0 ? "yes" : "NO");
    row(out, "wanted, but not claimed", "for %lld ms at most", (long long)v->unclaimed_max_ms);
    row(out, "register with tokens", "%zu writes, %zu late ones refused, %zu updates lost",
        v->fenced_writes, v->fenced_refused, v->breaches[BREACH_FENCED]);
    row(out, "register without tokens",
        "%zu writes, %zu updates lost (no lock can prevent that)", v->plain_writes,
        v->plain_lost);
    if (v->evicted > 0)
        row(out, "evictions", "%zu, of them %zu final; %zu holders beside one that was evicted",
            v->evicted, v->evicted_for_good, v->beside_evicted);
    row(out, "forgiven", "%zu double holds within %d ms of a clock set forward", v->forgiven,
        BLIND_MS);
    row(out, "the machine itself", "late by up to %lld ms, %zu times by 30 ms or more",
        (long long)about->late_ms, v->faults[FAULT_MACHINE]);
    for (int i = 0; i < BREACH_COUNT; i++)
        if (v->breaches[i] > 0)
            row(out, "BROKEN", "%zu times: %s", v->breaches[i], breach_text(i));
    for (size_t i = 0; i < v->note_count && i < 20; i++)
        row(out, "", "at %.3f s: %s", (double)(v->note[i].at_ns - v->start_ns) / 1e9,
            v->note[i].text);
    if (v->breach_count == 0)
        row(out, "promises broken", "none");
}

static bool write_history(const char *path, const struct history *h, int64_t zero_ns)
{
    FILE *out = fopen(path, "w");
    if (out == NULL)
        return false;
    for (size_t i = 0; i < h->count; i++)
        record_print(out, &h->record[i], zero_ns);
    return fclose(out) == 0;
}

static bool write_text(const char *path, const struct verdict *v,
                       const struct report_about *about, const char *title)
{
    FILE *out = fopen(path, "w");
    if (out == NULL)
        return false;
    fprintf(out,
            "%s\nThe same seed gives the same faults at the same times, not the same "
            "interleaving: make chaos CHAOS_SEED=%llu CHAOS_SECONDS=%lld\n",
            title, (unsigned long long)about->schedule->seed, (long long)about->seconds);
    report_print(out, v, about);
    return fclose(out) == 0;
}

bool report_write(const char *dir, struct history *h, const struct verdict *v,
                  const struct report_about *about)
{
    char path[512], title[160];
    bool good;
    snprintf(title, sizeof title, "redlock chaos: seed %llu, %lld s, %s",
             (unsigned long long)about->schedule->seed, (long long)about->seconds,
             regime_text(about->schedule->regime));
    snprintf(path, sizeof path, "%s/timeline.svg", dir);
    good = timeline_write(path, h, v, title);
    snprintf(path, sizeof path, "%s/history.txt", dir);
    good = write_history(path, h, v->start_ns) && good;
    snprintf(path, sizeof path, "%s/report.txt", dir);
    return write_text(path, v, about, title) && good;
}
