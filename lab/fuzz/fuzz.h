/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the fuzz targets share: an input that is consumed piece by piece, and a check that ends
 * the process. Each target is one LLVMFuzzerTestOneInput(): libFuzzer calls it with inputs of
 * its own (`make fuzz`), and replay.c with the kept ones of corpus/ (`make test`).
 */
#ifndef REDLOCK_FUZZ_H
#define REDLOCK_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Ends with what both drivers take for a crash, and says why on the way out. */
#define FUZZ_CHECK(condition)                                                                  \
    do {                                                                                       \
        if (!(condition))                                                                      \
            fuzz_fail(__FILE__, __LINE__, #condition);                                         \
    } while (0)

__attribute__((noreturn)) void fuzz_fail(const char *file, int line, const char *condition);

/* The rest of the input. Reading past its end gives zeros: every input is a whole script. */
struct fuzz_input {
    const uint8_t *at;
    size_t left;
};

uint8_t fuzz_byte(struct fuzz_input *input);
uint32_t fuzz_number(struct fuzz_input *input, int bytes);

/* Up to `most` bytes from the input, as many as its next byte says (255: a long stretch). */
size_t fuzz_stretch(struct fuzz_input *input, size_t most, const uint8_t **out);

/* The same as an allocated string; NUL bytes inside end it early. Never NULL. */
char *fuzz_text(struct fuzz_input *input, size_t most);

/* Exactly these bytes on the heap, so that a sanitizer sees a read beyond them. */
void *fuzz_copy(const void *bytes, size_t size);

#endif
