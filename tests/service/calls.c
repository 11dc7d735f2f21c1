/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls that fail under the daemon, one at a time, at every place where it or the
 * library makes them while leases are acquired, renewed and released: no crash, no descriptor
 * left open, no lock left behind, and the next request is served.
 */
#include "check.h"
#include "client.h"
#include "io/clock.h"
#include "lease_rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define PLACES_MAX 8 /* of a kind that are tried one by one: they are all alike by then */
#define TRIES 20

enum call { ACCEPT, RECV, SEND, EPOLL_CTL, EPOLL_WAIT, RANDOM, OPTION };

static struct {
    enum call call;
    int nth;   /* 0: none fails */
    int error; /* -1: half of the bytes */
    int seen;
    bool fired, inside;
} armed;

/* True: this one fails, and errno says how. */
static bool fails(enum call call)
{
    if (armed.nth == 0 || !armed.inside || armed.call != call || ++armed.seen != armed.nth)
        return false;
    armed.fired = true;
    errno = armed.error;
    return true;
}

void __real_loop_turn(struct loop *loop, int timeout_ms);
void __wrap_loop_turn(struct loop *loop, int timeout_ms);
void __wrap_loop_turn(struct loop *loop, int timeout_ms)
{
    armed.inside = true;
    __real_loop_turn(loop, timeout_ms);
    armed.inside = false;
}

/* The call in front of libc's, which fails when it is its turn; behind it the arguments. */
#define WRAP(call, type, name, parameters, ...)                                                \
    type __real_##name parameters;                                                             \
    type __wrap_##name parameters;                                                             \
    type __wrap_##name parameters                                                              \
    {                                                                                          \
        return fails(call) ? -1 : __real_##name(__VA_ARGS__);                                  \
    }

WRAP(ACCEPT, int, accept4, (int fd, struct sockaddr *address, socklen_t *size, int flags), fd,
     address, size, flags)
WRAP(RECV, ssize_t, recv, (int fd, void *bytes, size_t size, int flags), fd, bytes, size, flags)
WRAP(EPOLL_CTL, int, epoll_ctl, (int epoll_fd, int op, int fd, struct epoll_event *event),
     epoll_fd, op, fd, event)
WRAP(EPOLL_WAIT, int, epoll_wait,
     (int epoll_fd, struct epoll_event *events, int count, int timeout_ms), epoll_fd, events,
     count, timeout_ms)
WRAP(RANDOM, ssize_t, getrandom, (void *bytes, size_t size, unsigned flags), bytes, size, flags)
WRAP(OPTION, int, getsockopt, (int fd, int level, int name, void *value, socklen_t *size), fd,
     level, name, value, size)

ssize_t __real_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags)
{
    if (!fails(SEND))
        return __real_send(fd, bytes, size, flags);
    return armed.error == -1 ? __real_send(fd, bytes, (size + 1) / 2, flags) : -1;
}

/* The status; 0: the connection ended without an answer. */
static int exchange(const char *request, char *answer, size_t size)
{
    int fd = rig_request(one.rig, request);
    bool has_body = strncmp(request, "DELETE ", 7) != 0;
    const char *text = rig_read_until(one.rig, fd, has_body ? "}\n" : "\r\n\r\n");

    snprintf(answer, size, "%s", text ? text : "");
    rig_disconnect(one.rig, fd);
    return text ? atoi(text + 9) : 0;
}

static const char *new_id(void)
{
    static char id[64];
    static unsigned number;

    snprintf(id, sizeof id, "some-lease-id-of-a-client-%u", ++number);
    return id;
}

/* As a client does: what it does not know is ended, until a replica says that it is. */
static void end_lease(const char *id)
{
    char answer[4096];
    int status = 0;

    for (int i = 0; i < TRIES && status != 204 && status != 410; i++)
        status = exchange(lease_request("DELETE", id, NULL, NULL), answer, sizeof answer);
    if (status != 204 && status != 410)
        FAIL("%s is not ended: %s", id, answer);
}

static void use_once(void)
{
    char id[64], answer[4096], grant[512];
    int status;

    strcpy(id, new_id());
    status =
        exchange(lease_request("PUT", id, NULL, "{\"ttl_ms\":20000}"), answer, sizeof answer);
    if (status == 201) {
        strcpy(grant, lease_member(answer, "grant"));
        status = exchange(lease_request("POST", id, grant, "{\"ttl_ms\":20000}"), answer,
                          sizeof answer);
        if (status != 200 && status != 0 && status != 503)
            FAIL("a renewal: %s", answer);
    } else if (status != 0 && status != 503) {
        FAIL("an acquisition: %s", answer);
    }
    end_lease(id);
}

/*
 * Nothing fails any more: the lock is free on a majority, and can be had. A node whose
 * connection broke under the release may keep the key for its TTL.
 */
static void check_recovered(int descriptors)
{
    int64_t end_ns = rl_now_ns() + SOON_MS * RL_NS_PER_MS;
    char id[64], answer[4096];

    armed.nth = 0;
    while ((cluster_count(&cluster, KEY) > 1 || count_descriptors() != descriptors) &&
           rl_now_ns() < end_ns)
        replica_run(10);
    CHECK_BETWEEN(0, 1, cluster_count(&cluster, KEY));
    CHECK_INT(descriptors, count_descriptors());
    for (size_t i = 0; i < cluster.count; i++)
        server_cmd(&cluster.node[i], "DEL", KEY, NULL);
    strcpy(id, new_id());
    if (exchange(lease_request("PUT", id, NULL, "{}"), answer, sizeof answer) != 201)
        FAIL("afterwards: %s", answer);
    end_lease(id);
}

static void fail_everywhere(enum call call, int error, bool every_place)
{
    int descriptors, n = 1;

    replica_begin();
    one.rig->may_break = true;
    use_once();
    descriptors = count_descriptors();
    for (; n <= PLACES_MAX; n++) {
        armed.call = call;
        armed.error = error;
        armed.seen = 0;
        armed.fired = false;
        armed.nth = n;
        use_once();
        check_recovered(descriptors);
        if (!armed.fired)
            break;
    }
    /* A kind of call that is never made would make this a test of nothing. */
    CHECK(n > (every_place ? PLACES_MAX : 1));
}

CASE_OF(accept_full, "A daemon that has no descriptor left serves the client a little later.",
        fail_everywhere(ACCEPT, EMFILE, false));
CASE_OF(accept_aborted, "A client that is gone before it is accepted disturbs no other.",
        fail_everywhere(ACCEPT, ECONNABORTED, false));
CASE_OF(recv_reset,
        "Any connection may be reset while it is read from, of a client or of a node.",
        fail_everywhere(RECV, ECONNRESET, true));
CASE_OF(recv_interrupted, "Any read may be interrupted by a signal.",
        fail_everywhere(RECV, EINTR, true));
CASE_OF(send_broken,
        "Any connection may be gone when it is written to, of a client or of a node.",
        fail_everywhere(SEND, EPIPE, true));
CASE_OF(send_interrupted, "Any write may be interrupted by a signal.",
        fail_everywhere(SEND, EINTR, true));
CASE_OF(send_half, "Any write may take half of the bytes.", fail_everywhere(SEND, -1, true));
CASE_OF(epoll_full, "A descriptor that cannot be watched costs one connection at most.",
        fail_everywhere(EPOLL_CTL, ENOSPC, false));
CASE_OF(wait_interrupted, "Any wait of the loop may be interrupted by a signal.",
        fail_everywhere(EPOLL_WAIT, EINTR, true));
CASE_OF(random_fails, "Without random bytes no lock is granted, and a later request is served.",
        fail_everywhere(RANDOM, EIO, false));
CASE_OF(peer_unknown,
        "A client whose user the kernel does not tell is not served, the next is.",
        fail_everywhere(OPTION, ENOPROTOOPT, false));
