/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/reply.h"

#include <string.h>

#include "base/number.h"

#define NUMBER_LIMIT INT64_C(1000000000000000000)

struct rl_slice rl_info_field(struct rl_slice info, const char *name)
{
    size_t name_size = strlen(name);
    const char *at = info.data;
    const char *end = info.data + info.size;

    while (at < end) {
        const char *line_end = memchr(at, '\r', (size_t)(end - at));

        if (!line_end)
            line_end = end;
        if ((size_t)(line_end - at) > name_size && memcmp(at, name, name_size) == 0 &&
            at[name_size] == ':')
            return (struct rl_slice){at + name_size + 1,
                                     (size_t)(line_end - at) - name_size - 1};
        at = line_end < end ? line_end + 1 : end;
        if (at < end && *at == '\n')
            at++;
    }
    return (struct rl_slice){"", 0};
}

int64_t rl_info_number(struct rl_slice info, const char *name, int64_t otherwise)
{
    struct rl_slice text = rl_info_field(info, name);
    int64_t number;

    return rl_integer_read(text, &number) && number > -NUMBER_LIMIT && number < NUMBER_LIMIT
               ? number
               : otherwise;
}

void rl_info_text(struct rl_slice info, const char *name, char *out, size_t size)
{
    struct rl_slice text = rl_info_field(info, name);

    out[0] = '\0';
    if (text.size >= size)
        return;
    memcpy(out, text.data, text.size);
    out[text.size] = '\0';
}

void rl_info_version(struct rl_slice info, char *out, size_t size)
{
    const char *name = "valkey ";
    struct rl_slice number = rl_info_field(info, "valkey_version");
    size_t name_size;

    if (number.size == 0) {
        name = "redis ";
        number = rl_info_field(info, "redis_version");
    }
    name_size = strlen(name);
    if (number.size == 0 || name_size + number.size >= size)
        return;
    memcpy(out, name, name_size);
    memcpy(out + name_size, number.data, number.size);
    out[name_size + number.size] = '\0';
}
