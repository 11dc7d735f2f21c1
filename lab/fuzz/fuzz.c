/* SPDX-License-Identifier: BSD-2-Clause */
#include "fuzz.h"

#include <string.h>
#include <unistd.h>

#define LONG_STRETCH 255

void fuzz_fail(const char *file, int line, const char *condition)
{
    char text[512];
    int size = snprintf(text, sizeof text, "%s:%d: expected %s\n", file, line, condition);

    /* Not through stdio: some targets put something else in the place of stderr. */
    if (size > 0 && write(STDERR_FILENO, text, (size_t)size) < 0)
        abort();
    abort();
}

uint8_t fuzz_byte(struct fuzz_input *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->at++;
}

uint32_t fuzz_number(struct fuzz_input *input, int bytes)
{
    uint32_t number = 0;

    while (bytes-- > 0)
        number = number << 8 | fuzz_byte(input);
    return number;
}

size_t fuzz_stretch(struct fuzz_input *input, size_t most, const uint8_t **out)
{
    size_t size = fuzz_byte(input);

    if (size == LONG_STRETCH)
        size = fuzz_number(input, 2);
    if (size > input->left)
        size = input->left;
    if (size > most)
        size = most;
    *out = input->at;
    input->at += size;
    input->left -= size;
    return size;
}

char *fuzz_text(struct fuzz_input *input, size_t most)
{
    const uint8_t *bytes;
    size_t size = fuzz_stretch(input, most, &bytes);
    char *text = malloc(size + 1);

    if (!text)
        abort();
    if (size > 0)
        memcpy(text, bytes, size);
    text[size] = '\0';
    return text;
}

void *fuzz_copy(const void *bytes, size_t size)
{
    void *copy = malloc(size > 0 ? size : 1);

    if (!copy)
        abort();
    if (size > 0)
        memcpy(copy, bytes, size);
    return copy;
}
