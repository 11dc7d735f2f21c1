/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/number.h"
#include "base/slice.h"
#include "redlock.h"
#include "settings/file.h"
#include "settings/listener.h"

#define DRAIN_DEFAULT_S 10
#define DRIFT_DEFAULT_PPM 10000
#define HELP_COLUMN 25

/* ---- the keys ---------------------------------------------------------------------------- */

/* A text; several; a number; one of two words, the second of which is true. */
enum form { TEXT, TEXTS, NUMBER, WORD };

struct key {
    const char *name;
    enum form form;
    bool can_change;      /* HUP takes it over */
    size_t at, size;      /* in struct settings */
    unsigned least, most; /* of a number; the second also: so many texts */
    const char *words[2];
    const char *argument, *help;
};

#define IN(member) offsetof(struct settings, member), sizeof(((struct settings *)0)->member)

static const struct key keys[SETTING_COUNT] = {
    [SETTING_LISTEN] = {"listen", TEXTS, false, IN(listen), 0, SETTINGS_LISTENERS_MAX,
                        .argument = "ADDRESS",
                        .help = "unix:/path [mode=0660] [group=NAME] [peer=proxy],\n"
                                "ADDRESS:PORT on loopback, or\n"
                                "tls:ADDRESS:PORT [cert=optional]; once for each"},
    [SETTING_HOST] = {"host", TEXTS, false, IN(hosts), 0, SETTINGS_HOSTS_MAX,
                      .argument = "NAME",
                      .help = "a name besides localhost that loopback ports answer to"},
    [SETTING_TLS_CERT] = {"tls-cert", TEXT, true, IN(tls_cert), .argument = "FILE",
                          .help = "certificate and its chain, PEM"},
    [SETTING_TLS_KEY] = {"tls-key", TEXT, true, IN(tls_key), .argument = "FILE",
                         .help = "its key, PEM; left out: in the file of the certificate"},
    [SETTING_TLS_CLIENT_CA] = {"tls-client-ca", TEXT, true, IN(tls_client_ca),
                               .argument = "FILE",
                               .help = "clients must show a certificate of this authority,\n"
                                       "except where it is optional"},
    [SETTING_TLS_CLIENT_CRL] = {"tls-client-crl", TEXT, true, IN(tls_client_crl),
                                .argument = "FILE",
                                .help = "which of these certificates are revoked"},
    [SETTING_INSECURE] = {"insecure", WORD, false, IN(insecure), .words = {"no", "yes"},
                          .argument = "yes",
                          .help = "plain TCP on other addresses than loopback, too"},
    [SETTING_QUORUM_CONFIG] = {"quorum-config", TEXT, false, IN(quorum_config),
                               .argument = "FILE",
                               .help = "the nodes; left out: as the redlock command finds "
                                       "them"},
    [SETTING_ALLOW] = {"allow", TEXTS, true, IN(rules), 0, SETTINGS_RULES_MAX,
                       .argument = "RULE",
                       .help = "PRINCIPAL NAME RIGHTS [CAP...]. The first that fits\n"
                               "decides; without any, this user on a unix socket may\n"
                               "do everything.\n"
                               "PRINCIPAL: uid:N, gid:N, cert:NAME or token:NAME\n"
                               "NAME: a name, a prefix that ends in a slash, or *\n"
                               "RIGHTS: one or more of acquire,read,break,admin\n"
                               "CAP: leases=N, waiters=N, ttl=TIME, requests=N"},
    [SETTING_TOKENS] = {"tokens", TEXT, true, IN(tokens), .argument = "FILE",
                        .help = "lines of NAME and the SHA-256 of its token in hex"},
    [SETTING_CLASS] = {"class", TEXTS, true, IN(classes), 0, SETTINGS_CLASSES_MAX,
                       .argument = "PATTERN",
                       .help = "counts what happens to the locks of a class of\n"
                               "names, like jobs/*/nightly; once for each"},
    [SETTING_AUDIT] = {"audit", TEXT, true, IN(audit), .argument = "FILE",
                       .help = "a line of JSON per grant, release, loss, denial, ..."},
    [SETTING_NAMES] = {"names", WORD, false, IN(utf8_names), .words = {"ascii", "utf8"},
                       .argument = "utf8", .help = "names of locks beyond ASCII"},
    [SETTING_DRIFT_PPM] = {"drift-ppm", NUMBER, false, IN(drift_ppm), 0, 500000,
                           .argument = "N",
                           .help = "how much slower a client's clock may be (10000)"},
    [SETTING_CONNECTIONS] = {"connections", NUMBER, false, IN(connections), 1, 1000000,
                             .argument = "N", .help = "at most so many at a time (16384)"},
    [SETTING_DRAIN] = {"drain", NUMBER, true, IN(drain_s), 0, 3600, .argument = "SECONDS",
                       .help = "on TERM, let requests finish for so long (10)"},
};

int settings_key_of(const char *name)
{
    for (int i = 0; i < SETTING_COUNT; i++)
        if (strcmp(name, keys[i].name) == 0)
            return i;
    return -1;
}

const char *settings_key_name(enum settings_key key)
{
    return keys[key].name;
}

bool settings_is_list(enum settings_key key)
{
    return keys[key].form == TEXTS;
}

const char *const *settings_key_names(void)
{
    static const char *names[SETTING_COUNT + 1];

    for (int i = 0; i < SETTING_COUNT; i++)
        names[i] = keys[i].name;
    return names;
}

/* ---- values ------------------------------------------------------------------------------ */

static int set_text(char out[SETTINGS_TEXT_MAX], const char *name, const char *value, char *why,
                    size_t why_size)
{
    if (value[0] == '\0' || strlen(value) >= SETTINGS_TEXT_MAX) {
        snprintf(why, why_size, "%s: needs a value of at most %d bytes", name,
                 SETTINGS_TEXT_MAX - 1);
        return -1;
    }
    strcpy(out, value);
    return 0;
}

static int add_text(struct settings_text *list, unsigned count, const struct key *key,
                    const char *value, unsigned line, char *why, size_t why_size)
{
    if (count == key->most) {
        snprintf(why, why_size, "%s: at most %u of them", key->name, key->most);
        return -1;
    }
    list[count].line = line;
    return set_text(list[count].text, key->name, value, why, why_size);
}

static int set_number(unsigned *out, const struct key *key, const char *value, char *why,
                      size_t why_size)
{
    int64_t number = rl_number_read(rl_slice_of(value), key->most);

    if (number < key->least) {
        snprintf(why, why_size, "%s: is a number from %u to %u", key->name, key->least,
                 key->most);
        return -1;
    }
    *out = (unsigned)number;
    return 0;
}

static int set_word(bool *out, const struct key *key, const char *value, char *why,
                    size_t why_size)
{
    *out = strcmp(value, key->words[1]) == 0;
    if (*out || strcmp(value, key->words[0]) == 0)
        return 0;
    snprintf(why, why_size, "%s: is %s or %s", key->name, key->words[1], key->words[0]);
    return -1;
}

int settings_apply(struct settings *settings, enum settings_key number, const char *value,
                   unsigned line, char *why, size_t why_size)
{
    const struct key *key = &keys[number];
    void *at = (char *)settings + key->at;
    unsigned count = settings->count[number];
    int result;

    if (key->form == TEXT)
        result = set_text(at, key->name, value, why, why_size);
    else if (key->form == TEXTS)
        result = add_text(at, count, key, value, line, why, why_size);
    else if (key->form == NUMBER)
        result = set_number(at, key, value, why, why_size);
    else
        result = set_word(at, key, value, why, why_size);
    if (result == 0 && number == SETTING_LISTEN)
        result = settings_listener_read(&settings->listeners[count], value, why, why_size);
    if (result < 0)
        return -1;
    settings->line[number] = line;
    settings->count[number]++;
    return 0;
}

void settings_locate(const struct settings *settings, unsigned line, char *why, size_t why_size)
{
    char sentence[SETTINGS_WHY_MAX];

    if (line == 0 || !settings->config[0])
        return;
    snprintf(sentence, sizeof sentence, "%s", why);
    snprintf(why, why_size, "%s:%u: %.*s", settings->config, line, SETTINGS_TEXT_MAX, sentence);
}

/* ---- HUP --------------------------------------------------------------------------------- */

static bool is_same(const struct settings *a, const struct settings *b,
                    enum settings_key number)
{
    const struct key *key = &keys[number];
    const char *one = (const char *)a + key->at, *other = (const char *)b + key->at;
    bool same = key->form != TEXTS || a->count[number] == b->count[number];

    if (key->form == TEXT)
        return strcmp(one, other) == 0;
    if (key->form != TEXTS)
        return memcmp(one, other, key->size) == 0;
    for (unsigned i = 0; same && i < a->count[number]; i++)
        same = strcmp(((const struct settings_text *)one)[i].text,
                      ((const struct settings_text *)other)[i].text) == 0;
    return same;
}

void settings_keep_fixed(const struct settings *running, struct settings *fresh,
                         void (*differs)(const char *name))
{
    for (enum settings_key key = 0; key < SETTING_COUNT; key++) {
        if (keys[key].can_change)
            continue;
        if (!is_same(running, fresh, key))
            differs(keys[key].name);
        memcpy((char *)fresh + keys[key].at, (const char *)running + keys[key].at,
               keys[key].size);
        fresh->count[key] = running->count[key];
    }
    memcpy(fresh->listeners, running->listeners, sizeof fresh->listeners);
}

/* ---- the command line -------------------------------------------------------------------- */

static const char usage[] =
    "usage: redlockd --listen ADDRESS... [--option VALUE...]\n"
    "       redlockd --config FILE [--check]\n"
    "       redlockd --ready [--listen ADDRESS|--config FILE]\n"
    "       redlockd --dev\n"
    "       redlockd token NAME\n"
    "\n"
    "Gives the locks of the nodes that redlock.conf names to programs in any\n"
    "language, over HTTP.\n"
    "\n";

static const char usage_end[] =
    "  --config FILE          lines of `listen = ADDRESS` and so on\n"
    "  --check                look at the settings, print what is wrong, and end\n"
    "  --ready                is the daemon of these settings ready? 0: yes.\n"
    "                         Without any, as in a container, that of process 1\n"
    "  --dev                  start servers of its own, and print what to try\n"
    "  --version, --help\n"
    "  token NAME             print a new token, and its line for the file of tokens\n"
    "\n"
    "Sockets of systemd (LISTEN_FDS) are served as well. TERM ends it, HUP reads\n"
    "rules, tokens and TLS files again. redlockd.conf(5) explains all of it.\n";

static void print_usage(void)
{
    fputs(usage, stdout);
    for (const struct key *key = keys; key < keys + SETTING_COUNT; key++) {
        int column = printf("  --%s %s", key->name, key->argument);

        for (const char *line = key->help; *line; column = 0) {
            size_t length = strcspn(line, "\n");

            printf("%*s%.*s\n", HELP_COLUMN - column, "", (int)length, line);
            line += length + (line[length] == '\n');
        }
    }
    fputs(usage_end, stdout);
}

static bool is_for_people(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            print_usage();
            return true;
        }
        if (strcmp(argv[i], "--version") == 0) {
            printf("redlockd %s\n", redlock_version());
            return true;
        }
    }
    return false;
}

static bool *switch_of(struct settings *settings, const char *word)
{
    if (strcmp(word, "--check") == 0)
        return &settings->check;
    if (strcmp(word, "--ready") == 0)
        return &settings->ready;
    return strcmp(word, "--dev") == 0 ? &settings->dev : NULL;
}

static int refuse_option(const char *word, char *why, size_t why_size)
{
    const char *nearest = strncmp(word, "--", 2) == 0
                              ? rl_nearest(rl_slice_of(word + 2), settings_key_names())
                              : NULL;

    if (nearest)
        snprintf(why, why_size, "%.100s: there is no such option; did you mean --%s?", word,
                 nearest);
    else
        snprintf(why, why_size, "%.100s: there is no such option; try --help", word);
    return SETTINGS_USAGE;
}

/* 0, or what settings_read() returns. */
static int read_option(struct settings *settings, const char *word, const char *value,
                       char *why, size_t why_size)
{
    int key = strncmp(word, "--", 2) == 0 ? settings_key_of(word + 2) : -1;
    bool is_config = strcmp(word, "--config") == 0;
    int result;

    if (key < 0 && !is_config)
        return refuse_option(word, why, why_size);
    if (!value) {
        snprintf(why, why_size, "%.100s: a value is missing; try --help", word);
        return SETTINGS_USAGE;
    }
    result = is_config
                 ? set_text(settings->config, "config", value, why, why_size)
                 : settings_apply(settings, (enum settings_key)key, value, 0, why, why_size);
    return result < 0 ? SETTINGS_WRONG : 0;
}

int settings_read(struct settings *settings, int argc, char **argv, char *why, size_t why_size)
{
    *settings = (struct settings){
        .drain_s = DRAIN_DEFAULT_S, .drift_ppm = DRIFT_DEFAULT_PPM, .argc = argc, .argv = argv};
    if (is_for_people(argc, argv))
        return 1;
    for (int i = 1; i < argc; i++) {
        bool *is_on = switch_of(settings, argv[i]);
        int result;

        if (is_on) {
            *is_on = true;
            continue;
        }
        result = read_option(settings, argv[i], argv[i + 1], why, why_size);
        if (result < 0)
            return result;
        i++;
    }
    if (settings->config[0] && settings_file_read(settings, why, why_size) < 0)
        return SETTINGS_WRONG;
    return 0;
}
