/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings/open_client.h"

#include <stdbool.h>
#include <stdint.h>

#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

#define CLIENT_NAME "redlock-cli"
#define WARNINGS_MAX 32 /* different texts; later ones are told for each node */
#define DETAIL_MAX 1024 /* as much as the library says of a failure */

/* Has this text not been told yet? */
static bool is_news(const char *text)
{
    static uint64_t told[WARNINGS_MAX];
    static size_t told_count;
    uint64_t digest = 14695981039346656037u; /* FNV-1a */
    for (const char *at = text; *at; at++)
        digest = (digest ^ (unsigned char)*at) * 1099511628211u;
    for (size_t i = 0; i < told_count; i++) {
        if (told[i] == digest)
            return false;
    }
    if (told_count < WARNINGS_MAX)
        told[told_count++] = digest;
    return true;
}

/*
 * The library tells every doubt once for each node. What is wrong with one is mostly wrong with all:
 * one line says it, with the first of them, and `redlock doctor` names the rest.
 */
static void on_warning(const char *address, const char *text, void *data)
{
    if (!is_news(text))
        return;
    char safe[2 * REDLOCK_TEXT_MAX], node[REDLOCK_ADDRESS_MAX];
    (void)data;
    text_safe(safe, sizeof safe, text);
    text_safe(node, sizeof node, address);
    message_node_warning(node, safe);
}

/* The library repeats names and prefixes byte for byte. */
static int fail(int status, int error)
{
    char safe[DETAIL_MAX];
    const char *detail = redlock_detail();
    text_safe(safe, sizeof safe, *detail ? detail : redlock_strerror(error));
    return message_fail(status, "%s", safe);
}

int client_open(struct settings *s, redlock **out)
{
    redlock_options o = {
        .size = sizeof o,
        .client_name = CLIENT_NAME,
        .warn = s->quiet || s->json || s->no_node_warnings ? NULL : on_warning,
    };
    rl_config_apply(&s->config, &o);
    int error = redlock_open(&o, out);
    if (error == REDLOCK_OK)
        return 0;
    /* What a client refuses here came from the settings. */
    return fail(error == REDLOCK_INVAL ? EXIT_CONFIG : exit_status_of(error), error);
}

int client_fail(int error)
{
    return fail(exit_status_of(error), error);
}
