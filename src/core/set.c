/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/set.h"

#include <string.h>
#include <strings.h>

#include "core/rendezvous.h"
#include "core/rules.h"
#include "redlock.h"

/* ---- a client's own ---- */

bool rl_set_is_local(const char *address)
{
    static const char *const beginnings[] = {
        "/",          "127.",      "localhost",        "ip6-l",
        "0.0.0.0",    "0:",        "169.254.",         "[::1]",
        "[::]",       "[0:0:",     "[0000:",           "[::ffff:127.",
        "[::ffff:7f", "[::ffff:0", "[::ffff:169.254.", "[fe80:",
    };

    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
        if (strncasecmp(address, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

bool rl_set_is_literal(const char *address)
{
    size_t digits = strspn(address, "0123456789.");

    return !rl_set_is_local(address) &&
           (address[0] == '[' || (digits > 0 && (address[digits] == ':' || !address[digits])));
}

static void write_hex(uint64_t number, char out[RL_SET_NAMES_SIZE])
{
    for (int i = RL_SET_NAMES_SIZE - 1; i >= 0; i--, number >>= 4)
        out[i] = "0123456789abcdef"[number & 15];
}

void rl_set_init(struct rl_set_self *self, const char *const *addresses, uint8_t node_count,
                 struct rl_slice quorum)
{
    uint64_t sum = 0;
    uint8_t local_count = 0;
    char *at = self->tail;

    *self = (struct rl_set_self){.node_count = node_count};
    for (uint8_t i = 0; i < node_count; i++) {
        sum += rl_rendezvous_quorum((struct rl_slice){addresses[i], strlen(addresses[i])});
        local_count += rl_set_is_local(addresses[i]);
    }
    /* "a,b,127.0.0.1" is another server on every machine. */
    if (local_count == 0 || local_count == node_count)
        write_hex(sum, self->names);
    *at++ = '/';
    if (node_count >= 10)
        *at++ = (char)('0' + node_count / 10);
    *at++ = (char)('0' + node_count % 10);
    memcpy(at, RL_SET_VERSION, sizeof RL_SET_VERSION);
    at += sizeof RL_SET_VERSION - 1;
    if (quorum.size > 0 && quorum.size < RL_SET_TAIL_MAX - sizeof "/15" RL_SET_VERSION " ?") {
        *at++ = ' ';
        memcpy(at, quorum.data, quorum.size);
    }
}

/* ---- the text of a set ---- */

void rl_set_answer_read(struct rl_set_answer *answer, struct rl_slice set)
{
    size_t size = set.size < sizeof answer->set ? set.size : sizeof answer->set - 1;

    memset(answer->set, 0, sizeof answer->set);
    if (size > 0)
        memcpy(answer->set, set.data, size);
    answer->answered = true;
    answer->unreadable = false;
    answer->by_client = answer->set[0] && answer->set[RL_SET_ID_SIZE] == RL_SET_BY_CLIENT;
    if (answer->by_client)
        answer->set[RL_SET_ID_SIZE] = RL_SET_BY_INIT;
}

void rl_set_answer_refuse(struct rl_set_answer *answer)
{
    if (!RL_RULE(SET_READ))
        rl_set_answer_read(answer, (struct rl_slice){"", 0});
    else
        answer->answered = answer->unreadable = true;
}

void rl_set_answer_write(const struct rl_set_answer *answer, char out[RL_SET_ANSWER_MAX])
{
    memcpy(out, answer->set, RL_SET_ANSWER_MAX);
    if (answer->by_client)
        out[RL_SET_ID_SIZE] = RL_SET_BY_CLIENT;
}

void rl_set_write_restored(const char set[RL_SET_MAX], char out[RL_SET_MAX])
{
    memcpy(out, set, RL_SET_MAX);
    out[RL_SET_ID_SIZE] = RL_SET_BY_CLIENT;
}

static bool has_tail(const char *set)
{
    return strlen(set) > RL_SET_HEAD_SIZE;
}

/* Sets that were made before there were versions are of the first one, but
 * for elected votes. */
static bool fits(const struct rl_set_self *self, const char *set)
{
    size_t number_size = strcspn(self->tail, ";");
    const char *tail = set + RL_SET_HEAD_SIZE;

    if (!has_tail(set))
        return false;
    return strcmp(tail, self->tail) == 0 ||
           (!self->has_elected && strncmp(tail, self->tail, number_size) == 0 &&
            strcmp(tail + number_size, self->tail + number_size + sizeof RL_SET_VERSION - 1) ==
                0);
}

bool rl_set_has_names(const struct rl_set_self *self, const char *set)
{
    return self->names[0] && has_tail(set) &&
           strncmp(set + RL_SET_ID_SIZE + 1, self->names, RL_SET_NAMES_SIZE) == 0;
}

uint8_t rl_set_number(const char *set)
{
    unsigned number = 0;

    if (!has_tail(set) || set[RL_SET_HEAD_SIZE] != '/')
        return 0;
    for (const char *at = set + RL_SET_HEAD_SIZE + 1;
         *at && *at != RL_SET_VERSION[0] && *at != ' ' && *at != RL_SET_PENDING; at++) {
        if (*at < '0' || *at > '9')
            return 0;
        number = number * 10 + (unsigned)(*at - '0');
        if (number > REDLOCK_NODES_MAX)
            return 0;
    }
    return (uint8_t)number;
}

void rl_set_write(const struct rl_set_self *self, const char id[RL_SET_ID_SIZE],
                  char out[RL_SET_MAX])
{
    memset(out, 0, RL_SET_MAX);
    memcpy(out, id, RL_SET_ID_SIZE);
    out[RL_SET_ID_SIZE] = RL_SET_BY_INIT;
    write_hex(0, out + RL_SET_ID_SIZE + 1);
    if (self->names[0])
        memcpy(out + RL_SET_ID_SIZE + 1, self->names, RL_SET_NAMES_SIZE);
    memcpy(out + RL_SET_HEAD_SIZE, self->tail, strlen(self->tail));
}

/* What a pending set is to replace; empty: nothing. */
static const char *set_before(const char *answer)
{
    const char *mark = strchr(answer, RL_SET_PENDING);

    return mark ? mark + 1 : "";
}

bool rl_set_is_pending(const char *answer)
{
    return strchr(answer, RL_SET_PENDING) != NULL;
}

void rl_set_write_pending(const char *set, const char *answer, char out[RL_SET_ANSWER_MAX])
{
    const char *before = rl_set_is_pending(answer) ? set_before(answer) : answer;
    size_t size = strlen(set);
    size_t before_size = strlen(before);

    if (before_size > RL_SET_ANSWER_MAX - 2 - size)
        before_size = RL_SET_ANSWER_MAX - 2 - size;
    memcpy(out, set, size);
    out[size] = RL_SET_PENDING;
    memcpy(out + size + 1, before, before_size);
    out[size + 1 + before_size] = '\0';
}

/* ---- what counts ---- */

int rl_set_in_force(const struct rl_set_self *self, const struct rl_set_answer *answers,
                    const char *current)
{
    int best = -1;
    uint8_t best_count = 0;

    for (uint8_t i = 0; i < self->node_count; i++) {
        uint8_t count = 0;

        if (!answers[i].answered || !fits(self, answers[i].set))
            continue;
        for (uint8_t j = 0; j < self->node_count; j++)
            count += answers[j].answered && strcmp(answers[j].set, answers[i].set) == 0;
        if (count > best_count ||
            (count == best_count && strcmp(answers[i].set, current) == 0)) {
            best = i;
            best_count = count;
        }
    }
    return best;
}

/* A set of another tail: is it at least of this protocol, and of as many nodes? */
static enum redlock_reason judge_misfit(const struct rl_set_self *self, const char *set)
{
    const char *version;

    if (!has_tail(set))
        return REDLOCK_REASON_OTHER_SET;
    if (rl_set_is_pending(set))
        return REDLOCK_REASON_SET_PENDING;
    version = set + RL_SET_HEAD_SIZE + strcspn(set + RL_SET_HEAD_SIZE, "; ");
    if ((self->has_elected || *version == RL_SET_VERSION[0]) &&
        (strcspn(version, " ") != sizeof RL_SET_VERSION - 1 ||
         strncmp(version, RL_SET_VERSION, sizeof RL_SET_VERSION - 1) != 0))
        return REDLOCK_REASON_VERSION;
    return rl_set_number(set) == self->node_count ? REDLOCK_REASON_OTHER_QUORUM
                                                  : REDLOCK_REASON_OTHER_NUMBER;
}

enum redlock_reason rl_set_objection(const struct rl_set_self *self,
                                     const struct rl_set_answer *answers, uint8_t node,
                                     const char *in_force)
{
    const char *set = answers[node].set;

    if (!answers[node].answered || !RL_RULE(NODE_SET))
        return REDLOCK_REASON_NONE;
    if (answers[node].unreadable)
        return REDLOCK_REASON_SET_UNREADABLE;
    if (set[0] && !fits(self, set))
        return judge_misfit(self, set);
    if (set[0])
        return strcmp(set, in_force) == 0 ? REDLOCK_REASON_NONE : REDLOCK_REASON_OTHER_SET;
    /* It belongs to none: does any of the others to any, or may it, its set being unknown? */
    for (uint8_t i = 0; i < self->node_count && !rl_set_has_names(self, in_force); i++)
        if (answers[i].answered && (answers[i].set[0] || answers[i].unreadable))
            return REDLOCK_REASON_NO_SET;
    return REDLOCK_REASON_NONE;
}

/* ---- init ---- */

static bool has_id(const char *set, const char *id)
{
    return strncmp(set, id, RL_SET_ID_SIZE) == 0;
}

/* The nodes that are in it, or were before an init that has not finished. */
static uint8_t count_in(const struct rl_set_self *self, const struct rl_set_answer *reached,
                        const char *set)
{
    uint8_t count = 0;

    for (uint8_t i = 0; i < self->node_count; i++)
        count += reached[i].answered &&
                 (has_id(reached[i].set, set) || has_id(set_before(reached[i].set), set));
    return count;
}

/* Would this set have a majority left if the nodes that are reached were taken? */
static bool lives_on(const struct rl_set_self *self, const struct rl_set_answer *reached,
                     const char *set)
{
    uint8_t number = rl_set_number(set);

    return number > 0 && count_in(self, reached, set) < number / 2 + 1 &&
           !rl_set_has_names(self, set);
}

/* Where a set is in force on a node, it had been written on all, and none is in
 * an older one. */
static bool is_in_force(const struct rl_set_self *self, const struct rl_set_answer *reached,
                        const char *set)
{
    for (uint8_t i = 0; i < self->node_count; i++)
        if (reached[i].answered && has_id(reached[i].set, set) &&
            !rl_set_is_pending(reached[i].set))
            return true;
    return false;
}

/*
 * A set that init has written on every node that is reached. One that a client has written on a
 * node, or would write there, may be on a server too many: it is replaced, and that server does
 * not count any more. But a new set needs all nodes: without one of them, names have to do.
 */
static bool is_kept(const struct rl_set_self *self, const struct rl_set_answer *reached,
                    uint8_t *node)
{
    const char *set = NULL;
    bool are_all_reached = true;
    bool is_by_init = true;

    for (uint8_t i = 0; i < self->node_count; i++) {
        are_all_reached &= reached[i].answered;
        if (!reached[i].answered)
            continue;
        is_by_init &= reached[i].set[0] && !reached[i].by_client;
        if (!reached[i].set[0])
            continue;
        if (set && strcmp(reached[i].set, set) != 0)
            return false;
        set = reached[i].set;
        *node = i;
    }
    if (!set || !fits(self, set))
        return false;
    return is_by_init || (!are_all_reached && rl_set_has_names(self, set));
}

enum rl_set_plan rl_set_plan(const struct rl_set_self *self,
                             const struct rl_set_answer *reached, uint8_t *node)
{
    if (is_kept(self, reached, node))
        return RL_SET_KEEP;
    for (uint8_t i = 0; i < self->node_count; i++) {
        const char *answer = reached[i].set;

        if (reached[i].answered &&
            (lives_on(self, reached, answer) ||
             (rl_set_is_pending(answer) && !is_in_force(self, reached, answer) &&
              lives_on(self, reached, set_before(answer))))) {
            *node = i;
            return RL_SET_REFUSE;
        }
    }
    return RL_SET_DRAW;
}

uint8_t rl_set_count_newcomers(const struct rl_set_self *self,
                               const struct rl_set_answer *reached)
{
    uint8_t most = 0;

    for (uint8_t i = 0; i < self->node_count; i++) {
        const char *sets[] = {reached[i].set, set_before(reached[i].set)};

        for (int s = 0; s < 2; s++)
            if (rl_set_number(sets[s]) == self->node_count &&
                count_in(self, reached, sets[s]) > most)
                most = count_in(self, reached, sets[s]);
    }
    return (uint8_t)(self->node_count - most);
}

/* Of a pending set: of what it is going to be. */
static bool has_same_nodes(const struct rl_set_self *self, const struct rl_set_answer *reached,
                           const char *set)
{
    char plain[RL_SET_ANSWER_MAX] = "";

    memcpy(plain, set, strcspn(set, (char[]){RL_SET_PENDING, '\0'}));
    return fits(self, plain) && (rl_set_has_names(self, plain) ||
                                 count_in(self, reached, plain) == self->node_count);
}

bool rl_set_regroups(const struct rl_set_self *self, const struct rl_set_answer *reached)
{
    for (uint8_t i = 0; i < self->node_count; i++) {
        const char *sets[] = {reached[i].set, set_before(reached[i].set)};

        for (int s = 0; s < 2; s++)
            if (sets[s][0] && !has_same_nodes(self, reached, sets[s]))
                return true;
    }
    return false;
}
