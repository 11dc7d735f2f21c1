/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two servers side by side: a real one, and the simulator's model. Both are asked the same, and
 * the replies must agree. What depends on time (remaining lives, tokens that start at the
 * clock) may differ by what a loaded machine adds.
 */
#ifndef REDLOCK_TESTS_MODEL_BOTH_H
#define REDLOCK_TESTS_MODEL_BOTH_H

#include "lab/fake/server.h"
#include "lab/sim/rng.h"

enum { WORDS_MAX = 48, REPLY_SIZE = 4096 };

#define TIME_SLACK 3000000 /* microseconds, for tokens and clocks; as ms it is never reached */
#define LIFE_SLACK_MS 3000

extern struct fake_server model;
extern struct sim_rng rng;

void both_begin(uint64_t seed);
void both_end(void);
/* Words that end with NULL; the reply as resp_read() has it. */
void ask_real(const char *const *argv, char *out);
void ask_model(const char *const *argv, char *out);
/* The same text, run by the Lua of both. */
void compare_lua(const char *text);
/* Asks both; the real reply is left in `out`. */
void compare(const char *const *argv, int64_t slack, char *out);
/*
 * A fence counter is compared, and then made one: what started at the clock did so at two
 * moments.
 */
void share_counter(const char *key);
/* What stands behind `name` in an INFO. */
void field_of(const char *info, const char *name, char *out, size_t size);
/* The real one's port. */
int real_port(void);

const char *pick(const char *const *from, size_t count);

#define PICK(...)                                                                              \
    pick((const char *const[]){__VA_ARGS__},                                                   \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

#define ASK(...)                                                                               \
    memcpy(argv, (const char *[]){__VA_ARGS__, NULL}, sizeof(const char *[]){__VA_ARGS__, NULL})

/* The first two words of a script's request; needs a bool by_text. */
#define SCRIPT(NAME)                                                                           \
    by_text ? "EVAL" : "EVALSHA", by_text ? RL_SCRIPT_##NAME : RL_SCRIPT_##NAME##_SHA1

#endif
