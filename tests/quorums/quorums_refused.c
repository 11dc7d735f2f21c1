/* SPDX-License-Identifier: BSD-2-Clause */
/* Several quorums that clients disagree about, and what is refused at open. */
#include "certs.h"
#include "fixture.h"
#include "fleet.h"

#include <string.h>

/* How many nodes does a client with these options warn of? */
static int warnings(redlock_options o)
{
    char text[8192] = "";
    int count = 0;
    redlock *r = client_open_with(&o);
    CHECK_OK(redlock_ping(r, NULL));
    CHECK_OK(redlock_ping(r, NULL)); /* every reply of the greeting was read, and reported */
    read_warnings(r, text, sizeof text);
    client_close(r);
    for (const char *at = text; (at = strstr(at, "it belongs to another")); at++)
        count++;
    return count;
}

CASE_ON(different_sets_are_noticed,
        "After redlock_admit() every node warns a client with another set of quorums.",
        .quorums = 3, .clients = NO_CLIENT)
{
    redlock_quorum swapped[3], other_way[3];
    redlock_options all, plain, fewer, renamed;
    all = fleet_options(fleet);
    plain = client_options(&fleet->cluster[0]);
    for (int i = 0; i < 3; i++) {
        swapped[i] = fleet->quorum[i];
        other_way[i] = fleet->quorum[2 - i];
    }
    /* No client has stated a set: nothing is known. */
    CHECK_INT(0, warnings(all));
    CHECK_INT(0, warnings(plain));
    r = client_open_with(&all);
    CHECK_OK(redlock_admit(r, NULL));
    client_close(r);
    CHECK_INT(0, warnings(all));
    CHECK_INT(3, warnings(plain));
    fewer = all;
    fewer.quorum_count = 2;
    CHECK_INT(6, warnings(fewer));
    swapped[0].name = fleet->quorum[1].name;
    swapped[1].name = fleet->quorum[0].name;
    renamed = all;
    renamed.quorums = swapped;
    CHECK_INT(6, warnings(renamed)); /* the same set, but the third alone is where it was */
    renamed.quorums = other_way;
    CHECK_INT(0, warnings(renamed));

    /* The operator's word changes it: two from now on. */
    r = client_open_with(&fewer);
    CHECK_OK(redlock_admit(r, NULL));
    client_close(r);
    CHECK_INT(0, warnings(fewer));
    CHECK_INT(6, warnings(all)); /* the third was not asked, and knows of three still */
}

static void refuse_votes(redlock_options o, const char *name, uint32_t flags)
{
    redlock *r;
    o.flags = flags;
    r = client_open_with(&o);
    for (size_t i = 0; redlock_member(r, i); i++)
        client_warm(redlock_member(r, i));
    if (flags & REDLOCK_NO_GUARD) {
        CHECK_OK(client_try(r, name, 20000));
    } else {
        CHECK_REFUSED(REDLOCK_GUARDED, client_try(r, name, 20000));
        CHECK_HAS("another quorum, or to another set of quorums", redlock_detail());
        CHECK_HAS("redlock_admit()", redlock_detail());
    }
    client_close(r);
}

CASE_ON(different_sets_do_not_count,
        "A client with another set of quorums counts no node, unless its guard is off.",
        .quorums = 3)
{
    static const uint32_t modes[] = {0, REDLOCK_STRICT, REDLOCK_NO_GUARD};
    redlock_options all, plain, fewer;
    all = fleet_options(fleet);
    plain = client_options(&fleet->cluster[0]);
    fewer = all;
    fewer.quorum_count = 2;
    CHECK_OK(redlock_admit(r, NULL));
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        refuse_votes(plain, "x", modes[i]);
        refuse_votes(fewer, fleet_name(fleet, 0, 0), modes[i]);
    }
    for (size_t i = 0; i < 3; i++)
        CHECK_OK(client_try(r, fleet_name(fleet, i, 0), 20000));
}

static void refuse(const redlock_options *o, const char *why)
{
    redlock *r = NULL;
    CHECK_ERR(REDLOCK_INVAL, redlock_open(o, &r));
    CHECK_HAS(why, redlock_detail());
    CHECK(r == NULL);
}

CASE(refused_at_open, "Every wrong set of quorums is refused with a sentence of its own.")
{
    static const char *const one[] = {"127.0.0.1:1", "127.0.0.1:2"};
    static const char *const two[] = {"127.0.0.1:3", "127.0.0.1:2"};
    static const char *const bad[] = {"ftp://x"};
    char longest[REDLOCK_QUORUM_MAX + 2];
    redlock_quorum q[REDLOCK_QUORUMS_MAX + 1] = {{"a", one, 2}, {"b", two, 1}};
    redlock_options o = REDLOCK_OPTIONS(.quorums = q, .quorum_count = 2);
    o.nodes = one;
    o.node_count = 1;
    refuse(&o, "nodes and quorums are both given");
    o.nodes = NULL;
    o.node_count = 0;
    o.quorums = NULL;
    refuse(&o, "quorums is NULL");
    o.quorums = q;
    o.quorum_count = REDLOCK_QUORUMS_MAX + 1;
    refuse(&o, "65 quorums; at most 64");
    o.quorum_count = 2;
    q[1].name = NULL;
    refuse(&o, "quorum 2 has no name");
    q[1].name = "East";
    refuse(&o, "a-z, 0-9");
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    q[1].name = longest;
    refuse(&o, "longer than 32");
    q[1].name = "a";
    refuse(&o, "two quorums are called 'a'");
    q[1].name = "b";
    q[1].node_count = 0;
    refuse(&o, "quorum 'b' has no nodes");
    q[1].node_count = REDLOCK_NODES_MAX + 1;
    refuse(&o, "quorum 'b' has 16 nodes");
    q[1].node_count = 2;
    refuse(&o, "127.0.0.1:2 is in the quorums 'a' and 'b'");
    q[1] = (redlock_quorum){"b", bad, 1};
    refuse(&o, "quorum 'b': node 1");
    o.flags = REDLOCK_THREAD;
    refuse(&o, "quorum 'b': node 1");
}

CASE(tls_in_one_of_them,
     "TLS files serve the quorums that use TLS, and are refused when none does.")
{
    static const char *const plain[] = {"127.0.0.1:1"};
    static const char *const secure[] = {"rediss://127.0.0.1:2"};
    static const char *const other[] = {"127.0.0.1:3"};
    redlock_quorum q[2] = {{"a", plain, 1}, {"b", secure, 1}};
    redlock *r = NULL;
    redlock_options o;
    certs_make();
    o = (redlock_options)REDLOCK_OPTIONS(.quorums = q, .quorum_count = 2,
                                         .tls_ca_file = certs_path("ca.crt"));
    CHECK_OK(redlock_open(&o, &r));
    client_close(r);
    q[1].nodes = other;
    refuse(&o, "no node has a rediss://, valkeys://, sentinels:// or clusters:// URL");
}

CASE_ON(one_named_quorum,
        "A client of one named quorum is an ordinary client that knows the name.", .quorums = 1)
{
    redlock *plain;
    redlock_node_info info;
    plain = client_open(&fleet->cluster[0], 0);
    info = client_node(r, 2);
    CHECK_STR("a", info.quorum_name);
    CHECK_OK(redlock_node(plain, 2, &info));
    CHECK_STR("", info.quorum_name);
    CHECK(redlock_member(r, 0) == r);
    CHECK(redlock_member(r, 1) == NULL);
    CHECK_INT(0, redlock_quorum_of(r, "x"));
    CHECK_ERR(REDLOCK_INVAL, redlock_quorum_of(r, ""));
    client_lock(r, "x", 20000);
    CHECK_ERR(REDLOCK_BUSY, client_try(plain, "x", 20000));
}
