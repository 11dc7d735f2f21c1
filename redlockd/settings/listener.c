/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings/listener.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SOCKET_MODE 0600       /* this user and root */
#define SOCKET_GROUP_MODE 0660 /* with group=: its members as well */
#define MODE_UNSET (~0u)
#define MODE_MOST 0777

/* A word behind an address. */
static int read_word(struct settings_listener *out, const char *word)
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

int settings_listener_read(struct settings_listener *out, const char *value, char *why,
                           size_t why_size)
{
    struct settings_listener listener = {.mode = MODE_UNSET};
    char text[SETTINGS_TEXT_MAX], *word, *rest = text;

    snprintf(text, sizeof text, "%s", value);
    word = strsep(&rest, " \t");
    listener.tls = strncmp(word, "tls:", 4) == 0;
    strcpy(listener.address, word + (listener.tls ? 4 : 0));
    while ((word = strsep(&rest, " \t")) != NULL) {
        if (word[0] == '\0' || read_word(&listener, word) == 0)
            continue;
        snprintf(why, why_size,
                 "listen: behind unix:/path may stand mode=0660, group=NAME and peer=proxy, "
                 "behind tls:ADDRESS:PORT cert=optional, and behind other addresses nothing");
        return -1;
    }
    if (listener.mode == MODE_UNSET)
        listener.mode = listener.group[0] ? SOCKET_GROUP_MODE : SOCKET_MODE;
    *out = listener;
    return 0;
}
