/* SPDX-License-Identifier: BSD-2-Clause */
/* break.lua and peek.lua by hand, and the scripts that meet labels in values and waiters. */
#include "check.h"
#include "resp.h"
#include "script_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

CASES_BEGIN_WITH(begin);

/* The fingerprint of a holder, as look.lua returns it. */
static const char *fingerprint_of(const char *value)
{
    const char *reply = call_look(&node, "x");
    for (int i = 0; i < part_int(reply, 6); i++)
        if (strcmp(part(reply, 7 + 3 * i), value) == 0)
            return part(reply, 9 + 3 * i);
    FAIL("no holder %s", value);
}

static void check_broken(const char *reply, const char *value, long long left_ms)
{
    CHECK_INT(1, part_int(reply, 0));
    CHECK_LEFT(left_ms, part_int(reply, 1));
    CHECK_STR(value, part(reply, 2));
}

CASE(break_reader,
     "Breaking a reader leaves the other readers, and the key as long as they live.")
{
    GRANTED(.value = "a", .kind = "s", .ttl = "20000");
    GRANTED(.value = "b", .kind = "s", .ttl = "5000");
    check_broken(call_break(&node, "x", fingerprint_of("a")), "a", 20000);
    CHECK_STR("b", server_cmd(&node, "ZRANGE", KEY, "0", "-1", NULL));
    CHECK_LEFT(5000, pttl(KEY));
    check_broken(call_break(&node, "x", fingerprint_of("b")), "b", 5000);
    CHECK_INT(0, server_int(&node, "EXISTS", KEY, NULL));
}

CASE(break_owner_like_a_slot, "An owner that reads like the hold of a slot is taken for none.")
{
    GRANTED(.value = "b", .kind = "o", .group = "9999999999999:b", .ttl = "9000");
    check_broken(call_break(&node, "x", fingerprint_of("b")), "b", 9000);
}

CASE(break_slot, "Breaking a slot leaves the other slots.")
{
    GRANTED(.value = "a#1@0 me #2", .kind = "k", .group = "2", .slot = "1", .ttl = "9000");
    GRANTED(.value = "b#2", .kind = "k", .group = "2", .slot = "2", .ttl = "5000");
    check_broken(call_break(&node, "x", fingerprint_of("a#1@0 me #2")), "a#1@0 me #2", 9000);
    CHECK_INT(0, server_int(&node, "HEXISTS", KEY, "s:1", NULL));
    CHECK_INT(1, server_int(&node, "HEXISTS", KEY, "s:2", NULL));
    CHECK_LEFT(5000, pttl(KEY));
}

CASE(break_strangers,
     "Breaking deletes what another program left, of any length and without expiry.")
{
    char *huge = malloc(5001);
    const char *reply;
    CHECK(huge != NULL);
    memset(huge, 'h', 5000);
    huge[5000] = '\0';
    server_cmd(&node, "SET", KEY, huge, NULL);
    free(huge);
    reply = call_look(&node, "x");
    CHECK_PARTS("0=1, 1=-1", call_break(&node, "x", part(reply, 9)));
    CHECK_INT(0, server_int(&node, "EXISTS", KEY, NULL));
}

CASE(broken_is_not_repaired,
     "What was broken is not put back by a repair, of any kind, also where it was missing.")
{
    bool is_gone = false;
    FOR_KINDS(kind)
    {
        char value[8], fingerprint[64];
        snprintf(value, sizeof value, "%s#1", kind);
        GRANTED(.value = value, .kind = kind, .group = "1", .slot = "1", .ttl = "9000");
        snprintf(fingerprint, sizeof fingerprint, "%s", fingerprint_of(value));
        /* It is gone already when the break comes, as on a node that lost it. */
        if (is_gone)
            CHECK_STR("1", GIVE(.value = value));
        CHECK_INT(!is_gone, part_int(call_break(&node, "x", fingerprint), 0));
        is_gone = !is_gone;
        REFUSED(.value = value, .kind = kind, .group = "1", .slot = "1", .life = "repair");
        CHECK_INT(0, server_int(&node, "EXISTS", KEY, NULL));
        GRANTED(.value = "n#1", .kind = kind, .group = "1", .slot = "1", .life = "repair");
        CHECK_STR("1", GIVE(.value = "n#1"));
    }
}

CASE(broken_owner_is_not_repaired, "Every hold of an owner that was broken stays broken.")
{
    GRANTED(.value = "a", .kind = "o", .group = "me");
    GRANTED(.value = "b", .kind = "o", .group = "me");
    CHECK_INT(1, part_int(call_break(&node, "x", fingerprint_of("a")), 0));
    REFUSED(.value = "a", .kind = "o", .group = "me", .life = "repair");
    REFUSED(.value = "b", .kind = "o", .group = "me", .life = "repair");
}

static struct resp *listen_to(const char *channel)
{
    struct resp *r = resp_unix(node.socket_path);
    char reply[256];
    CHECK(r != NULL);
    CHECK_INT(0, resp_send(r, (const char *const[]){"SUBSCRIBE", channel, NULL}));
    CHECK_INT(0, resp_read(r, reply, sizeof reply));
    return r;
}

static void check_heard(struct resp *r, const char *expected)
{
    char reply[256];
    CHECK_INT(0, resp_read(r, reply, sizeof reply));
    CHECK_STR(expected, part(reply, 2));
}

/* One waiter with a label, first in the queue of x. */
static void put_waiter(void)
{
    char later[32];
    snprintf(later, sizeof later, "%lld", server_now_ms(&node) + 100000);
    server_cmd(&node, "ZADD", "redlock.queue:x", "5", "w0123456789abcdef.7 me #9", NULL);
    server_cmd(&node, "ZADD", "redlock.alive:x", later, "w0123456789abcdef.7 me #9", NULL);
}

CASE(waiters_are_woken_without_label,
     "Every script that wakes a waiter publishes its name without label.")
{
    struct resp *r;
    put_waiter();
    r = listen_to("redlock.wake:0123456789abcdef");
    GRANTED(.value = "a");
    check_broken(call_break(&node, "x", fingerprint_of("a")), "a", 20000);
    check_heard(r, "w0123456789abcdef.7");
    GRANTED(.value = "b me #3");
    CHECK_STR("2", GIVE(.value = "b me #3"));
    check_heard(r, "w0123456789abcdef.7"); /* and a label is no slot */
    GRANTED(.value = "c");
    CHECK_STR("2", call_release(&node, "x", "c"));
    check_heard(r, "w0123456789abcdef.7");
    GRANTED(.value = "d#2@0 me #3", .kind = "k", .group = "2", .slot = "2");
    CHECK_STR("2", GIVE(.value = "d#2@0 me #3"));
    check_heard(r, "w0123456789abcdef.7#2");
    resp_free(r);
}

CASE(slots_beside_labels,
     "A slot is renewed and given back by its value, whatever its label says.")
{
    GRANTED(.value = "a#1@0 #2", .kind = "k", .group = "3", .slot = "1", .ttl = "3000");
    GRANTED(.value = "b#2@0 #1", .kind = "k", .group = "3", .slot = "2", .ttl = "3000");
    CHECK_STR("1", call_renew(&node, "x", "a#1@0 #2", "30000"));
    CHECK_STR("0", call_renew(&node, "x", "c#1@0 #2", "30000"));
    CHECK_STR("1", GIVE(.value = "b#2@0 #1"));
    CHECK_INT(1, server_int(&node, "HEXISTS", KEY, "s:1", NULL));
    CHECK_STR("1", GIVE(.value = "a#1@0 #2"));
    CHECK_INT(0, server_int(&node, "EXISTS", KEY, NULL));
}

CASE(peek_at_kinds, "Peeking names a holder of every kind, the one that lasts longest.")
{
    CHECK_PARTS("0=-2, 1=", call_peek(&node, "x"));
    FOR_KINDS(kind)
    {
        GRANTED(.value = "a#1", .kind = kind, .group = "2", .slot = "1", .ttl = "9000");
        if (kind[0] != 'm')
            GRANTED(.value = "b#2", .kind = kind, .group = "2", .slot = "2", .ttl = "4000");
        put_waiter();
        CHECK_PARTS("0~9000, 1=a#1, 2=1", call_peek(&node, "x"));
        server_cmd(&node, "DEL", KEY, "redlock.queue:x", "redlock.alive:x", NULL);
    }
    server_cmd(&node, "RPUSH", KEY, "v", NULL);
    CHECK_STR("", part(call_peek(&node, "x"), 1));
}
