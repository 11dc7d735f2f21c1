/* SPDX-License-Identifier: BSD-2-Clause */
#include "lock/label.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/quote.h"
#include "base/utf8.h"
#include "ui/text.h"

#define PART_MAX 65 /* of a user, a host or a command, with terminator */

static bool is_printable(const char *text)
{
    while (*text) {
        size_t length = rl_utf8_length(text);
        if (length == 0 || rl_utf8_steers(rl_utf8_code(text, length)))
            return false;
        text += length;
    }
    return true;
}

bool label_set(char out[REDLOCK_LABEL_MAX + 1], const char *text)
{
    if (!is_printable(text))
        return false;
    rl_quote_safe(out, REDLOCK_LABEL_MAX + 1, text);
    return true;
}

/* From the environment first: a directory service may take long to answer, or not at all. */
static void user_name(char out[PART_MAX])
{
    const char *name = getenv("LOGNAME");
    if (!name || !*name)
        name = getenv("USER");
    if (!name || !*name) {
        const struct passwd *entry = getpwuid(geteuid());
        name = entry ? entry->pw_name : NULL;
    }
    if (!name) {
        snprintf(out, PART_MAX, "%ld", (long)geteuid());
        return;
    }
    rl_quote_safe(out, PART_MAX, name);
}

static void host_name(char out[PART_MAX])
{
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    name[strcspn(name, ".")] = '\0';
    rl_quote_safe(out, PART_MAX, *name ? name : "?");
}

/* By one character: what identifies the process, its number, is never cut. */
static void shorten_longest(char *const *part, size_t count)
{
    char *longest = part[0], shorter[PART_MAX];

    for (size_t i = 1; i < count; i++) {
        if (strlen(part[i]) > strlen(longest))
            longest = part[i];
    }
    rl_quote_safe(shorter, strlen(longest), longest);
    memcpy(longest, shorter, strlen(shorter) + 1);
}

void label_make(char out[REDLOCK_LABEL_MAX + 1], pid_t pid, const char *word)
{
    char user[PART_MAX], host[PART_MAX], command[PART_MAX] = "";
    const char *slash = word ? strrchr(word, '/') : NULL;
    char *part[] = {user, host, command};

    if (word)
        rl_quote_safe(command, sizeof command, slash && slash[1] ? slash + 1 : word);
    user_name(user);
    host_name(host);
    while ((size_t)snprintf(out, REDLOCK_LABEL_MAX + 1, "%s@%s:%ld%s%s%s", user, host,
                            (long)pid, *command ? " (" : "", command,
                            *command ? ")" : "") > REDLOCK_LABEL_MAX)
        shorten_longest(part, sizeof part / sizeof part[0]);
}

void label_make_of_parent(char out[REDLOCK_LABEL_MAX + 1])
{
    char path[64], name[PART_MAX] = "";
    pid_t parent = getppid();
    FILE *file;

    snprintf(path, sizeof path, "/proc/%ld/comm", (long)parent);
    file = fopen(path, "re");
    if (file && fgets(name, sizeof name, file))
        name[strcspn(name, "\n")] = '\0';
    if (file)
        fclose(file);
    label_make(out, parent, *name ? name : NULL);
}
