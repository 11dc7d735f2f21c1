/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings/values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SOCKET_MODE 0600       /* this user and root */
#define SOCKET_GROUP_MODE 0660 /* with group=: its members as well */
#define MODE_UNSET (~0u)
#define MODE_MOST 0777

int value_complain(char *why, size_t why_size, const char *key, const char *what)
{
    snprintf(why, why_size, "%.100s: %s", key, what);
    return -1;
}

int value_text(char *out, const char *key, const char *value, char *why, size_t why_size)
{
    if (value[0] == '\0' || strlen(value) >= SETTINGS_TEXT_MAX)
        return value_complain(why, why_size, key, "needs a value of at most 255 bytes");
    strcpy(out, value);
    return 0;
}

int value_yes(bool *out, const char *key, const char *value, char *why, size_t why_size)
{
    if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
        return value_complain(why, why_size, key, "is yes or no");
    *out = value[0] == 'y';
    return 0;
}

int value_number(unsigned *out, const char *key, const char *value, unsigned least,
                 unsigned most, char *why, size_t why_size)
{
    char *end;
    unsigned long long number;

    errno = 0;
    number = strtoull(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end || errno || number < least || number > most) {
        snprintf(why, why_size, "%s: is a number from %u to %u", key, least, most);
        return -1;
    }
    *out = (unsigned)number;
    return 0;
}

/* ---- listeners --------------------------------------------------------------------------- */

/* A word behind an address. */
static int listener_word(struct settings_listener *out, const char *word)
{
    char *end;
    unsigned long mode;

    if (out->tls) {
        out->cert_optional = strcmp(word, "cert=optional") == 0;
        return out->cert_optional ? 0 : -1;
    }
    if (strncmp(out->address, "unix:", 5) != 0)
        return -1;
    if (strcmp(word, "peer=proxy") == 0) {
        out->is_proxy = true;
        return 0;
    }
    if (strncmp(word, "group=", 6) == 0 && word[6] && strlen(word + 6) < sizeof out->group) {
        strcpy(out->group, word + 6);
        return 0;
    }
    if (strncmp(word, "mode=", 5) != 0 || word[5] < '0' || word[5] > '7')
        return -1;
    mode = strtoul(word + 5, &end, 8);
    if (*end || mode > MODE_MOST)
        return -1;
    out->mode = (unsigned)mode;
    return 0;
}

int value_listener(struct settings_listener *out, const char *value, char *why, size_t why_size)
{
    struct settings_listener listener = {.mode = MODE_UNSET};
    char text[SETTINGS_TEXT_MAX], *word, *rest = text;

    if (value_text(text, "listen", value, why, why_size) < 0)
        return -1;
    word = strsep(&rest, " \t");
    listener.tls = strncmp(word, "tls:", 4) == 0;
    if (value_text(listener.address, "listen", word + (listener.tls ? 4 : 0), why, why_size) <
        0)
        return -1;
    while ((word = strsep(&rest, " \t")) != NULL) {
        if (word[0] == '\0')
            continue;
        if (listener_word(&listener, word) < 0)
            return value_complain(
                why, why_size, "listen",
                "behind unix:/path may stand mode=0660, group=NAME and peer=proxy, behind "
                "tls:ADDRESS:PORT cert=optional, and behind other addresses "
                "nothing");
    }
    if (listener.mode == MODE_UNSET)
        listener.mode = listener.group[0] ? SOCKET_GROUP_MODE : SOCKET_MODE;
    *out = listener;
    return 0;
}
