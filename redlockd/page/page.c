/* SPDX-License-Identifier: BSD-2-Clause */
#include "page/page.h"

#include <string.h>

static const char openapi[] = {
#include "openapi.json.inc"
};

static const struct file {
    const char *path, *type, *bytes;
    size_t size;
} files[] = {
    {"/openapi.json", "application/json", openapi, sizeof openapi},
};

static const struct file *find(struct rl_span path)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (path.length == strlen(files[i].path) &&
            memcmp(path.at, files[i].path, path.length) == 0)
            return &files[i];
    return NULL;
}

bool page_is_at(struct rl_span path)
{
    return find(path) != NULL;
}

void page_answer(struct http_exchange *exchange, struct rl_span path)
{
    const struct file *file = find(path);

    http_answer(exchange, &(struct http_answer){.status = 200,
                                                .type = file->type,
                                                .body = file->bytes,
                                                .body_size = file->size});
}
