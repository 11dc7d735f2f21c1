/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the daemon is set to, from its command line and from its file. The file has the syntax
 * of the command's: lines of `key = value`, where a key is a long option without its dashes; a
 * # at the start of a line or after a blank begins a comment. What the command line says about
 * a key, the file does not change. Every value remembers its line, so that what is found wrong
 * with it later can be told with `file:line:` in front.
 */
#ifndef REDLOCKD_SETTINGS_H
#define REDLOCKD_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SETTINGS_LISTENERS_MAX 16
#define SETTINGS_RULES_MAX 64
#define SETTINGS_CLASSES_MAX 100
#define SETTINGS_CLASS_MAX 65 /* with its end */
#define SETTINGS_HOSTS_MAX 16
#define SETTINGS_TEXT_MAX 256
#define SETTINGS_GROUP_MAX 64
#define SETTINGS_WHY_MAX 512

/* NAME, key. Those that are read again by HUP come last, from TLS_CERT on. */
#define SETTINGS_KEYS(X)                                                                       \
    X(LISTEN, "listen")                                                                        \
    X(HOST, "host")                                                                            \
    X(QUORUM_CONFIG, "quorum-config")                                                          \
    X(NAMES, "names")                                                                          \
    X(INSECURE, "insecure")                                                                    \
    X(DRIFT_PPM, "drift-ppm")                                                                  \
    X(CONNECTIONS, "connections")                                                              \
    X(TLS_CERT, "tls-cert")                                                                    \
    X(TLS_KEY, "tls-key")                                                                      \
    X(TLS_CLIENT_CA, "tls-client-ca")                                                          \
    X(TLS_CLIENT_CRL, "tls-client-crl")                                                        \
    X(TOKENS, "tokens")                                                                        \
    X(ALLOW, "allow")                                                                          \
    X(CLASS, "class")                                                                          \
    X(AUDIT, "audit")                                                                          \
    X(DRAIN, "drain")

enum settings_key {
#define X(name, key) SETTING_##name,
    SETTINGS_KEYS(X)
#undef X
        SETTING_COUNT
};

/* One address: unix:/path [mode=0660] [group=NAME] [peer=proxy], ADDRESS:PORT, or
 * tls:ADDRESS:PORT [cert=optional]. */
struct settings_listener {
    char address[SETTINGS_TEXT_MAX]; /* without tls: */
    bool tls;
    bool cert_optional; /* tls: a client may show no certificate, also with tls-client-ca */
    bool is_proxy;      /* unix: what connects is a proxy, not the client */
    unsigned mode;      /* unix: of the socket's file */
    char group
        [SETTINGS_GROUP_MAX]; /* unix: of the socket's file; empty: as the process has it */
    unsigned line;            /* 0: of the command line; also below */
};

struct settings_rule {
    char text[SETTINGS_TEXT_MAX];
    unsigned line;
};

struct settings_class {
    char pattern[SETTINGS_CLASS_MAX];
    unsigned line;
};

struct settings {
    struct settings_listener listeners[SETTINGS_LISTENERS_MAX];
    unsigned listener_count;
    char hosts[SETTINGS_HOSTS_MAX][SETTINGS_TEXT_MAX]; /* further names of the Host field */
    unsigned host_count;
    char tls_cert[SETTINGS_TEXT_MAX]; /* empty: none; also below */
    char tls_key[SETTINGS_TEXT_MAX];
    char tls_client_ca[SETTINGS_TEXT_MAX];
    char tls_client_crl[SETTINGS_TEXT_MAX];
    char config[SETTINGS_TEXT_MAX];
    char quorum_config
        [SETTINGS_TEXT_MAX];        /* the library's file; empty: as the command finds it */
    char tokens[SETTINGS_TEXT_MAX]; /* file of digests; empty: none */
    char audit[SETTINGS_TEXT_MAX];  /* a path, or stderr; empty: none */
    struct settings_rule rules[SETTINGS_RULES_MAX];
    unsigned rule_count;
    struct settings_class classes[SETTINGS_CLASSES_MAX];
    unsigned class_count;
    unsigned drift_ppm;   /* how much slower than ours the clock of a client may be */
    unsigned connections; /* 0: the default of the HTTP layer */
    int64_t drain_ns;     /* how long TERM lets requests finish */
    bool insecure;        /* plain TCP beyond loopback */
    bool utf8_names;      /* names of locks beyond ASCII */
    bool check;           /* look at the settings and end */
    bool ready;           /* ask the daemon that runs with them: life/ready.h */
    bool dev;             /* with servers of its own: life/dev.h */
    int argc;             /* of the process: HUP reads them again */
    char **argv;
    uint32_t given;               /* a bit per key that the command line has set */
    unsigned line[SETTING_COUNT]; /* where each was set last */
    unsigned reading;             /* the line that is being read */
};

#define SETTINGS_WRONG (-2) /* a value is wrong, or the file: no restart helps */
#define SETTINGS_USAGE (-3) /* there is no such option, or its value is missing */

/*
 * Reads the command line and then, if --config names one, the file. 0; 1 if the process should
 * end with status 0 now (--help and --version have been printed); SETTINGS_USAGE or
 * SETTINGS_WRONG with a sentence.
 */
int settings_read(struct settings *settings, int argc, char **argv, char *why, size_t why_size);

/* One value. 0, or -1 with a sentence in why. */
int settings_apply(struct settings *settings, enum settings_key key, const char *value,
                   char *why, size_t why_size);

/* The key of this name; -1: there is none. */
int settings_key_of(const char *name);
/* What a name that is no key was probably meant to be; NULL: nothing is near. */
const char *settings_nearest_key(const char *name);
const char *settings_key_name(enum settings_key key);

/* Puts `file:line: ` in front of a sentence about a value of that line, unless it is of
 * the command line. */
void settings_locate(const struct settings *settings, unsigned line, char *why,
                     size_t why_size);

/*
 * After a second settings_read() into `fresh`, for HUP: takes over what may change while the
 * daemon runs. The rest of `fresh` becomes what it was; `differs` is called with the name of
 * each such key.
 */
void settings_keep_fixed(const struct settings *running, struct settings *fresh,
                         void (*differs)(const char *key));

#endif
