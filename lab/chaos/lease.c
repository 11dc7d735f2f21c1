/* SPDX-License-Identifier: BSD-2-Clause */
#include "lease.h"

#include "record.h"
#include "rig.h"

#include "base/time.h"
#include "clock.h"
#include "unix_socket.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    LOOK_MS = 20,
    ENDING_MS = 700, /* the same of a DELETE */
    ENDING_TRIES = 3,
    RENEWAL_MS = 400,
    TAKING_MS = ANSWER_MS + ENDING_TRIES * ENDING_MS,
};

/* Everything up to the end of the connection, in time; the status, or 0. */
static int read_answer(int fd, int64_t end_ms, char *answer)
{
    size_t size = 0;
    const char *body, *length;
    for (;;) {
        struct pollfd poller = {fd, POLLIN, 0};
        int64_t left_ms = end_ms - now_ms();
        ssize_t got;
        if (left_ms <= 0 || poll(&poller, 1, (int)left_ms) <= 0)
            return 0;
        got = recv(fd, answer + size, LEASE_ANSWER_MAX - 1 - size, 0);
        if (got < 0)
            return 0;
        size += (size_t)got;
        answer[size] = '\0';
        if (got == 0)
            break;
    }
    body = strstr(answer, "\r\n\r\n");
    length = strstr(answer, "Content-Length: ");
    if (body == NULL || (length != NULL && strlen(body + 4) < strtoul(length + 16, NULL, 10)))
        return 0;
    return atoi(answer + 9);
}

static int ask(const char *socket, const char *request, int64_t timeout_ms, char *answer)
{
    int64_t end_ms = now_ms() + timeout_ms;
    int fd = unix_connect(socket, SOCK_STREAM), status = 0;
    answer[0] = '\0';
    if (fd < 0)
        return 0;
    if (send(fd, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request))
        status = read_answer(fd, end_ms, answer);
    close(fd);
    return status;
}

int lease_get(const char *socket, const char *path, int64_t timeout_ms, char *answer)
{
    char request[256];
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
             path);
    return ask(socket, request, timeout_ms, answer);
}

const char *lease_member(const char *answer, const char *key)
{
    static char text[512];
    char needle[32];
    const char *at;
    snprintf(needle, sizeof needle, "\"%s\":", key);
    at = strstr(answer, needle);
    text[0] = '\0';
    if (at != NULL) {
        at += strlen(needle);
        at += *at == '"';
        snprintf(text, sizeof text, "%.*s", (int)strcspn(at, "\",}"), at);
    }
    return text;
}

void lease_choose_id(struct hold *h)
{
    unsigned char bytes[16];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        abort();
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(h->id + 2 * i, 3, "%02x", bytes[i]);
}

void lease_write_request(const struct hold *h, const char *method, const char *fields,
                         const char *body, char *out, size_t size)
{
    const char *name = "";
    for (int i = 0; i < NAMES; i++)
        if (h->names >> i & 1)
            name = name_text[i];
    snprintf(out, size,
             "%s /v1/locks/%s HTTP/1.1\r\nHost: h\r\nConnection: close\r\nLease-Id: %s\r\n"
             "%s%s%s%sContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
             method, name, h->id, fields, h->grant[0] ? "Grant: " : "", h->grant,
             h->grant[0] ? "\r\n" : "", strlen(body), body);
}

static int lease_ask(struct crew *c, struct hold *h, const char *method, const char *body,
                     int64_t timeout_ms, char *answer)
{
    char request[2048];
    lease_write_request(h, method, "", body, request, sizeof request);
    return ask(c->rig->replicas.balancer.path, request, timeout_ms, answer);
}

void lease_believe(struct crew *c, struct hold *h, int64_t began_ns, const char *answer)
{
    int64_t told_ms = atoll(lease_member(answer, "after_ms"));
    told_ms += atoll(lease_member(answer, "remaining_ms"));
    if (c->rig->schedule->regime == REGIME_BROKEN_DEADLINE)
        began_ns = now_ns();
    h->deadline_ns = began_ns + told_ms * RL_NS_PER_MS;
}

/* Ends the lease of an id whose outcome is unknown. True: a replica has answered that it is
 * ended. */
static bool lease_end_id(struct crew *c, struct hold *h)
{
    char answer[LEASE_ANSWER_MAX];
    for (int i = 0; i < ENDING_TRIES; i++) {
        int status = lease_ask(c, h, "DELETE", "", ENDING_MS, answer);
        if (status == 204 || status == 410)
            return true;
    }
    return false;
}

void lease_write_terms(const struct crew *c, const struct hold *h, int64_t wait_ms, char *out,
                       size_t size)
{
    char more[96] = "";
    if (redlock_kind_traits(h->kind) & REDLOCK_KIND_OWNER)
        snprintf(more, sizeof more, ",\"owner\":\"%s\"", c->owner);
    if (redlock_kind_traits(h->kind) & REDLOCK_KIND_SLOTS)
        snprintf(more, sizeof more, ",\"slots\":%d", PRINTERS);
    snprintf(out, size, "{\"ttl_ms\":%lld,\"wait_ms\":%lld,\"kind\":\"%s\",\"fair\":%s%s}",
             (long long)h->ttl_ms, (long long)wait_ms, redlock_kind_text(h->kind),
             h->fair ? "true" : "false", more);
}

static enum outcome try_to_take(struct crew *c, struct hold *h, int64_t wait_ms)
{
    char body[256], answer[LEASE_ANSWER_MAX];
    int64_t began_ns;
    int status;
    lease_choose_id(h);
    h->grant[0] = '\0';
    lease_write_terms(c, h, wait_ms, body, sizeof body);
    began_ns = now_ns();
    status = lease_ask(c, h, "PUT", body, wait_ms + ANSWER_MS, answer);
    if (status == 423)
        return REFUSED;
    if (status == 201) {
        lease_believe(c, h, began_ns, answer);
        h->fence = atoll(lease_member(answer, "fence"));
        snprintf(h->grant, sizeof h->grant, "%s", lease_member(answer, "grant"));
        if (h->deadline_ns > now_ns())
            return GRANTED;
    } else if (status != 0 && status != 409 && status != 410 && status != 503) {
        fprintf(stderr, "worker %d: %s\n", c->index + 1, answer);
        _exit(4);
    }
    lease_end_id(c, h);
    return UNKNOWN;
}

bool lease_take(struct crew *c, struct hold *h)
{
    int64_t slack_ms = h->streamed ? ANSWER_MS : TAKING_MS, end_ns;
    struct record r = {.what = RECORD_ASK, .at_ns = now_ns()};
    enum outcome outcome;
    end_ns = r.at_ns + h->wait_ms * RL_NS_PER_MS;
    r.deadline_ns = h->wait_ms > 0 ? end_ns + slack_ms * RL_NS_PER_MS : 0;
    hold_note(c, h, r);
    do {
        int64_t left_ms = (end_ns - now_ns()) / RL_NS_PER_MS;
        left_ms = left_ms < 0 ? 0 : left_ms;
        outcome = h->streamed
                      ? stream_try(c, h, left_ms)
                      : try_to_take(c, h, left_ms < MAX_WAIT_MS ? left_ms : MAX_WAIT_MS);
    } while (outcome != GRANTED && now_ns() < end_ns);
    r = (struct record){.what = outcome == GRANTED ? RECORD_GRANT : RECORD_DENY,
                        .at_ns = now_ns()};
    if (outcome == GRANTED) {
        r.deadline_ns = h->deadline_ns;
        r.token = h->fence;
    } else {
        r.error = outcome == REFUSED ? REDLOCK_TIMEOUT : REDLOCK_NOQUORUM;
    }
    hold_note(c, h, r);
    return outcome == GRANTED;
}

/* Without an answer the deadline that is known stands. */
static void renew(struct crew *c, struct hold *h)
{
    char body[64], answer[LEASE_ANSWER_MAX];
    int64_t left_ms = hold_remaining_ms(h) - LOOK_MS, began_ns = now_ns();
    int status;
    if (left_ms <= 0)
        return;
    snprintf(body, sizeof body, "{\"ttl_ms\":%lld}", (long long)h->ttl_ms);
    status = lease_ask(c, h, "POST", body, left_ms < RENEWAL_MS ? left_ms : RENEWAL_MS, answer);
    if (status == 200) {
        lease_believe(c, h, began_ns, answer);
    } else if (status == 410) {
        hold_note(c, h, (struct record){.what = RECORD_LOST});
        h->deadline_ns = 0;
    }
}

void lease_stay(struct crew *c, struct hold *h)
{
    int64_t end_ms = now_ms() + h->stay_ms;
    for (int64_t left_ms; (left_ms = end_ms - now_ms()) > 0;) {
        int64_t deadline_ns;
        int64_t wait_ms = left_ms < LOOK_MS ? left_ms : LOOK_MS;
        if (h->streamed) {
            stream_look(c, h, wait_ms);
        } else {
            sleep_ms(wait_ms);
            if (h->renewed && hold_remaining_ms(h) < h->ttl_ms / 2)
                renew(c, h);
        }
        deadline_ns = hold_remaining_ms(h) > 0 ? h->deadline_ns : 0;
        hold_note(c, h, (struct record){.what = RECORD_SEEN, .deadline_ns = deadline_ns});
        if (deadline_ns == 0)
            return;
    }
}

void lease_end(struct crew *c, struct hold *h)
{
    bool is_ended;
    hold_note(c, h, (struct record){.what = RECORD_RELEASE});
    is_ended = (h->streamed && stream_close(h)) || lease_end_id(c, h);
    hold_note(c, h,
              (struct record){.what = RECORD_RELEASED,
                              .error = is_ended ? REDLOCK_OK : REDLOCK_NOQUORUM});
    h->deadline_ns = 0;
}
