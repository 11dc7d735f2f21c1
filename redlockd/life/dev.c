/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/dev.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/tokens.h"
#include "system/signals.h"

#define SECRET_BYTES 16
#define HEX_SIZE(bytes) (2 * (bytes) + 1)
#define SOCKET_NAME "redlockd-dev.sock"
#define ALL_RIGHTS "* acquire,read,break,admin"

/* 0, or -1: there is no randomness. */
static int make_secret(char out[HEX_SIZE(SECRET_BYTES)])
{
    unsigned char bytes[SECRET_BYTES];

    if (RAND_bytes(bytes, sizeof bytes) != 1)
        return -1;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

/* ---- the servers ------------------------------------------------------------------------- */

/* The command of the same build or installation, or else what PATH finds. */
static void find_command(const char *self, char *out, size_t size)
{
    const char *slash = strrchr(self, '/');

    if (slash) {
        snprintf(out, size, "%.*s/redlock", (int)(slash - self), self);
        if (access(out, X_OK) == 0)
            return;
    }
    snprintf(out, size, "redlock");
}

/* Returns only if it fails. */
static int become_dev(char **argv, char *why, size_t why_size)
{
    char self[DEV_PATH_MAX], command[DEV_PATH_MAX + 16];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    size_t count = 0;
    char **words;

    while (argv[count])
        count++;
    words = calloc(count + 4, sizeof *words);
    if (!words || length <= 0) {
        snprintf(why, why_size, "--dev: %s", strerror(errno));
        free(words);
        return -1;
    }
    self[length] = '\0';
    find_command(self, command, sizeof command);
    /* execvp() does not change its arguments; the casts are for its old-fashioned type. */
    words[0] = (char *)"redlock";
    words[1] = (char *)"dev";
    words[2] = (char *)"--";
    words[3] = self;
    memcpy(words + 4, argv + 1, (count - 1) * sizeof *words);
    signals_let_go();
    execvp(command, words);
    snprintf(why, why_size, "--dev needs the command redlock, which starts the servers: %s",
             strerror(errno));
    free(words);
    return -1;
}

/* ---- its files --------------------------------------------------------------------------- */

static bool is_private_directory(const char *path)
{
    struct stat info;

    return path && path[0] == '/' && stat(path, &info) == 0 && S_ISDIR(info.st_mode) &&
           info.st_uid == geteuid() && !(info.st_mode & (S_IWGRP | S_IWOTH));
}

/* Where sockets of this user belong, or else beside the logs of the servers. */
static const char *runtime_directory(const char *fallback, char *room, size_t size)
{
    const char *named = getenv("XDG_RUNTIME_DIR");

    if (is_private_directory(named))
        return named;
    snprintf(room, size, "/run/user/%lu", (unsigned long)geteuid());
    if (is_private_directory(room))
        return room;
    if (is_private_directory("/run") && access("/run", W_OK) == 0)
        return "/run";
    return fallback;
}

/* Makes a file that is not there; *is_made: it is ours to remove, written or not. */
static int write_file(const char *path, const char *text, bool *is_made)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    ssize_t size = (ssize_t)strlen(text);
    bool is_written = fd >= 0 && write(fd, text, (size_t)size) == size;

    *is_made = fd >= 0;
    if (fd >= 0 && close(fd) != 0)
        is_written = false;
    return is_written ? 0 : -1;
}

static int make_token(struct dev *dev)
{
    char token[ACCESS_SECRET_SIZE + 1], line[ACCESS_TOKEN_LINE_MAX + 1], text[256];

    if (access_token_make("dev", token, line) < 0)
        return -1;
    snprintf(text, sizeof text, "%s\n", token);
    if (write_file(dev->token, text, &dev->has_token) < 0)
        return -1;
    snprintf(text, sizeof text, "Authorization: Bearer %s\n", token);
    if (write_file(dev->header, text, &dev->has_header) < 0)
        return -1;
    snprintf(text, sizeof text, "%s\n", line);
    return write_file(dev->digests, text, &dev->has_digests);
}

/* ---- settings ---------------------------------------------------------------------------- */

static bool fits(char *out, size_t size, const char *directory, const char *name)
{
    return (size_t)snprintf(out, size, "%s/%s", directory, name) < size;
}

static int choose_paths(struct dev *dev, const char *directory)
{
    char room[64], socket[SETTINGS_TEXT_MAX];

    if (!fits(socket, sizeof socket, runtime_directory(directory, room, sizeof room),
              SOCKET_NAME) ||
        !fits(dev->token, sizeof dev->token, directory, "redlockd.token") ||
        !fits(dev->header, sizeof dev->header, directory, "redlockd.header") ||
        !fits(dev->digests, sizeof dev->digests, directory, "redlockd.tokens"))
        return -1;
    strcpy(dev->socket, socket);
    return 0;
}

int dev_begin(struct dev *dev, struct settings *settings, char **argv, char *why,
              size_t why_size)
{
    const char *directory = getenv("REDLOCK_DEV");
    char socket[SETTINGS_TEXT_MAX + sizeof "unix:"], user[64];
    /* Behind what the command line gives, which is more particular. */
    const struct {
        enum settings_key key;
        const char *value;
    } added[] = {
        {SETTING_LISTEN, socket},
        {SETTING_LISTEN, "127.0.0.1:0"},
        {SETTING_TOKENS, dev->digests},
        {SETTING_ALLOW, user},
        {SETTING_ALLOW, "token:dev " ALL_RIGHTS},
    };

    *dev = (struct dev){0};
    if (settings->config[0] || settings->quorum_config[0] || settings->tokens[0]) {
        snprintf(why, why_size,
                 "--dev has nodes and a token of its own: leave out --config, --quorum-config "
                 "and --tokens");
        return -1;
    }
    if (!directory || !directory[0])
        return become_dev(argv, why, why_size);
    if (choose_paths(dev, directory) < 0 || make_token(dev) < 0) {
        if (errno == EEXIST)
            snprintf(why, why_size,
                     "--dev: there are token files in %.200s already: another redlockd --dev "
                     "uses these servers; end it first, or remove redlockd.* there",
                     directory);
        else
            snprintf(why, why_size, "--dev: cannot write to %.200s: %s", directory,
                     strerror(errno));
        return -1;
    }
    snprintf(socket, sizeof socket, "unix:%s", dev->socket);
    snprintf(user, sizeof user, "uid:%lu " ALL_RIGHTS, (unsigned long)geteuid());
    for (size_t i = 0; i < sizeof added / sizeof *added; i++)
        if (settings_apply(settings, added[i].key, added[i].value, 0, why, why_size) < 0)
            return -1;
    return 0;
}

void dev_end(const struct dev *dev)
{
    if (dev->has_token)
        unlink(dev->token);
    if (dev->has_header)
        unlink(dev->header);
    if (dev->has_digests)
        unlink(dev->digests);
    if (dev->is_listening)
        unlink(dev->socket);
}

/* ---- what to try ------------------------------------------------------------------------- */

/* As one word of a shell. */
static void print_word(const char *before, const char *text)
{
    printf("%s'", before);
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text);
    }
    putchar('\'');
}

static void print_try(const struct dev *dev, const char *what, const char *lease,
                      const char *rest)
{
    printf("\n# %s\n", what);
    print_word("curl --unix-socket ", dev->socket);
    printf(" http://localhost/v1/locks/demo");
    if (lease)
        printf(" -H 'Lease-Id: %s'", lease);
    printf("%s\n", rest);
}

void dev_announce(struct dev *dev, const char *address)
{
    char lease[HEX_SIZE(SECRET_BYTES)];

    dev->is_listening = true;
    if (make_secret(lease) < 0)
        return;
    printf("# redlockd with servers of its own. Ctrl-C ends it and them.\n");
    print_word("export REDLOCK_SERVICE=unix:", dev->socket);
    putchar('\n');
    print_try(dev, "take a lock for 30 seconds; a new Lease-Id each time you do", lease,
              " -X PUT -H 'Content-Type: application/json'"
              " -d '{\"ttl_ms\":30000,\"label\":\"trying it\"}'");
    print_try(dev, "who holds it?", NULL, "");
    print_try(dev, "give it back", lease, " -X DELETE");
    printf("\n# the same by TCP, with the token of this run\n");
    print_word("curl -H @", dev->header);
    printf(" http://%s/v1/status\n", address);
    printf("\n# the status page, in a browser: http://%s/ with the token in\n# %s\n", address,
           dev->token);
    fflush(stdout);
}
