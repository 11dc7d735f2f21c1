/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two servers side by side: a real one, and the simulator's model. Both get the same, and
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
void call_real(const char *const *argv, char *out);
void call_model(const char *const *argv, char *out);
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

/*
 * One of the patterns, as words that end with NULL: blanks part them, and of alternatives
 * between bars one is drawn, which may be empty. NEW:NAME is the text of a script, and RUN:NAME
 * the two words that run it, by its text or by its hash. They stay until the next draw.
 */
void draw(const char *const *patterns, size_t count, const char **argv);

#define DRAW(argv, patterns) draw(patterns, sizeof patterns / sizeof patterns[0], argv)

#endif
