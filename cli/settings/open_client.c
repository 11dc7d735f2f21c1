/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings/open_client.h"

#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

#define CLIENT_NAME "redlock-cli"
#define DETAIL_MAX 1024 /* as much as the library says of a failure */

/* The library tells every doubt once. */
static void on_warning(const char *address, const char *text, void *data)
{
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
