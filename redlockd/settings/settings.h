/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the daemon is set to, from its command line and from its file, which has lines of `key
 * = value` (base/pairs.h) where a key is a long option without its dashes. A key that the
 * command line gives, the file does not change. Every value remembers its line, so that a
 * message about it can begin with `file:line:`.
 */
#ifndef REDLOCKD_SETTINGS_H
#define REDLOCKD_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SETTINGS_LISTENERS_MAX 16
#define SETTINGS_RULES_MAX 64
#define SETTINGS_CLASSES_MAX 100
#define SETTINGS_HOSTS_MAX 16
#define SETTINGS_TEXT_MAX 256
#define SETTINGS_GROUP_MAX 64
#define SETTINGS_WHY_MAX 512

enum settings_key {
    SETTING_LISTEN,
    SETTING_HOST,
    SETTING_TLS_CERT,
    SETTING_TLS_KEY,
    SETTING_TLS_CLIENT_CA,
    SETTING_TLS_CLIENT_CRL,
    SETTING_INSECURE,
    SETTING_QUORUM_CONFIG,
    SETTING_ALLOW,
    SETTING_TOKENS,
    SETTING_CLASS,
    SETTING_AUDIT,
    SETTING_NAMES,
    SETTING_DRIFT_PPM,
    SETTING_CONNECTIONS,
    SETTING_DRAIN,
    SETTING_COUNT
};

/* A value of a key that may be given more than once. */
struct settings_text {
    char text[SETTINGS_TEXT_MAX];
    unsigned line; /* 0: of the command line; also below */
};

/* What `listen` names: unix:/path [mode=0660] [group=NAME] [peer=proxy], ADDRESS:PORT, or
 * tls:ADDRESS:PORT [cert=optional]. */
struct settings_listener {
    char address[SETTINGS_TEXT_MAX]; /* without tls: */
    bool tls;
    bool cert_optional; /* tls: a client may show no certificate, also with tls-client-ca */
    bool is_proxy;      /* unix: what connects is a proxy, not the client */
    unsigned mode;      /* unix: of the socket's file */
    char group[SETTINGS_GROUP_MAX]; /* unix: its file's; empty: as the process has it */
};

/* Texts are empty where nothing is set. */
struct settings {
    struct settings_text listen[SETTINGS_LISTENERS_MAX];
    struct settings_listener listeners[SETTINGS_LISTENERS_MAX]; /* the same, read */
    struct settings_text hosts[SETTINGS_HOSTS_MAX]; /* further names of the Host field */
    struct settings_text rules[SETTINGS_RULES_MAX];
    struct settings_text classes[SETTINGS_CLASSES_MAX];
    char tls_cert[SETTINGS_TEXT_MAX];
    char tls_key[SETTINGS_TEXT_MAX];
    char tls_client_ca[SETTINGS_TEXT_MAX];
    char tls_client_crl[SETTINGS_TEXT_MAX];
    char quorum_config[SETTINGS_TEXT_MAX]; /* empty: as the command finds it */
    char tokens[SETTINGS_TEXT_MAX];        /* file of digests */
    char audit[SETTINGS_TEXT_MAX];         /* a path, or stderr */
    unsigned drift_ppm;            /* how much slower than ours the clock of a client may be */
    unsigned connections;          /* 0: the default of the HTTP layer */
    unsigned drain_s;              /* how long TERM lets requests finish */
    bool insecure;                 /* plain TCP beyond loopback */
    bool utf8_names;               /* names of locks beyond ASCII */
    unsigned count[SETTING_COUNT]; /* how often each key was given */
    unsigned line[SETTING_COUNT];  /* where it was given last */

    char config[SETTINGS_TEXT_MAX]; /* the file */
    bool check;                     /* look at the settings and end */
    bool ready;                     /* query the daemon that runs with them: life/ready.h */
    bool dev;                       /* with servers of its own: life/dev.h */
    int argc;                       /* of the process: HUP reads them again */
    char **argv;
};

#define SETTINGS_WRONG (-2) /* a value is wrong, or the file: no restart helps */
#define SETTINGS_USAGE (-3) /* there is no such option, or its value is missing */

/*
 * Reads the command line and then, if --config names one, the file. 0; 1 if the process should
 * end with status 0 now (--help and --version have been printed); SETTINGS_USAGE or
 * SETTINGS_WRONG with a sentence.
 */
int settings_read(struct settings *settings, int argc, char **argv, char *why, size_t why_size);

/* One value, of that line. 0, or -1 with a sentence in why. */
int settings_apply(struct settings *settings, enum settings_key key, const char *value,
                   unsigned line, char *why, size_t why_size);

const char *settings_key_name(enum settings_key key);
/* All of them, and NULL. */
const char *const *settings_key_names(void);
/* The key of this name; -1: there is none. */
int settings_key_of(const char *name);
/* May it be given more than once? */
bool settings_is_list(enum settings_key key);

/* Puts `file:line: ` in front of a sentence about a value of that line, unless it is of
 * the command line. */
void settings_locate(const struct settings *settings, unsigned line, char *why,
                     size_t why_size);

/*
 * After a second settings_read() into `fresh`, for HUP: what may not change while the daemon
 * runs becomes what it was, and `differs` is called with the name of each such key that is
 * another.
 */
void settings_keep_fixed(const struct settings *running, struct settings *fresh,
                         void (*differs)(const char *name));

#endif
