/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls that fail under the daemon, one at a time, at every place where it or the
 * library makes them while leases are acquired, renewed and released: no crash, no descriptor
 * left open, no lock left behind, and the next request is served.
 */
#include "check.h"
#include "client.h"
#include "inject_shim.h"
#include "io/clock.h"
#include "lease_rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLACES_MAX 8 /* of a kind that are tried one by one: they are all alike by then */
#define TRIES 20

/* What fails are the calls of the daemon: the test's own do not. */
void __real_loop_turn(struct loop *loop, int timeout_ms);
void __wrap_loop_turn(struct loop *loop, int timeout_ms);
void __wrap_loop_turn(struct loop *loop, int timeout_ms)
{
    inject_resume();
    __real_loop_turn(loop, timeout_ms);
    inject_suspend();
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

    inject_disarm();
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

static void fail_everywhere(enum inject_call call, int error, bool every_place)
{
    int descriptors, n = 1;

    replica_begin();
    one.rig->may_break = true;
    use_once();
    descriptors = count_descriptors();
    for (; n <= PLACES_MAX; n++) {
        inject_arm(call, n, error, false);
        inject_suspend();
        use_once();
        check_recovered(descriptors);
        if (!inject_fired())
            break;
    }
    /* A kind of call that is never made would make this a test of nothing. */
    CHECK(n > (every_place ? PLACES_MAX : 1));
}

CASE_OF(accept_full, "A daemon that has no descriptor left serves the client a little later.",
        fail_everywhere(INJECT_ACCEPT, EMFILE, false));
CASE_OF(accept_aborted, "A client that is gone before it is accepted disturbs no other.",
        fail_everywhere(INJECT_ACCEPT, ECONNABORTED, false));
CASE_OF(recv_reset,
        "Any connection may be reset while it is read from, of a client or of a node.",
        fail_everywhere(INJECT_RECV, ECONNRESET, true));
CASE_OF(recv_interrupted, "Any read may be interrupted by a signal.",
        fail_everywhere(INJECT_RECV, EINTR, true));
CASE_OF(send_broken,
        "Any connection may be gone when it is written to, of a client or of a node.",
        fail_everywhere(INJECT_SEND, EPIPE, true));
CASE_OF(send_interrupted, "Any write may be interrupted by a signal.",
        fail_everywhere(INJECT_SEND, EINTR, true));
CASE_OF(send_short, "Any write may take a single byte.",
        fail_everywhere(INJECT_SEND, INJECT_SHORT, true));
CASE_OF(epoll_full, "A descriptor that cannot be watched costs one connection at most.",
        fail_everywhere(INJECT_EPOLL_CTL, ENOSPC, false));
CASE_OF(wait_interrupted, "Any wait of the loop may be interrupted by a signal.",
        fail_everywhere(INJECT_EPOLL_WAIT, EINTR, true));
CASE_OF(random_fails, "Without random bytes no lock is granted, and a later request is served.",
        fail_everywhere(INJECT_GETRANDOM, EIO, false));
CASE_OF(peer_unknown,
        "A client whose user the kernel does not report is not served, the next is.",
        fail_everywhere(INJECT_GETSOCKOPT, ENOPROTOOPT, false));
