/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/exposed.h"
#include "base/pairs.h"

/* `from_file`: a bit per key that the file has given. */
static int apply_pair(struct settings *settings, const struct rl_pairs *pair,
                      uint32_t *from_file, char *why, size_t why_size)
{
    int key = settings_key_of(pair->key);

    if (key < 0) {
        rl_pairs_unknown(why, pair->key, settings_key_names());
        return -1;
    }
    if (settings->count[key] > 0 && !(*from_file >> key & 1))
        return 0; /* the command line has */
    if (*from_file >> key & 1 && !settings_is_list((enum settings_key)key)) {
        rl_pairs_twice(why, pair->key);
        return -1;
    }
    *from_file |= 1u << key;
    return settings_apply(settings, (enum settings_key)key, pair->value, pair->line, why,
                          why_size);
}

int settings_pairs_read(struct settings *settings, FILE *file, char *why, size_t why_size)
{
    struct rl_pairs pairs = {.file = file};
    uint32_t from_file = 0;
    int more, result = 0;

    while (result == 0 && (more = rl_pairs_next(&pairs, why)) != 0)
        result = more < 0 ? -1 : apply_pair(settings, &pairs, &from_file, why, why_size);
    if (result < 0)
        settings_locate(settings, pairs.line, why, why_size);
    return result;
}

int settings_file_read(struct settings *settings, char *why, size_t why_size)
{
    FILE *file = fopen(settings->config, "re");
    struct stat info;
    int result = -1;

    if (!file)
        snprintf(why, why_size, "%s: cannot be read: %s", settings->config, strerror(errno));
    else if (fstat(fileno(file), &info) == 0 && rl_file_is_exposed(&info))
        /* Rules that others can write are theirs. */
        snprintf(why, why_size,
                 "%.100s: others can write to it: give it to this user or to root, and chmod "
                 "go-w",
                 settings->config);
    else
        result = settings_pairs_read(settings, file, why, why_size);
    if (file)
        fclose(file);
    return result;
}
