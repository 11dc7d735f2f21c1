/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The largest fencing token that may write a file, kept beside it in FILE.fence. Writers take
 * turns: each keeps an flock(2) on the token file while it writes, so that an older one is
 * either done or refused.
 *
 * The file has two places for a record, and a new token overwrites the older one: a crash in
 * the middle of it leaves the other. A record is the token twice, so that half of a record is
 * none. The second place is in another page, so that no write to one touches the other.
 * Middlewares in fencing/ keep the same file.
 */
#ifndef CLI_FENCE_FILE_H
#define CLI_FENCE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#define FENCE_FILE_SUFFIX ".fence"
#define FENCE_FILE_PLACES 2
#define FENCE_FILE_PLACE_BYTES 4096
#define FENCE_FILE_RECORD_BYTES 42 /* two numbers of 20 digits, a space and a newline */

enum fence_file_verdict {
    FENCE_FILE_ADMITTED,
    FENCE_FILE_REFUSED,  /* *last is the larger token that was admitted before */
    FENCE_FILE_OCCUPIED, /* another writer has its turn, and this one was not to wait */
    FENCE_FILE_DAMAGED,  /* neither place has a record, and what is there is no half of one */
    FENCE_FILE_BROKEN,   /* errno of a system call */
};

/*
 * Waits for the turn if it may (`wait`), compares, and stores `token` on the disk. On ADMITTED
 * *fd is the descriptor that keeps the turn: other writers wait until all copies of it are
 * closed. It is inherited by a program that is executed. Nothing is open after any other
 * verdict.
 */
enum fence_file_verdict fence_file_admit(const char *path, int64_t token, bool wait, int *fd,
                                         int64_t *last);

#endif
