/* SPDX-License-Identifier: BSD-2-Clause */
/* Which server may speak for an elected vote, and until when (E2 to E4, E12)? */
#include <stdio.h>
#include <string.h>

#include "base/slice.h"
#include "base/time.h"
#include "check.h"
#include "core/electors.h"

static struct rl_electors electors;

static const char *id_of(char letter)
{
    static char id[RL_ELECTOR_ID_SIZE + 1];

    memset(id, letter, RL_ELECTOR_ID_SIZE);
    return id;
}

/* The elector at this address says its id, an epoch and a server. */
static bool receive(uint8_t which, char id, int64_t epoch, const char *owner,
                    int64_t requested_ms)
{
    struct rl_term term = {.epoch = epoch};

    snprintf(term.owner, sizeof term.owner, "%s", owner);
    return rl_electors_receive(&electors, which, id_of(id), &term, requested_ms * RL_NS_PER_MS);
}

static bool list(const char *letters)
{
    char text[RL_ELECTOR_LIST_MAX] = "";

    for (; *letters; letters++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", text[0] ? " " : "",
                 id_of(*letters));
    return rl_electors_set_list(&electors, rl_slice_of(text));
}

static int64_t vouch_ms(void)
{
    return rl_electors_vouch_end_ns(&electors) / RL_NS_PER_MS;
}

static void begin(uint8_t count, const char *letters)
{
    electors = (struct rl_electors){.count = count};
    CHECK(!list(letters));
}

CASE(a_server_by_its_id, "E3: in a cluster a term is of the node's id, wherever it listens.")
{
    struct rl_term term = {.epoch = 1, .owner = "h:1"};
    char text[RL_TERM_TEXT_MAX];

    begin(3, "abc");
    memcpy(term.id, id_of('x'), sizeof term.id);
    CHECK(!rl_electors_receive(&electors, 0, id_of('a'), &term, 0));
    memcpy(term.owner, "i:1", 4); /* as another elector sees it */
    CHECK(rl_electors_receive(&electors, 1, id_of('b'), &term, 0));
    rl_term_write(&electors.term, text);
    CHECK(strncmp(text, "1@xxxx", 6) == 0);
    /* It has moved: the same term, to be found where it is now. */
    CHECK(!rl_electors_receive(&electors, 0, id_of('a'), &term, 0));
    CHECK_STR("i:1", electors.term.owner);
    /* Another node at that address is another term. */
    term.epoch = 2;
    memcpy(term.id, id_of('y'), sizeof term.id);
    CHECK(!rl_electors_receive(&electors, 0, id_of('a'), &term, 0));
    CHECK(rl_electors_receive(&electors, 1, id_of('b'), &term, 0));
    CHECK(electors.term.id[0] == 'y');
}

CASE(a_majority_names_the_term, "E4: a majority of the electors names the term, each once.")
{
    begin(3, "abc");
    CHECK(!receive(0, 'a', 1, "A", 1000));
    CHECK_INT(0, vouch_ms());
    CHECK(receive(1, 'b', 1, "A", 1100));
    CHECK_STR("A", electors.term.owner);
    CHECK(!receive(2, 'c', 1, "A", 1200));
}

CASE(each_answer_has_its_own_date,
     "E4: a majority vouches until two seconds after its oldest question, the best of them.")
{
    begin(3, "abc");
    receive(0, 'a', 1, "A", 1000);
    receive(1, 'b', 1, "A", 1500);
    CHECK_INT(3000, vouch_ms());
    receive(2, 'c', 1, "A", 1400);
    CHECK_INT(3400, vouch_ms());
    receive(0, 'a', 1, "A", 1600);
    CHECK_INT(3500, vouch_ms());
}

CASE(another_word_takes_the_first_back,
     "E4: an elector that names another term vouches no more.")
{
    begin(3, "abc");
    receive(0, 'a', 1, "A", 1000);
    receive(1, 'b', 1, "A", 1000);
    CHECK(!receive(1, 'b', 2, "B", 1100));
    CHECK_INT(0, vouch_ms());
    CHECK(receive(2, 'c', 2, "B", 1200));
    CHECK(electors.rose);
    CHECK_INT(3100, vouch_ms());
}

CASE(a_term_is_a_whole, "E3: server and epoch make a term together.")
{
    begin(3, "abc");
    receive(0, 'a', 1, "A", 1000);
    CHECK(!receive(1, 'b', 3, "A", 1000)); /* it has won back, and not all know */
    CHECK_INT(0, vouch_ms());
    CHECK(receive(2, 'c', 3, "A", 1000));
    CHECK_INT(3, electors.term.epoch);
}

CASE(two_owners_of_one_epoch, "E3: two servers with one epoch are no term.")
{
    begin(3, "abc");
    receive(0, 'a', 2, "A", 1000);
    receive(1, 'b', 2, "A", 1000);
    CHECK(!receive(1, 'b', 2, "B", 1100));
    CHECK(!receive(0, 'a', 2, "B", 1100));
    CHECK_INT(0, vouch_ms());
    CHECK(!receive(0, 'a', 3, "B", 1200));
    CHECK(receive(1, 'b', 3, "B", 1200));
}

CASE(one_elector_two_addresses, "E2: an elector counts once, by the id that it says of itself.")
{
    begin(4, "abc");
    CHECK(!receive(0, 'a', 1, "A", 1000));
    CHECK(!receive(3, 'a', 1, "A", 1100));
    CHECK_INT(0, vouch_ms());
    /* And its word is the one that was requested last. */
    CHECK(receive(1, 'b', 1, "A", 1000));
    receive(3, 'a', 2, "B", 1300);
    CHECK_INT(0, vouch_ms());
}

CASE(strangers_are_no_electors, "E2: an id that the set does not list counts for nothing.")
{
    begin(3, "abc");
    CHECK(!receive(0, 'x', 1, "A", 1000));
    CHECK(!receive(1, 'a', 1, "A", 1000));
    CHECK(receive(2, 'b', 1, "A", 1000));
}

CASE(a_majority_of_the_list,
     "E2: a majority is one of the listed number, not of those that were sent to.")
{
    begin(3, "abcde");
    receive(0, 'a', 1, "A", 1000);
    CHECK(!receive(1, 'b', 1, "A", 1000));
    CHECK(receive(2, 'c', 1, "A", 1000));
}

CASE(before_the_list_nothing_counts, "E2: without the list of the set no elector vouches.")
{
    electors = (struct rl_electors){.count = 3};
    receive(0, 'a', 1, "A", 1000);
    CHECK(receive(1, 'b', 1, "A", 1000)); /* where to look */
    CHECK_INT(0, vouch_ms());
    CHECK(!list("abc"));
    CHECK_INT(3000, vouch_ms());
}

CASE(the_list_may_say_otherwise,
     "E5: a term that others than the list had named is learned anew, and greeted after that.")
{
    electors = (struct rl_electors){.count = 3};
    receive(0, 'x', 9, "A", 1000);
    CHECK(receive(1, 'a', 9, "A", 1000));
    receive(2, 'b', 9, "A", 1000); /* too late to have been before the greeting */
    CHECK(list("abc"));
    CHECK(electors.term_number > 1);
    CHECK(!electors.rose);
    CHECK_STR("A", electors.term.owner);
    CHECK(list("cde"));
    CHECK_STR("", electors.term.owner);
}

CASE(electors_that_go_back, "E12: an earlier epoch of a majority is a term, not a later one.")
{
    begin(3, "abc");
    receive(0, 'a', 5, "A", 1000);
    receive(1, 'b', 5, "A", 1000);
    receive(0, 'a', 4, "B", 1100);
    CHECK(receive(1, 'b', 4, "B", 1100));
    CHECK(!electors.rose);
    CHECK_INT(1, electors.went_back_count);
    CHECK_INT(3100, vouch_ms()); /* it is vouched for, and has its quarantine */
    /* One time is reported once, however often it is answered. */
    CHECK(!receive(2, 'c', 4, "B", 1200));
    CHECK(!receive(0, 'a', 4, "B", 2100));
    CHECK_INT(1, electors.went_back_count);
}

CASE(one_elector_that_goes_back, "E12: less than a majority takes no term back.")
{
    begin(3, "abc");
    receive(0, 'a', 5, "A", 1000);
    receive(1, 'b', 5, "A", 1000);
    receive(2, 'c', 5, "A", 1000);
    CHECK(!receive(0, 'a', 4, "B", 1100));
    CHECK_INT(5, electors.term.epoch);
    CHECK_INT(3000, vouch_ms());
    CHECK_INT(0, electors.went_back_count);
}

CASE(after_they_went_back,
     "E9, E12: holds succeed to a term that is later than every one before, and to no other.")
{
    uint32_t term_number;

    begin(3, "abc");
    receive(0, 'a', 5, "A", 1000);
    receive(1, 'b', 5, "A", 1000);
    receive(0, 'a', 3, "B", 1100);
    CHECK(receive(1, 'b', 3, "B", 1100));
    term_number = electors.term_number;
    /* Later than the last one, but that term may have been held in before. */
    receive(0, 'a', 4, "A", 1200);
    CHECK(receive(1, 'b', 4, "A", 1200));
    CHECK(!electors.rose);
    CHECK_INT(term_number + 1, electors.term_number);
    receive(0, 'a', 5, "A", 1300);
    CHECK(receive(1, 'b', 5, "A", 1300));
    CHECK(!electors.rose);
    receive(0, 'a', 6, "B", 1400);
    CHECK(receive(1, 'b', 6, "B", 1400));
    CHECK(electors.rose);
}

CASE(the_list_that_init_writes, "E2: init writes all ids in order, and none twice.")
{
    char text[RL_ELECTOR_LIST_MAX];

    electors = (struct rl_electors){.count = 2};
    receive(0, 'b', 1, "A", 1000);
    CHECK(!rl_electors_write_list(&electors, text));
    receive(1, 'b', 1, "A", 1000);
    CHECK(!rl_electors_write_list(&electors, text));
    receive(1, 'a', 1, "A", 1000);
    CHECK(rl_electors_write_list(&electors, text));
    CHECK_INT(2 * RL_ELECTOR_ID_SIZE + 1, strlen(text));
    CHECK(text[0] == 'a' && text[RL_ELECTOR_ID_SIZE] == ' ');
}
