/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Just enough of the Redis protocol to set a benchmark up: connect, one command, one reply,
 * blocking. Independent of the library on purpose, as is the floor.
 */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Connects to redis://host:port, host:port or unix:///path; no credentials, no TLS. Returns
 * a blocking descriptor with a receive timeout, or -1 with a message on stderr.
 */
int raw_connect(const char *url);

/* Whether the other end is on this machine. */
bool raw_is_local(int fd);

/*
 * Sends one command and reads its reply, a simple one or a bulk string. Returns the reply's
 * type byte ('+', '-', ':', '$') with its terminated text in reply, or -1.
 */
int raw_call(int fd, const char *const *words, size_t word_count, char *reply, size_t size);

/* Encodes a command; returns its length, or 0 when it does not fit. */
size_t raw_encode(char *out, size_t size, const char *const *words, size_t word_count);

#endif
