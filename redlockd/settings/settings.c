/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/time.h"
#include "redlock.h"

#define FILE_MAX_BYTES 65536
#define DRAIN_DEFAULT_NS (10 * RL_NS_PER_S)
#define DRAIN_MAX_S 3600
#define CONNECTIONS_MAX 1000000
#define DRIFT_DEFAULT_PPM 10000
#define DRIFT_MAX_PPM 500000

static const char usage[] =
    "usage: redlockd --listen ADDRESS... [--option VALUE...]\n"
    "       redlockd --config FILE [--check]\n"
    "       redlockd --dev\n"
    "\n"
    "Gives the locks of the nodes that redlock.conf names to programs in any language, over HTTP.\n"
    "\n"
    "  --listen ADDRESS       unix:/path, ADDRESS:PORT (loopback), or tls:ADDRESS:PORT;\n"
    "                         several times for several\n"
    "  --tls-cert FILE        certificate and its chain, PEM\n"
    "  --tls-key FILE         its key, PEM; left out: in the file of the certificate\n"
    "  --tls-client-ca FILE   clients must show a certificate of this authority\n"
    "  --insecure yes         plain TCP on other addresses than loopback, too\n"
    "  --quorum-config FILE   the nodes, as redlock.conf; left out: as the command finds them\n"
    "  --allow RULE           PRINCIPAL NAME RIGHTS: uid:NUMBER or token:NAME; a name, a prefix that\n"
    "                         ends in a slash, or *; acquire,read,break,admin. The first that fits\n"
    "                         decides. Without any: this user on a unix socket may do everything\n"
    "  --tokens FILE          lines of NAME and the SHA-256 of its bearer token in hex\n"
    "  --drift-ppm N          how much slower than ours a client's clock may be (10000)\n"
    "  --connections N        at most so many at a time (16384)\n"
    "  --drain SECONDS        on TERM, let requests finish for so long (10)\n"
    "  --config FILE          lines of `listen = ADDRESS` and so on\n"
    "  --check                look at the settings, say what is wrong with them, and end\n"
    "  --dev                  start servers of its own and print what to try: a socket, a port\n"
    "  --version, --help\n"
    "\n"
    "Sockets of systemd (LISTEN_FDS) are served as well. TERM ends it, HUP reads the TLS files\n"
    "again.\n";

/* ---- values ------------------------------------------------------------------------------ */

static int complain(char *why, size_t why_size, const char *key, const char *what)
{
    snprintf(why, why_size, "%s: %s", key, what);
    return -1;
}

/* The whole text is a number of at most `most`; -1 otherwise. */
static long long number_of(const char *text, long long most)
{
    char *end;
    long long number;

    if (text[0] < '0' || text[0] > '9')
        return -1;
    errno = 0;
    number = strtoll(text, &end, 10);
    return *end == '\0' && errno == 0 && number <= most ? number : -1;
}

static int set_text(char *out, const char *key, const char *value, char *why, size_t why_size)
{
    if (value[0] == '\0' || strlen(value) >= SETTINGS_TEXT_MAX)
        return complain(why, why_size, key, "needs a value of at most 255 bytes");
    strcpy(out, value);
    return 0;
}

static int set_listen(struct settings *settings, const char *value, char *why, size_t why_size)
{
    struct settings_listener *listener = &settings->listeners[settings->listener_count];

    if (settings->listener_count == SETTINGS_LISTENERS_MAX)
        return complain(why, why_size, "listen", "at most 16 addresses");
    listener->tls = strncmp(value, "tls:", 4) == 0;
    if (set_text(listener->address, "listen", value + (listener->tls ? 4 : 0), why, why_size) <
        0)
        return -1;
    settings->listener_count++;
    return 0;
}

static int set_allow(struct settings *settings, const char *value, char *why, size_t why_size)
{
    if (settings->allow_count == SETTINGS_RULES_MAX)
        return complain(why, why_size, "allow", "at most 64 rules");
    return set_text(settings->allow[settings->allow_count++], "allow", value, why, why_size);
}

static int set_yes(bool *out, const char *key, const char *value, char *why, size_t why_size)
{
    if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
        return complain(why, why_size, key, "is yes or no");
    *out = value[0] == 'y';
    return 0;
}

static int set_numbers(struct settings *settings, bool is_drain, const char *value, char *why,
                       size_t why_size)
{
    long long number = number_of(value, is_drain ? DRAIN_MAX_S : CONNECTIONS_MAX);

    if (is_drain && number >= 0) {
        settings->drain_ns = number * RL_NS_PER_S;
        return 0;
    }
    if (!is_drain && number > 0) {
        settings->connections = (unsigned)number;
        return 0;
    }
    return complain(why, why_size, is_drain ? "drain" : "connections",
                    is_drain ? "is a number of seconds up to 3600"
                             : "is a number from 1 to 1000000");
}

static int set_drift(struct settings *settings, const char *value, char *why, size_t why_size)
{
    long long number = number_of(value, DRIFT_MAX_PPM);

    if (number < 0)
        return complain(why, why_size, "drift-ppm", "is a number up to 500000");
    settings->drift_ppm = (unsigned)number;
    return 0;
}

/* ---- keys -------------------------------------------------------------------------------- */

enum key {
    LISTEN,
    TLS_CERT,
    TLS_KEY,
    TLS_CLIENT_CA,
    QUORUM_CONFIG,
    TOKENS,
    ALLOW,
    INSECURE,
    DRIFT_PPM,
    CONNECTIONS,
    DRAIN,
    KEYS
};

static const char *const keys[KEYS] = {
    "listen", "tls-cert", "tls-key",   "tls-client-ca", "quorum-config", "tokens",
    "allow",  "insecure", "drift-ppm", "connections",   "drain"};

static int key_of(const char *name)
{
    for (int i = 0; i < KEYS; i++)
        if (strcmp(name, keys[i]) == 0)
            return i;
    return -1;
}

static int apply(struct settings *settings, int key, const char *value, char *why,
                 size_t why_size)
{
    switch (key) {
    case LISTEN:
        return set_listen(settings, value, why, why_size);
    case TLS_CERT:
        return set_text(settings->tls_cert, keys[key], value, why, why_size);
    case TLS_KEY:
        return set_text(settings->tls_key, keys[key], value, why, why_size);
    case TLS_CLIENT_CA:
        return set_text(settings->tls_client_ca, keys[key], value, why, why_size);
    case QUORUM_CONFIG:
        return set_text(settings->quorum_config, keys[key], value, why, why_size);
    case TOKENS:
        return set_text(settings->tokens, keys[key], value, why, why_size);
    case ALLOW:
        return set_allow(settings, value, why, why_size);
    case DRIFT_PPM:
        return set_drift(settings, value, why, why_size);
    case INSECURE:
        return set_yes(&settings->insecure, keys[key], value, why, why_size);
    default:
        return set_numbers(settings, key == DRAIN, value, why, why_size);
    }
}

/* ---- the file ---------------------------------------------------------------------------- */

static char *trim(char *text)
{
    char *end = text + strlen(text);

    while (end > text && strchr(" \t\r", end[-1]))
        *--end = '\0';
    return text + strspn(text, " \t");
}

static void cut_comment(char *line)
{
    for (char *at = line; *at; at++) {
        if (*at == '#' && (at == line || at[-1] == ' ' || at[-1] == '\t')) {
            *at = '\0';
            return;
        }
    }
}

/* Line is changed. */
static int read_line(struct settings *settings, char *line, char *why, size_t why_size)
{
    char *equals, *name;
    int key;

    cut_comment(line);
    line = trim(line);
    if (line[0] == '\0')
        return 0;
    equals = strchr(line, '=');
    if (!equals)
        return complain(why, why_size, line, "expected key = value");
    *equals = '\0';
    name = trim(line);
    key = key_of(name);
    if (key < 0)
        return complain(why, why_size, name, "there is no such key");
    if (settings->given & 1u << key)
        return 0;
    return apply(settings, key, trim(equals + 1), why, why_size);
}

int settings_read_text(struct settings *settings, const char *text, char *why, size_t why_size)
{
    unsigned number = 0;

    while (*text) {
        size_t length = strcspn(text, "\n");
        char line[1024], detail[SETTINGS_WHY_MAX / 2];

        number++;
        if (length >= sizeof line) {
            snprintf(why, why_size, "line %u: too long", number);
            return -1;
        }
        memcpy(line, text, length);
        line[length] = '\0';
        if (read_line(settings, line, detail, sizeof detail) < 0) {
            snprintf(why, why_size, "line %u: %s", number, detail);
            return -1;
        }
        text += length + (text[length] == '\n');
    }
    return 0;
}

static int read_file(struct settings *settings, char *why, size_t why_size)
{
    FILE *file = fopen(settings->config, "re");
    char *text = malloc(FILE_MAX_BYTES);
    char detail[SETTINGS_WHY_MAX / 2] = "cannot be read";
    int result = -1;
    size_t size;

    if (file && text) {
        size = fread(text, 1, FILE_MAX_BYTES, file);
        if (size == FILE_MAX_BYTES) {
            snprintf(detail, sizeof detail, "is larger than %d bytes", FILE_MAX_BYTES - 1);
        } else if (!ferror(file) && !memchr(text, '\0', size)) {
            text[size] = '\0';
            result = settings_read_text(settings, text, detail, sizeof detail);
        }
    }
    if (result < 0)
        snprintf(why, why_size, "%.200s: %s", settings->config, detail);
    if (file)
        fclose(file);
    free(text);
    return result;
}

/* ---- the command line -------------------------------------------------------------------- */

/* 1: an option without a value; 0: the next argument is its value; -1. */
static int read_word(struct settings *settings, const char *word, int *key)
{
    *key = strncmp(word, "--", 2) == 0 ? key_of(word + 2) : -1;
    if (*key >= 0)
        return 0;
    if (strcmp(word, "--config") == 0) {
        *key = KEYS;
        return 0;
    }
    if (strcmp(word, "--check") == 0)
        settings->check = true;
    else if (strcmp(word, "--dev") == 0)
        settings->dev = true;
    else
        return -1;
    return 1;
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
    *settings = (struct settings){.drain_ns = DRAIN_DEFAULT_NS, .drift_ppm = DRIFT_DEFAULT_PPM};
    if (is_for_people(argc, argv))
        return 1;
    for (int i = 1; i < argc; i++) {
        int key;
        int result = read_word(settings, argv[i], &key);

        if (result == 1)
            continue;
        if (result < 0 || i + 1 == argc) {
            snprintf(why, why_size, "%.100s: %s; try --help", argv[i],
                     result < 0 ? "there is no such option" : "a value is missing");
            return -1;
        }
        i++;
        if (key == KEYS)
            result = set_text(settings->config, "config", argv[i], why, why_size);
        else
            result = apply(settings, key, argv[i], why, why_size);
        if (result < 0)
            return -1;
        settings->given |= 1u << key;
    }
    return settings->config[0] ? read_file(settings, why, why_size) : 0;
}
