/* SPDX-License-Identifier: BSD-2-Clause */
/* What a node of a cluster says of the slots of the votes (E3), and which slots these are. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "base/slice.h"
#include "protocol/answer.h"
#include "protocol/cluster.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

/* CRC-16 of XMODEM, as the specification of Redis Cluster has it. */
static uint16_t slot_of(const char *tag)
{
    uint16_t crc = 0;

    for (; *tag; tag++) {
        crc ^= (uint16_t)(*tag << 8);
        for (int bit = 0; bit < 8; bit++)
            crc = (uint16_t)(crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1);
    }
    return crc % 16384;
}

CASE(tags, "Each tag hashes to its slot, in the middle of its part of all slots.")
{
    for (uint8_t votes = 1; votes <= RL_VOTES_MAX; votes += 2)
        for (uint8_t i = 0; i < votes; i++) {
            const struct rl_cluster_vote *vote = rl_cluster_vote(votes, i);
            int middle = (2 * i + 1) * 16384 / (2 * votes);

            CHECK_INT(slot_of(vote->name), vote->slot);
            CHECK(vote->slot > middle - 32 && vote->slot < middle + 32);
        }
    CHECK(!rl_cluster_vote(0, 0));
    CHECK(!rl_cluster_vote(2, 0));
    CHECK(!rl_cluster_vote(9, 0));
    CHECK(!rl_cluster_vote(3, 3));
}

static struct rl_term owner(const char *nodes, uint16_t slot)
{
    struct rl_term term;

    rl_cluster_read_owner(rl_slice_of(nodes), slot, "seen", &term);
    return term;
}

/* The owner by the text, "EPOCH ADDRESS IDLETTER"; empty: none. */
static void expect_owner(const char *nodes, uint16_t slot, const char *expected)
{
    struct rl_term term = owner(nodes, slot);
    char found[REDLOCK_ADDRESS_MAX + 32] = "";

    if (term.owner[0])
        snprintf(found, sizeof found, "%lld %s %c", (long long)term.epoch, term.owner,
                 term.id[0]);
    CHECK_STR(expected, found);
}

CASE(owners, "Address, epoch and id of the owner of a slot are found in one line.")
{
    static const char nodes[] =
        A " 10.0.0.1:7000@17000 myself,master - 0 0 5 connected 0-100 200 300-400\n" B
          " 10.0.0.2:7000@17000,host-b master,fail? - 0 17 6 disconnected 101-199\n";

    expect_owner(nodes, 0, "5 10.0.0.1:7000 a");
    expect_owner(nodes, 100, "5 10.0.0.1:7000 a");
    expect_owner(nodes, 101, "6 10.0.0.2:7000 b");
    expect_owner(nodes, 200, "5 10.0.0.1:7000 a");
    expect_owner(nodes, 350, "5 10.0.0.1:7000 a");
    expect_owner(nodes, 401, "");
}

CASE(addresses, "Every way to write an address is understood, or the line names no server.")
{
    expect_owner(A " :7000@17000 myself,master - 0 0 1 connected 0\n", 0, "1 seen:7000 a");
    expect_owner(A " :7000@17000 master - 0 0 1 connected 0\n", 0, "");
    expect_owner(A " :0@0 master,noaddr - 0 0 1 connected 0\n", 0, "");
    expect_owner(A " :0@0 master,fail,noaddr - 0 0 1 connected 0\n", 0, "");
    expect_owner(A " 10.0.0.1:0@0 master - 0 0 1 connected 0\n", 0, "");
    expect_owner(A " ::1:7000@17000 master - 0 0 1 connected 0\n", 0, "1 [::1]:7000 a");
    expect_owner(A " 10.0.0.1:7000@17000,,shard-id=x master - 0 0 1 connected 0\n", 0,
                 "1 10.0.0.1:7000 a");
    expect_owner(A " h:7000 master - 0 0 1 connected 0\n", 0, "1 h:7000 a");
    expect_owner(A " nothing master - 0 0 1 connected 0\n", 0, "");
}

CASE(migrations, "A slot that is being moved has the owner that it had.")
{
    static const char nodes[] =
        A " h:1@2 master - 0 0 1 connected 0-9 [7->-" B "]\n" B
          " i:1@2 myself,master - 0 0 2 connected 10-20 [7-<-" A "] [8->-" A "]\n";

    expect_owner(nodes, 7, "1 h:1 a");
    expect_owner(nodes, 8, "1 h:1 a");
}

CASE(not_owners, "Replicas, strangers and broken lines own nothing.")
{
    expect_owner(A " h:1@2 slave " B " 0 0 1 connected 0-9\n", 5, "");
    expect_owner(A " h:1@2 handshake - 0 0 0 connected 0-9\n", 5, "");
    expect_owner(A " h:1@2 master,handshake - 0 0 0 connected 0-9\n", 5, "");
    expect_owner(A " h:1@2 master - 0 0 x connected 0-9\n", 5, "");
    expect_owner(A " h:1@2 master - 0 0 -1 connected 0-9\n", 5, "");
    expect_owner(A " h:1@2 master - 0 0 9999999999999999999999 connected 0-9\n", 5, "");
    expect_owner("short h:1@2 master - 0 0 1 connected 0-9\n", 5, "");
    expect_owner(A " h:1@2 master - 0 0 1 connected 0-\n", 0, "1 h:1 a");
    expect_owner(A " h:1@2 master - 0 0 1 connected -9 x-y 5-z 9-0\n", 5, "");
    expect_owner("", 5, "");
    expect_owner("\n\n \n", 5, "");
    /* Two that claim it are no term. */
    expect_owner(A " h:1@2 master - 0 0 1 connected 0-9\n" B " i:1@2 master - 0 0 2 x 5\n", 5,
                 "");
}

CASE(self, "A node is known by the id in its own line.")
{
    static const char nodes[] =
        A " h:1@2 master - 0 0 1 connected\n" B " :1@2 myself,slave " A " 0 0 1 connected\n";
    char id[RL_ELECTOR_ID_SIZE + 1] = "";

    CHECK_INT(0, rl_cluster_read_self(rl_slice_of(nodes), id));
    CHECK_STR(B, id);
    CHECK_INT(-1, rl_cluster_read_self((struct rl_slice){nodes, 50}, id));
    CHECK_INT(-1, rl_cluster_read_self((struct rl_slice){"", 0}, id));
}

CASE(redirections, "E10: what a server refuses for its slot is no vote, and names the cluster.")
{
    static const char *const errors[] = {
        "MOVED 2727 127.0.0.1:7000",
        "ASK 2727 127.0.0.1:7000",
        "TRYAGAIN Multiple keys request during rehashing of slot",
        "CLUSTERDOWN The cluster is down",
        "CROSSSLOT Keys in request don't hash to the same slot",
    };

    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        enum redlock_reason reason = REDLOCK_REASON_NONE;
        struct rl_slice error = {errors[i], strlen(errors[i])};

        CHECK_INT(REDLOCK_VOTE_ERROR, rl_answer_error_vote(error, &reason));
        CHECK_INT(REDLOCK_REASON_CLUSTER, reason);
    }
}
