/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings/open_client.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/quote.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/subcommand.h"
#include "ui/text.h"

#define CLIENT_NAME "redlock-cli"
#define WARNINGS_MAX 32 /* different texts; later ones are printed for each node */
#define WARNING_MAX 384 /* of the library, and a subcommand */
#define DETAIL_MAX 1024 /* as much as the library reports of a failure */

/* Has this text not been printed yet? */
static bool is_news(const char *text)
{
    static uint64_t printed[WARNINGS_MAX];
    static size_t printed_count;
    uint64_t digest = 14695981039346656037u; /* FNV-1a */
    for (const char *at = text; *at; at++)
        digest = (digest ^ (unsigned char)*at) * 1099511628211u;
    for (size_t i = 0; i < printed_count; i++) {
        if (printed[i] == digest)
            return false;
    }
    if (printed_count < WARNINGS_MAX)
        printed[printed_count++] = digest;
    return true;
}

/*
 * The library reports every finding once for each node. What is wrong with one is mostly wrong
 * with all: one line reports it, with the first of them, and `redlock doctor` names the rest.
 */
static void print_warning(const redlock_event *event)
{
    char text[WARNING_MAX], safe[WARNING_MAX], node[REDLOCK_ADDRESS_MAX];
    snprintf(text, sizeof text, "%s%s", event->detail, subcommand_for(event->reason));
    rl_quote_safe(safe, sizeof safe, text);
    rl_quote_safe(node, sizeof node, event->address);
    if (is_news(event->detail))
        message_node_warning(node, safe);
    if (event->dropped)
        message_warn("%u warnings before this were lost; `redlock doctor` shows all",
                     event->dropped);
}

int client_next(const struct settings *s, redlock *client, const redlock_event **event,
                int timeout_ms)
{
    int got;
    while ((got = redlock_next(client, event, timeout_ms)) > 0 &&
           (*event)->type == REDLOCK_EVENT_WARNING) {
        bool is_mended = s->has_admitted && subcommand_is_init((*event)->reason);
        if (!s->quiet && !s->json && !s->no_node_warnings && !is_mended)
            print_warning(*event);
        timeout_ms = 0; /* the turn is over with its events */
    }
    return got;
}

void client_close(const struct settings *s, redlock *client)
{
    const redlock_event *event;
    while (client && client_next(s, client, &event, 0) > 0)
        ;
    redlock_close(client);
}

int client_report(redlock_report *out, int error, redlock_answer *answer)
{
    const redlock_report *report =
        error == REDLOCK_OK ? answer->report : redlock_failure_report();
    if (report)
        *out = *report;
    else
        *out = (redlock_report){0};
    if (error == REDLOCK_OK)
        redlock_answer_free(answer);
    return error;
}

int client_ping(redlock *client, redlock_report *out)
{
    redlock_answer *answer = NULL;
    int error = redlock_ping(client, &answer);
    return client_report(out, error, answer);
}

/* The library repeats names and prefixes byte for byte. */
static int fail(int status, int error)
{
    char safe[DETAIL_MAX];
    const char *detail = redlock_detail();
    rl_quote_safe(safe, sizeof safe, *detail ? detail : redlock_strerror(error));
    return message_fail(status, "%s", safe);
}

static int open_with(const redlock_options *o, redlock **out)
{
    int error = redlock_open(o, out);
    if (error == REDLOCK_OK)
        return 0;
    /* What a client refuses here came from the settings. */
    return fail(error == REDLOCK_INVAL ? EXIT_CONFIG : exit_status_of(error), error);
}

int client_open(struct settings *s, redlock **out)
{
    redlock_options o = REDLOCK_OPTIONS(.client_name = CLIENT_NAME);
    rl_config_apply(&s->config, &o);
    return open_with(&o, out);
}

int client_open_node(struct settings *s, const char *node, redlock **out)
{
    redlock_options o = REDLOCK_OPTIONS(.client_name = CLIENT_NAME);
    rl_config_apply(&s->config, &o);
    o.quorums = NULL;
    o.quorum_count = 0;
    o.nodes = &node;
    o.node_count = 1;
    return open_with(&o, out);
}

int client_fail(int error)
{
    return fail(exit_status_of(error), error);
}
