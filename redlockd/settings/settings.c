/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings/settings.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/slice.h"
#include "base/time.h"
#include "redlock.h"
#include "settings/file.h"
#include "settings/values.h"

#define DRAIN_DEFAULT_NS (10 * RL_NS_PER_S)
#define DRAIN_MAX_S 3600
#define CONNECTIONS_MAX 1000000
#define DRIFT_DEFAULT_PPM 10000
#define DRIFT_MAX_PPM 500000

static const char usage[] =
    "usage: redlockd --listen ADDRESS... [--option VALUE...]\n"
    "       redlockd --config FILE [--check]\n"
    "       redlockd --ready [--listen ADDRESS|--config FILE]\n"
    "       redlockd --dev\n"
    "       redlockd token NAME\n"
    "\n"
    "Gives the locks of the nodes that redlock.conf names to programs in any\n"
    "language, over HTTP.\n"
    "\n"
    "  --listen ADDRESS       unix:/path [mode=0660] [group=NAME] [peer=proxy],\n"
    "                         ADDRESS:PORT on loopback, or\n"
    "                         tls:ADDRESS:PORT [cert=optional]; once for each\n"
    "  --host NAME            a name besides localhost that loopback ports answer to\n"
    "  --tls-cert FILE        certificate and its chain, PEM\n"
    "  --tls-key FILE         its key, PEM; left out: in the file of the certificate\n"
    "  --tls-client-ca FILE   clients must show a certificate of this authority,\n"
    "                         except where it is optional\n"
    "  --tls-client-crl FILE  which of these certificates are revoked\n"
    "  --insecure yes         plain TCP on other addresses than loopback, too\n"
    "  --quorum-config FILE   the nodes; left out: as the redlock command finds them\n"
    "  --allow RULE           PRINCIPAL NAME RIGHTS [CAP...]. The first that fits\n"
    "                         decides; without any, this user on a unix socket may\n"
    "                         do everything.\n"
    "                         PRINCIPAL: uid:N, gid:N, cert:NAME or token:NAME\n"
    "                         NAME: a name, a prefix that ends in a slash, or *\n"
    "                         RIGHTS: one or more of acquire,read,break,admin\n"
    "                         CAP: leases=N, waiters=N, ttl=TIME, requests=N\n"
    "  --tokens FILE          lines of NAME and the SHA-256 of its token in hex\n"
    "  --class PATTERN        counts what happens to the locks of a class of\n"
    "                         names, like jobs/*/nightly; once for each\n"
    "  --audit FILE           a line of JSON per grant, release, loss, denial, ...\n"
    "  --names utf8           names of locks beyond ASCII\n"
    "  --drift-ppm N          how much slower a client's clock may be (10000)\n"
    "  --connections N        at most so many at a time (16384)\n"
    "  --drain SECONDS        on TERM, let requests finish for so long (10)\n"
    "  --config FILE          lines of `listen = ADDRESS` and so on\n"
    "  --check                look at the settings, say what is wrong, and end\n"
    "  --ready                is the daemon of these settings ready? 0: yes.\n"
    "                         Without any, as in a container, that of process 1\n"
    "  --dev                  start servers of its own, and print what to try\n"
    "  --version, --help\n"
    "  token NAME             print a new token, and its line for the file of tokens\n"
    "\n"
    "Sockets of systemd (LISTEN_FDS) are served as well. TERM ends it, HUP reads\n"
    "rules, tokens and TLS files again. redlockd.conf(5) explains all of it.\n";

/* ---- keys -------------------------------------------------------------------------------- */

static const char *const keys[SETTING_COUNT + 1] = {
#define X(name, key) key,
    SETTINGS_KEYS(X)
#undef X
};

int settings_key_of(const char *name)
{
    for (int i = 0; i < SETTING_COUNT; i++)
        if (strcmp(name, keys[i]) == 0)
            return i;
    return -1;
}

const char *settings_nearest_key(const char *name)
{
    return rl_nearest(rl_slice_of(name), keys);
}

const char *settings_key_name(enum settings_key key)
{
    return keys[key];
}

static int add_listener(struct settings *settings, const char *value, char *why,
                        size_t why_size)
{
    struct settings_listener *listener = &settings->listeners[settings->listener_count];

    if (settings->listener_count == SETTINGS_LISTENERS_MAX)
        return value_complain(why, why_size, "listen", "at most 16 addresses");
    if (value_listener(listener, value, why, why_size) < 0)
        return -1;
    listener->line = settings->reading;
    settings->listener_count++;
    return 0;
}

static int add_rule(struct settings *settings, const char *value, char *why, size_t why_size)
{
    struct settings_rule *rule = &settings->rules[settings->rule_count];

    if (settings->rule_count == SETTINGS_RULES_MAX)
        return value_complain(why, why_size, "allow", "at most 64 rules");
    if (value_text(rule->text, "allow", value, why, why_size) < 0)
        return -1;
    rule->line = settings->reading;
    settings->rule_count++;
    return 0;
}

static int add_class(struct settings *settings, const char *value, char *why, size_t why_size)
{
    struct settings_class *class = &settings->classes[settings->class_count];

    if (settings->class_count == SETTINGS_CLASSES_MAX)
        return value_complain(why, why_size, "class", "at most 100 patterns");
    if (strlen(value) >= sizeof class->pattern)
        return value_complain(why, why_size, "class", "a pattern has at most 64 characters");
    strcpy(class->pattern, value);
    class->line = settings->reading;
    settings->class_count++;
    return 0;
}

static int add_host(struct settings *settings, const char *value, char *why, size_t why_size)
{
    if (settings->host_count == SETTINGS_HOSTS_MAX)
        return value_complain(why, why_size, "host", "at most 16 names");
    return value_text(settings->hosts[settings->host_count++], "host", value, why, why_size);
}

static int set_names(struct settings *settings, const char *value, char *why, size_t why_size)
{
    if (strcmp(value, "ascii") != 0 && strcmp(value, "utf8") != 0)
        return value_complain(why, why_size, "names", "is ascii or utf8");
    settings->utf8_names = value[0] == 'u';
    return 0;
}

static int set_drain(struct settings *settings, const char *value, char *why, size_t why_size)
{
    unsigned seconds;

    if (value_number(&seconds, "drain", value, 0, DRAIN_MAX_S, why, why_size) < 0)
        return -1;
    settings->drain_ns = seconds * RL_NS_PER_S;
    return 0;
}

int settings_apply(struct settings *settings, enum settings_key key, const char *value,
                   char *why, size_t why_size)
{
    char *const texts[SETTING_COUNT] = {
        [SETTING_QUORUM_CONFIG] = settings->quorum_config,
        [SETTING_TLS_CERT] = settings->tls_cert,
        [SETTING_TLS_KEY] = settings->tls_key,
        [SETTING_TLS_CLIENT_CA] = settings->tls_client_ca,
        [SETTING_TLS_CLIENT_CRL] = settings->tls_client_crl,
        [SETTING_TOKENS] = settings->tokens,
        [SETTING_AUDIT] = settings->audit,
    };

    settings->line[key] = settings->reading;
    if (texts[key])
        return value_text(texts[key], keys[key], value, why, why_size);
    switch (key) {
    case SETTING_LISTEN:
        return add_listener(settings, value, why, why_size);
    case SETTING_HOST:
        return add_host(settings, value, why, why_size);
    case SETTING_ALLOW:
        return add_rule(settings, value, why, why_size);
    case SETTING_CLASS:
        return add_class(settings, value, why, why_size);
    case SETTING_NAMES:
        return set_names(settings, value, why, why_size);
    case SETTING_INSECURE:
        return value_yes(&settings->insecure, keys[key], value, why, why_size);
    case SETTING_DRIFT_PPM:
        return value_number(&settings->drift_ppm, keys[key], value, 0, DRIFT_MAX_PPM, why,
                            why_size);
    case SETTING_CONNECTIONS:
        return value_number(&settings->connections, keys[key], value, 1, CONNECTIONS_MAX, why,
                            why_size);
    default:
        return set_drain(settings, value, why, why_size);
    }
}

void settings_locate(const struct settings *settings, unsigned line, char *why, size_t why_size)
{
    char sentence[SETTINGS_WHY_MAX];

    if (line == 0 || !settings->config[0])
        return;
    snprintf(sentence, sizeof sentence, "%s", why);
    snprintf(why, why_size, "%s:%u: %.*s", settings->config, line, SETTINGS_TEXT_MAX, sentence);
}

/* ---- what HUP does not change ------------------------------------------------------------ */

static bool has_same_listeners(const struct settings *a, const struct settings *b)
{
    bool same = a->listener_count == b->listener_count;

    for (unsigned i = 0; same && i < a->listener_count; i++) {
        const struct settings_listener *one = &a->listeners[i], *other = &b->listeners[i];

        same = strcmp(one->address, other->address) == 0 && one->tls == other->tls &&
               one->cert_optional == other->cert_optional && one->is_proxy == other->is_proxy &&
               one->mode == other->mode && strcmp(one->group, other->group) == 0;
    }
    return same;
}

static bool has_same_hosts(const struct settings *a, const struct settings *b)
{
    bool same = a->host_count == b->host_count;

    for (unsigned i = 0; same && i < a->host_count; i++)
        same = strcmp(a->hosts[i], b->hosts[i]) == 0;
    return same;
}

void settings_keep_fixed(const struct settings *running, struct settings *fresh,
                         void (*differs)(const char *key))
{
    const bool same[SETTING_TLS_CERT] = {
        [SETTING_LISTEN] = has_same_listeners(running, fresh),
        [SETTING_HOST] = has_same_hosts(running, fresh),
        [SETTING_QUORUM_CONFIG] = strcmp(running->quorum_config, fresh->quorum_config) == 0,
        [SETTING_NAMES] = running->utf8_names == fresh->utf8_names,
        [SETTING_INSECURE] = running->insecure == fresh->insecure,
        [SETTING_DRIFT_PPM] = running->drift_ppm == fresh->drift_ppm,
        [SETTING_CONNECTIONS] = running->connections == fresh->connections,
    };

    for (int key = 0; key < SETTING_TLS_CERT; key++)
        if (!same[key])
            differs(keys[key]);
    memcpy(fresh->listeners, running->listeners, sizeof fresh->listeners);
    fresh->listener_count = running->listener_count;
    memcpy(fresh->hosts, running->hosts, sizeof fresh->hosts);
    fresh->host_count = running->host_count;
    strcpy(fresh->quorum_config, running->quorum_config);
    fresh->utf8_names = running->utf8_names;
    fresh->insecure = running->insecure;
    fresh->drift_ppm = running->drift_ppm;
    fresh->connections = running->connections;
}

/* ---- the command line -------------------------------------------------------------------- */

/* 1: an option without a value; 0: the next argument is its value; -1. */
static int read_word(struct settings *settings, const char *word, int *key)
{
    *key = strncmp(word, "--", 2) == 0 ? settings_key_of(word + 2) : -1;
    if (*key >= 0)
        return 0;
    if (strcmp(word, "--config") == 0) {
        *key = SETTING_COUNT;
        return 0;
    }
    if (strcmp(word, "--check") == 0)
        settings->check = true;
    else if (strcmp(word, "--ready") == 0)
        settings->ready = true;
    else if (strcmp(word, "--dev") == 0)
        settings->dev = true;
    else
        return -1;
    return 1;
}

static int refuse_option(const char *word, char *why, size_t why_size)
{
    const char *nearest = strncmp(word, "--", 2) == 0 ? settings_nearest_key(word + 2) : NULL;

    if (nearest)
        snprintf(why, why_size, "%.100s: there is no such option; did you mean --%s?", word,
                 nearest);
    else
        snprintf(why, why_size, "%.100s: there is no such option; try --help", word);
    return SETTINGS_USAGE;
}

static bool is_for_people(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return true;
        }
        if (strcmp(argv[i], "--version") == 0) {
            printf("redlockd %s\n", redlock_version());
            return true;
        }
    }
    return false;
}

int settings_read(struct settings *settings, int argc, char **argv, char *why, size_t why_size)
{
    *settings = (struct settings){.drain_ns = DRAIN_DEFAULT_NS,
                                  .drift_ppm = DRIFT_DEFAULT_PPM,
                                  .argc = argc,
                                  .argv = argv};
    if (is_for_people(argc, argv))
        return 1;
    for (int i = 1; i < argc; i++) {
        int key;
        int result = read_word(settings, argv[i], &key);

        if (result == 1)
            continue;
        if (result < 0)
            return refuse_option(argv[i], why, why_size);
        if (i + 1 == argc) {
            snprintf(why, why_size, "%.100s: a value is missing; try --help", argv[i]);
            return SETTINGS_USAGE;
        }
        i++;
        if (key == SETTING_COUNT)
            result = value_text(settings->config, "config", argv[i], why, why_size);
        else
            result = settings_apply(settings, (enum settings_key)key, argv[i], why, why_size);
        if (result < 0)
            return SETTINGS_WRONG;
        if (key < SETTING_COUNT)
            settings->given |= 1u << key;
    }
    if (settings->config[0] && settings_file_read(settings, why, why_size) < 0)
        return SETTINGS_WRONG;
    return 0;
}
