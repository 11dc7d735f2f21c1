/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/inputs.h"

#include <stdio.h>
#include <string.h>

#include "system/log.h"
#include "system/sockets.h"

/* What systemd provides for the unit when that starts: LoadCredential=, LogsDirectory=. */
#define CREDENTIALS "/run/credentials/"
#define LOGS "/var/log/redlock/"

static const char *or_null(const char *text)
{
    return text[0] ? text : NULL;
}

/* Passwords of locks and who holds them do not travel in the clear unless that
 * was set. */
int inputs_refuse_open(const char *address, char *why, size_t why_size)
{
    snprintf(why, why_size, "%s: plain TCP is for loopback: use tls:%s, or set insecure to yes",
             address, address);
    return -1;
}

static int check_listener(const struct settings *settings,
                          const struct settings_listener *listener, char *why, size_t why_size)
{
    int is_local = sockets_check(listener->address, why, why_size);

    if (is_local < 0)
        return -1;
    if (listener->tls && !settings->tls_cert[0]) {
        snprintf(why, why_size, "tls:%s needs tls-cert", listener->address);
        return -1;
    }
    if (!is_local && !listener->tls && !settings->insecure)
        return inputs_refuse_open(listener->address, why, why_size);
    return 0;
}

static int check_listeners(const struct settings *settings, char *why, size_t why_size)
{
    for (unsigned i = 0; i < settings->count[SETTING_LISTEN]; i++) {
        if (check_listener(settings, &settings->listeners[i], why, why_size) < 0) {
            settings_locate(settings, settings->listen[i].line, why, why_size);
            return -1;
        }
    }
    return 0;
}

static int read_access(struct access *access, const struct settings *settings, char *why,
                       size_t why_size)
{
    for (unsigned i = 0; i < settings->count[SETTING_ALLOW]; i++) {
        if (access_rules_add(&access->rules, settings->rules[i].text, why, why_size) < 0) {
            settings_locate(settings, settings->rules[i].line, why, why_size);
            return -1;
        }
    }
    access->strangers.requests_max = ACCESS_STRANGERS_RATE;
    access->host_count = settings->count[SETTING_HOST];
    for (unsigned i = 0; i < access->host_count; i++)
        strcpy(access->hosts[i], settings->hosts[i].text);
    if (!settings->tokens[0] ||
        access_tokens_read(&access->tokens, settings->tokens, why, why_size) == 0)
        return 0;
    settings_locate(settings, settings->line[SETTING_TOKENS], why, why_size);
    return -1;
}

_Static_assert(SETTINGS_TEXT_MAX <= ACCESS_HOST_MAX + 1 &&
                   SETTINGS_HOSTS_MAX <= ACCESS_HOSTS_MAX,
               "every host of the settings has room");

/* Which of the four files the sentence is about. */
static enum settings_key tls_key_of(const struct settings *settings, const char *why)
{
    if (settings->tls_client_crl[0] && strstr(why, settings->tls_client_crl))
        return SETTING_TLS_CLIENT_CRL;
    if (settings->tls_client_ca[0] && strstr(why, settings->tls_client_ca))
        return SETTING_TLS_CLIENT_CA;
    return settings->tls_key[0] && strstr(why, settings->tls_key) ? SETTING_TLS_KEY
                                                                  : SETTING_TLS_CERT;
}

static int read_tls(struct inputs *inputs, const struct settings *settings, char *why,
                    size_t why_size)
{
    const struct http_tls_files files = {.cert = settings->tls_cert,
                                         .key = or_null(settings->tls_key),
                                         .client_ca = or_null(settings->tls_client_ca),
                                         .client_crl = or_null(settings->tls_client_crl)};

    if (!files.cert[0]) {
        if (!files.key && !files.client_ca && !files.client_crl)
            return 0;
        snprintf(why, why_size, "tls-key, tls-client-ca and tls-client-crl need tls-cert");
        return -1;
    }
    if (files.client_crl && !files.client_ca) {
        snprintf(why, why_size, "tls-client-crl needs tls-client-ca");
        settings_locate(settings, settings->line[SETTING_TLS_CLIENT_CRL], why, why_size);
        return -1;
    }
    if (http_tls_context_new(&files, why, why_size, &inputs->tls) == 0)
        return 0;
    settings_locate(settings, settings->line[tls_key_of(settings, why)], why, why_size);
    return -1;
}

int inputs_excuse(struct inputs *inputs, const struct settings *settings, int result,
                  const char *why)
{
    if (result == 0 || !settings->check || (!strstr(why, CREDENTIALS) && !strstr(why, LOGS)))
        return result;
    log_line("warning: %s (systemd provides it when the unit starts)", why);
    inputs->warnings++;
    return 0;
}

static int read_quorum(struct inputs *inputs, const struct settings *settings, char *why,
                       size_t why_size)
{
    if (quorum_print_read(or_null(settings->quorum_config), &inputs->quorum, why, why_size) ==
        0)
        return 0;
    settings_locate(settings, settings->line[SETTING_QUORUM_CONFIG], why, why_size);
    return -1;
}

static int read_audit(struct inputs *inputs, const struct settings *settings, char *why,
                      size_t why_size)
{
    int result = settings->check ? audit_check(settings->audit, why, why_size)
                                 : audit_open(&inputs->audit, settings->audit, why, why_size);

    if (result == 0)
        return 0;
    settings_locate(settings, settings->line[SETTING_AUDIT], why, why_size);
    return -1;
}

static int read_classes(struct inputs *inputs, const struct settings *settings, char *why,
                        size_t why_size)
{
    for (unsigned i = 0; i < settings->count[SETTING_CLASS]; i++) {
        if (classes_add(&inputs->classes, settings->classes[i].text, why, why_size) < 0) {
            settings_locate(settings, settings->classes[i].line, why, why_size);
            return -1;
        }
    }
    return 0;
}

_Static_assert(SETTINGS_CLASSES_MAX == CLASSES_MAX, "every class of the settings has room");

int inputs_read(struct inputs *inputs, const struct settings *settings, char *why,
                size_t why_size)
{
    *inputs = (struct inputs){.tls = NULL};
    if (check_listeners(settings, why, why_size) == 0 &&
        read_access(&inputs->access, settings, why, why_size) == 0 &&
        inputs_excuse(inputs, settings, read_quorum(inputs, settings, why, why_size), why) ==
            0 &&
        inputs_excuse(inputs, settings, read_tls(inputs, settings, why, why_size), why) == 0 &&
        inputs_excuse(inputs, settings, read_audit(inputs, settings, why, why_size), why) ==
            0 &&
        read_classes(inputs, settings, why, why_size) == 0)
        return 0;
    inputs_free(inputs);
    return -1;
}

void inputs_free(struct inputs *inputs)
{
    http_tls_context_free(inputs->tls);
    inputs->tls = NULL;
    audit_close(&inputs->audit);
    classes_free(&inputs->classes);
}

void inputs_replace(struct inputs *running, struct inputs *fresh)
{
    access_rules_inherit(&fresh->access.rules, &running->access.rules);
    running->access.rules = fresh->access.rules;
    running->access.tokens = fresh->access.tokens;
    if (running->tls && fresh->tls) {
        http_tls_context_replace(running->tls, fresh->tls);
        fresh->tls = NULL;
    }
    audit_replace(&running->audit, &fresh->audit);
    classes_replace(&running->classes, &fresh->classes);
    inputs_free(fresh);
}
