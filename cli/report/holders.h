/* SPDX-License-Identifier: BSD-2-Clause */
/* In words, who holds a lock: one way to say it for every subcommand. */
#ifndef CLI_HOLDERS_H
#define CLI_HOLDERS_H

#include <redlock.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOLDERS_TEXT_MAX 512
#define HOLDERS_NAME_MAX 272 /* of one holder: 64 characters, with room */

/* How much of it is said. Zero: all. */
struct holders_style {
    size_t name_columns; /* a holder's name is cut to this; 0: it is not cut */
    bool brief;          /* without the time that has passed */
};

/* "deploy@web3:4711 (make)": the label, or of a value without one the first eight characters. */
void holders_name(char out[HOLDERS_NAME_MAX], const char *value, size_t columns);

/*
 * "held by deploy@web3:4711 (make), for 2 min 5 s, up to 8.4 s more", "held by 2 readers, up to 1.0 s
 * more", "2 of 4 slots taken, ..."; "free". `left_ms` is what the last holder has left, -1: unknown.
 */
void holders_text(char out[HOLDERS_TEXT_MAX], const redlock_info *info, int64_t left_ms,
                  struct holders_style style);

/* For a cell of a table: "deploy@web3:4711 (make)", "2 readers", "1 of 4 slots"; "-" when free. */
void holders_cell(char out[HOLDERS_TEXT_MAX], const redlock_info *info);

/* How long the holder has had it; -1: unknown, or several hold it. */
int64_t holders_age_ms(const redlock_info *info);

#endif
