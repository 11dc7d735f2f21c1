/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings/open_client.h"

#include "settings/quorums.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

#define CLIENT_NAME "redlock-cli"
#define DETAIL_MAX 1024 /* as much as the library says of a failure */

static uint32_t flags_of(const struct settings *s)
{
    uint32_t flags = s->no_native ? REDLOCK_NO_NATIVE : 0;
    if (s->guard == GUARD_STRICT)
        flags |= REDLOCK_STRICT;
    else if (s->guard == GUARD_OFF)
        flags |= REDLOCK_NO_GUARD;
    return flags;
}

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

int client_open(const struct settings *s, redlock **out)
{
    const char *nodes[SETTINGS_NODES_MAX];
    redlock_quorum quorums[REDLOCK_QUORUMS_MAX];
    size_t quorum_count = quorums_arrange(s, nodes, quorums);
    redlock_options o = {
        .size = sizeof o,
        .nodes = quorum_count ? NULL : (const char *const *)s->nodes,
        .node_count = quorum_count ? 0 : s->node_count,
        .quorums = quorums,
        .quorum_count = quorum_count,
        .flags = flags_of(s),
        .node_timeout_ms = (uint32_t)s->node_timeout_ms,
        .connect_timeout_ms = (uint32_t)s->connect_timeout_ms,
        .max_ttl_ms = (uint32_t)s->max_ttl_ms,
        .prefix = s->text[SETTING_PREFIX],
        .username = s->text[SETTING_USER],
        .password = s->password,
        .password_file = s->text[SETTING_PASSWORD_FILE],
        .client_name = CLIENT_NAME,
        .tls_ca_file = s->text[SETTING_TLS_CA],
        .tls_cert_file = s->text[SETTING_TLS_CERT],
        .tls_key_file = s->text[SETTING_TLS_KEY],
        .tls_server_name = s->text[SETTING_TLS_NAME],
        .warn = s->quiet || s->json || s->no_node_warnings ? NULL : on_warning,
    };
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
