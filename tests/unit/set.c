/* SPDX-License-Identifier: BSD-2-Clause */
/* Which nodes decide together (G8): what counts, and what `redlock init` may do. */
#include "check.h"

#include "base/slice.h"
#include "core/set.h"

#include <string.h>

/* Their names are not the names of the clients here, but for THESE. */
#define A "aaaaaaaaaaaaaaaa:0000000000000001"
#define B "bbbbbbbbbbbbbbbb:0000000000000001"
#define THESE "ffffffffffffffff:1234567890abcdef"
#define RESTORED "ffffffffffffffff~1234567890abcdef" /* by a client */

/* What the nodes say, one word each: "" none, "-" not answered yet, "!" an error. */
#define ANSWERS(...)                                                                           \
    const char *const words[] = {__VA_ARGS__};                                                 \
    enum { COUNT = sizeof words / sizeof words[0] };                                           \
    struct rl_set_answer answers[COUNT], *answer = answer_all(answers, COUNT, words)

static struct rl_set_answer *answer_all(struct rl_set_answer *answer, uint8_t count,
                                        const char *const *words)
{
    for (uint8_t i = 0; i < count; i++) {
        answer[i] = (struct rl_set_answer){0};
        if (strcmp(words[i], "!") == 0)
            rl_set_answer_refuse(&answer[i]);
        else if (strcmp(words[i], "-") != 0)
            rl_set_answer_read(&answer[i], (struct rl_slice){words[i], strlen(words[i])});
    }
    return answer;
}

static struct rl_set_self self_of(uint8_t count, const char *quorum)
{
    static const char *const addresses[] = {"n1", "n2", "n3", "n4", "n5"};
    struct rl_set_self self;
    rl_set_init(&self, addresses, count, rl_slice_of(quorum));
    strcpy(self.names, "1234567890abcdef");
    return self;
}

/* One letter for each node: Y counts, or the first of the reason why not. */
static const char *judge(const struct rl_set_answer *answer, uint8_t count, const char *quorum,
                         const char *current)
{
    static char verdicts[16];
    struct rl_set_self self = self_of(count, quorum);
    int best = rl_set_in_force(&self, answer, current);
    for (uint8_t i = 0; i < count; i++) {
        switch (rl_set_objection(&self, answer, i, best < 0 ? "" : answer[best].set)) {
        case REDLOCK_REASON_NONE:
            verdicts[i] = 'Y';
            break;
        case REDLOCK_REASON_OTHER_SET:
            verdicts[i] = 's';
            break;
        case REDLOCK_REASON_OTHER_NUMBER:
            verdicts[i] = 'n';
            break;
        case REDLOCK_REASON_OTHER_QUORUM:
            verdicts[i] = 'q';
            break;
        case REDLOCK_REASON_SET_PENDING:
            verdicts[i] = 'h';
            break;
        case REDLOCK_REASON_NO_SET:
            verdicts[i] = '0';
            break;
        case REDLOCK_REASON_SET_UNREADABLE:
            verdicts[i] = 'u';
            break;
        default:
            verdicts[i] = '!';
        }
    }
    verdicts[count] = '\0';
    return verdicts;
}

#define COUNTS(verdicts, quorum, ...)                                                          \
    do {                                                                                       \
        ANSWERS(__VA_ARGS__);                                                                  \
        CHECK_STR(verdicts, judge(answer, COUNT, quorum, ""));                                 \
    } while (0)

CASE(one_set_counts, "G8: of all nodes those count that say the set which most of them say.")
{
    COUNTS("YYY", "", "", "", "");
    COUNTS("YYY", "", A "/3", A "/3", A "/3");
    COUNTS("YYs", "", A "/3", A "/3", B "/3");
    COUNTS("sYY", "", A "/3", B "/3", B "/3");
    COUNTS("nnn", "", A "/5", A "/5", A "/5");
    COUNTS("nYY", "", A "/5", B "/3", B "/3");
    COUNTS("hYY", "", B "/3?", A "/3", A "/3");
    COUNTS("sYYY", "", "junk", A "/4", A "/4", A "/4");
}

CASE(a_set_without_a_version,
     "G8: a set without a version counts, but not where an elected vote is among the nodes.")
{
    struct rl_set_self self = self_of(1, "@sentinel1");
    ANSWERS(A "/1 @sentinel1");

    CHECK_INT(0, rl_set_in_force(&self, answer, ""));
    CHECK_INT(REDLOCK_REASON_NONE, rl_set_objection(&self, answer, 0, A "/1 @sentinel1"));
    self.has_elected = true;
    CHECK_INT(-1, rl_set_in_force(&self, answer, ""));
    CHECK_INT(REDLOCK_REASON_VERSION, rl_set_objection(&self, answer, 0, ""));
}

CASE(nodes_without_a_set, "G8: a node without a set counts only while no node has one.")
{
    COUNTS("Y00", "", A "/3", "", "");
    COUNTS("YY0", "", A "/3", A "/3", "");
    COUNTS("n00", "", A "/5", "", "");
    COUNTS("YYY", "", "", "", "-");
    COUNTS("YYY", "", "-", "-", "-");
}

CASE(nodes_that_have_forgotten,
     "G8: a node without a set is in that of all the client's names.")
{
    COUNTS("YYY", "", THESE "/3", "", "");
    COUNTS("YYY", "", THESE "/3", THESE "/3", "");
    COUNTS("YYY", "", THESE "/3", RESTORED "/3", "");
    COUNTS("YYs", "", RESTORED "/3", THESE "/3", B "/3");
    COUNTS("sYY0", "", THESE "/4", A "/4", A "/4", "");
    COUNTS("n00", "", THESE "/5", "", "");
    COUNTS("h00", "", THESE "/3?", "", "");
}

CASE(nodes_that_do_not_tell,
     "G8: beside a node that refuses to report its set, only nodes of a set count.")
{
    COUNTS("YYu", "", A "/3", A "/3", "!");
    COUNTS("Yu0", "", A "/3", "!", "");
    COUNTS("YYu", "", THESE "/3", "", "!");
    COUNTS("uuu", "", "!", "!", "!");
    COUNTS("u00", "", "!", "", "");
    {
        /* Its earlier answer is not forgotten: the set stays in force, without this node. */
        ANSWERS(A "/3", A "/3", B "/3");
        rl_set_answer_refuse(&answer[0]);
        CHECK_STR("uYs", judge(answer, COUNT, "", A "/3"));
        rl_set_answer_read(&answer[0], (struct rl_slice){A "/3", strlen(A "/3")});
        CHECK_STR("YYs", judge(answer, COUNT, "", A "/3"));
    }
}

static const char *names_of(const char *a, const char *b, const char *c)
{
    static struct rl_set_self self;
    const char *const addresses[] = {a, b, c};
    rl_set_init(&self, addresses, 3, (struct rl_slice){"", 0});
    return self.names;
}

CASE(names_of_nodes, "G8: names are known in any order, unless only some of them are local.")
{
    char names[RL_SET_NAMES_SIZE + 1];
    strcpy(names, names_of("n1:1", "n2:1", "n3:1"));
    CHECK_INT(16, strlen(names));
    CHECK_STR(names, names_of("n3:1", "n1:1", "n2:1"));
    CHECK(strcmp(names, names_of("n1:1", "n2:1", "n3:2")) != 0);
    CHECK_INT(16, strlen(names_of("127.0.0.1:1", "localhost:2", "/run/redis")));
    CHECK_STR("", names_of("n1:1", "n2:1", "127.0.0.1:1"));
    CHECK_STR("", names_of("n1:1", "n2:1", "localhost:1"));
    CHECK_STR("", names_of("n1:1", "n2:1", "[::1]:1"));
    CHECK_STR("", names_of("n1:1", "n2:1", "/run/redis"));
    CHECK_STR("", names_of("n1:1", "n2:1", "LocalHost:1"));
    CHECK_STR("", names_of("n1:1", "n2:1", "0.0.0.0:1"));
    CHECK_STR("", names_of("n1:1", "n2:1", "[::]:1"));
    CHECK_STR("", names_of("n1:1", "n2:1", "[::ffff:127.0.0.1]:1"));
    CHECK_STR("", names_of("n1:1", "n2:1", "[::FFFF:7f00:1]:1"));
    CHECK_STR("", names_of("n1:1", "n2:1", "[0:0:0:0:0:0:0:1]:1"));
    CHECK_STR("", names_of("n1:1", "n2:1", "ip6-localhost:1"));
    CHECK_STR("", names_of("n1:1", "n2:1", "[fe80::1%eth0]:1"));
    CHECK_STR("", names_of("n1:1", "n2:1", "169.254.1.1:1"));
    CHECK_INT(16, strlen(names_of("n1:1", "[2001:db8::1]:1", "10.0.0.1:1")));
}

CASE(restored_sets,
     "G8: a set that a client has restored is the same set, and known as restored.")
{
    char set[RL_SET_MAX] = THESE "/3", restored[RL_SET_MAX];
    struct rl_set_answer answer = {0};
    rl_set_answer_read(&answer, rl_slice_of(set));
    CHECK(!answer.by_client);
    rl_set_write_restored(set, restored);
    CHECK_STR(RESTORED "/3", restored);
    rl_set_answer_read(&answer, rl_slice_of(restored));
    CHECK(answer.by_client);
    CHECK_STR(set, answer.set);
    rl_set_answer_read(&answer, (struct rl_slice){"", 0});
    CHECK(!answer.by_client);
}

CASE(quorums_by_name, "G8: a set is one quorum's, of one set of quorums.")
{
    COUNTS("YYY", "a@1", A "/3 a@1", A "/3 a@1", A "/3 a@1");
    COUNTS("qYY", "a@1", B "/3 b@1", A "/3 a@1", A "/3 a@1");
    COUNTS("qqq", "a@1", A "/3 a@2", A "/3 a@2", A "/3 a@2");
    COUNTS("qqq", "a@1", A "/3", A "/3", A "/3");
    COUNTS("qqq", "", A "/3 a@1", A "/3 a@1", A "/3 a@1");
    COUNTS("nYY", "a@1", B "/5 a@1", A "/3 a@1", A "/3 a@1");
}

CASE(equals_stay, "G8: of two sets that equally many nodes say, the one in force stays.")
{
    ANSWERS(A "/4", B "/4", "-", "-");
    CHECK_STR("YsYY", judge(answer, COUNT, "", A "/4"));
    CHECK_STR("sYYY", judge(answer, COUNT, "", B "/4"));
}

#define PLAN(expected, ...)                                                                    \
    do {                                                                                       \
        uint8_t node = 0;                                                                      \
        ANSWERS(__VA_ARGS__);                                                                  \
        struct rl_set_self self = self_of(COUNT, "");                                          \
        CHECK_INT(expected, rl_set_plan(&self, answer, &node));                                \
    } while (0)

CASE(init_keeps_or_draws, "G8: init keeps a set that all say, else draws; it splits no set.")
{
    PLAN(RL_SET_KEEP, A "/3", A "/3", A "/3");
    PLAN(RL_SET_KEEP, A "/3", A "/3", "-"); /* writes nothing new */
    PLAN(RL_SET_DRAW, THESE "/3", "", "");  /* the others have forgotten */
    PLAN(RL_SET_DRAW, THESE "/3", THESE "/3", "");
    PLAN(RL_SET_KEEP, THESE "/3", "-", ""); /* not all are there to be a new one */
    PLAN(RL_SET_KEEP, THESE "/3", "-", RESTORED "/3");
    PLAN(RL_SET_DRAW, RESTORED "/3", RESTORED "/3", RESTORED "/3");
    PLAN(RL_SET_DRAW, THESE "/3", THESE "/3", RESTORED "/3");
    PLAN(RL_SET_DRAW, THESE "/3", A "/3", A "/3");
    PLAN(RL_SET_DRAW, THESE "/3?", "", "");
    PLAN(RL_SET_DRAW, "", "", "");
    PLAN(RL_SET_DRAW, A "/3", A "/3", "");
    PLAN(RL_SET_DRAW, A "/3", A "/3", A "/3", "", "");
    PLAN(RL_SET_DRAW, A "/5", A "/5", A "/5");
    PLAN(RL_SET_DRAW, A "/1", "", "");
    PLAN(RL_SET_DRAW, A "/3?", A "/3", "");
    PLAN(RL_SET_DRAW, "junk", "", "");
    PLAN(RL_SET_DRAW, "-", "-", "-");
    PLAN(RL_SET_REFUSE, A "/3", "", "");
    PLAN(RL_SET_REFUSE, A "/3?", "", "");
    PLAN(RL_SET_REFUSE, A "/3", B "/3", B "/3");
    PLAN(RL_SET_REFUSE, A "/5", A "/5", "");
    PLAN(RL_SET_REFUSE, A "/3", "-", "-", "");
}

#define NEWCOMERS(expected, ...)                                                               \
    do {                                                                                       \
        ANSWERS(__VA_ARGS__);                                                                  \
        struct rl_set_self self = self_of(COUNT, "");                                          \
        CHECK_INT(expected, rl_set_count_newcomers(&self, answer));                            \
    } while (0)

CASE(newcomers, "Nodes are new to the set, of as many, that most of the others are or were in.")
{
    NEWCOMERS(0, A "/3", A "/3", A "/3");
    NEWCOMERS(1, A "/3", A "/3", "");
    NEWCOMERS(1, A "/3", A "/3", B "/3");
    NEWCOMERS(2, A "/3", "", "");
    NEWCOMERS(3, "", "", "");
    NEWCOMERS(3, A "/5", A "/5", "");
    NEWCOMERS(1, A "/3", A "/3", "-");
    /* An init with a new node, ended in its first and in its second pass. */
    NEWCOMERS(1, B "/3?" A "/3", A "/3", "");
    NEWCOMERS(1, B "/3?" A "/3", B "/3?" A "/3", "");
    NEWCOMERS(0, B "/3", B "/3?" A "/3", B "/3?");
}

#define REGROUPS(expected, ...)                                                                \
    do {                                                                                       \
        ANSWERS(__VA_ARGS__);                                                                  \
        struct rl_set_self self = self_of(COUNT, "");                                          \
        CHECK_INT(expected, rl_set_regroups(&self, answer));                                   \
    } while (0)

CASE(regroups,
     "A set is known to have these very nodes by its names, or by its id on all of them.")
{
    REGROUPS(false, "", "", "");
    REGROUPS(false, A "/3", A "/3", A "/3");
    REGROUPS(false, THESE "/3", THESE "/3", "");
    REGROUPS(false, THESE "/3", "", "");
    REGROUPS(false, THESE "/3?", "", "");
    REGROUPS(false, THESE "/3?" THESE "/3", THESE "/3", "");
    REGROUPS(false, B "/3?" A "/3", B "/3?" A "/3", B "/3?" A "/3");
    REGROUPS(true, A "/3", A "/3", "");
    REGROUPS(true, THESE "/3", A "/3", "");
    REGROUPS(true, THESE "/5", THESE "/5", THESE "/5");
    REGROUPS(true, THESE "/3;1 blue@0123456789abcdef", THESE "/3;1 blue@0123456789abcdef", "");
    REGROUPS(true, THESE "/3?" A "/3", THESE "/3", "");
    REGROUPS(true, A "/3?" THESE "/3", "", "");
    REGROUPS(true, B "/3", B "/3?" A "/3", B "/3?" A "/3");
    REGROUPS(true, "junk", "", "");
}

CASE(literal_addresses,
     "Only numbers that no machine keeps for itself mean one server everywhere.")
{
    static const char *const literal[] = {"10.0.0.1:6379", "192.0.2.7:1", "[2001:db8::1]:6379"};
    static const char *const others[] = {"redis1:6379",   "127.0.0.1:1", "[::1]:1",
                                         "10.example:1",  "localhost:1", "/run/redis",
                                         "169.254.1.1:1", "0.0.0.0:1"};
    for (size_t i = 0; i < sizeof literal / sizeof literal[0]; i++)
        CHECK(rl_set_is_literal(literal[i]));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        CHECK(!rl_set_is_literal(others[i]));
}

enum { WORLD_MAX = 5, INITS_MAX = 3 };

struct world {
    uint8_t node_count;
    uint8_t depth;
    struct rl_set_answer answer[WORLD_MAX];
    unsigned list[INITS_MAX]; /* of the set with this number as its id; 0: none */
    uint64_t states;
};

static uint8_t size_of(unsigned list)
{
    return (uint8_t)__builtin_popcount(list);
}

static bool carries(const struct rl_set_answer *answer, int id)
{
    return answer->set[0] == 'a' + id;
}

/* No id on more nodes than it says; no two in force, each with a majority, with a
 * node in common. */
static void check_world(struct world *w)
{
    unsigned living = 0;
    w->states++;
    for (int id = 0; id < INITS_MAX; id++) {
        uint8_t voters = 0, carriers = 0;
        for (int n = 0; n < w->node_count; n++) {
            carriers += carries(&w->answer[n], id);
            voters += carries(&w->answer[n], id) && !rl_set_is_pending(w->answer[n].set);
        }
        CHECK(carriers <= size_of(w->list[id]));
        if (!w->list[id] || voters < size_of(w->list[id]) / 2 + 1)
            continue;
        if (w->list[id] & living)
            FAIL("two sets that decide have a node in common: %s %s %s %s %s, lists %x %x %x",
                 w->answer[0].set, w->answer[1].set, w->answer[2].set, w->answer[3].set,
                 w->node_count > 4 ? w->answer[4].set : "", w->list[0], w->list[1], w->list[2]);
        living |= w->list[id];
    }
}

static void write_set(struct rl_set_answer *answer, int id, const struct rl_set_self *self,
                      bool pending)
{
    char drawn[RL_SET_ID_SIZE], set[RL_SET_ANSWER_MAX], text[RL_SET_ANSWER_MAX];
    memset(drawn, 'a' + id, sizeof drawn);
    rl_set_write(self, drawn, set);
    if (pending) {
        rl_set_write_pending(set, answer->set, text);
        strcpy(set, text);
    }
    rl_set_answer_read(answer, rl_slice_of(set));
}

static void run_inits(struct world *w, int id);

/* init on these nodes; it fails when it has written `writes` times. */
static void run_init(const struct world *before, int id, unsigned list, int writes)
{
    struct world w = *before;
    static const char *const names[] = {"n1", "n2", "n3", "n4", "n5"};
    struct rl_set_answer reached[WORLD_MAX];
    const char *addresses[WORLD_MAX];
    uint8_t where[WORLD_MAX], count = 0, node;
    struct rl_set_self self;
    for (uint8_t n = 0; n < w.node_count; n++) {
        if (list & (1u << n)) {
            where[count] = n;
            addresses[count] = names[n];
            reached[count++] = w.answer[n];
        }
    }
    rl_set_init(&self, addresses, count, (struct rl_slice){"", 0});
    if (rl_set_plan(&self, reached, &node) != RL_SET_DRAW)
        return;
    w.list[id] = list;
    for (int i = 0; i < writes; i++)
        write_set(&w.answer[where[i % count]], id, &self, i < count);
    check_world(&w);
    run_inits(&w, id + 1);
    ((struct world *)before)->states = w.states;
}

static void run_inits(struct world *w, int id)
{
    if (id == w->depth)
        return;
    for (unsigned list = 1; list < 1u << w->node_count; list++)
        for (int writes = 1; writes <= 2 * size_of(list); writes++)
            run_init(w, id, list, writes);
}

static void explore(uint8_t node_count, uint8_t depth)
{
    struct world w = {.node_count = node_count, .depth = depth};
    for (int n = 0; n < node_count; n++)
        rl_set_answer_read(&w.answer[n], (struct rl_slice){"", 0});
    run_inits(&w, 0);
    CHECK(w.states > 1000);
}

CASE(no_init_makes_two_sets, "G8: no two or three inits, whole or failed, split the nodes.")
{
    explore(5, 3);
    explore(4, 3);
}
