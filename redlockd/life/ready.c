/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/ready.h"

#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "system/sockets.h"

#define FIRST_PROCESS "/proc/1/cmdline"
#define COMMAND_LINE_MAX 65536
#define WORDS_MAX 512
#define TIMEOUT_S 5
#define REPLY_MAX 1024

/* ---- which daemon ------------------------------------------------------------------------ */

static bool is_our_name(const char *word)
{
    const char *slash = strrchr(word, '/');

    return strcmp(slash ? slash + 1 : word, "redlockd") == 0;
}

/* As settings_read(). The words stay: the settings keep their addresses. */
static int read_first_process(struct settings *settings, char *why, size_t why_size)
{
    static char line[COMMAND_LINE_MAX];
    static char *words[WORDS_MAX + 1];
    FILE *file = fopen(FIRST_PROCESS, "re");
    size_t size = file ? fread(line, 1, sizeof line - 1, file) : 0;
    int count = 0;

    if (file)
        fclose(file);
    for (char *at = line; at < line + size && count < WORDS_MAX; at += strlen(at) + 1)
        if (count > 0 || is_our_name(at)) /* an init may stand before it */
            words[count++] = at;
    if (count > 0)
        return settings_read(settings, count, words, why, why_size);
    snprintf(why, why_size,
             "--ready: process 1 is not redlockd: give the --listen or --config of the daemon");
    return SETTINGS_USAGE;
}

/* One that serves clients without a certificate, if there is one. */
static const struct settings_listener *choose(const struct settings *settings)
{
    const struct settings_listener *listener = settings->listeners;

    for (unsigned i = 0; i < settings->count[SETTING_LISTEN]; i++, listener++)
        if (!listener->tls || listener->cert_optional || !settings->tls_client_ca[0])
            return listener;
    return NULL;
}

/* ---- its answer -------------------------------------------------------------------------- */

/* Not verified: the address is that of our own listener, and nothing that is sent is secret. */
static BIO *add_tls(BIO *socket)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    BIO *tls = context ? BIO_new_ssl(context, 1) : NULL;

    SSL_CTX_free(context);
    if (tls)
        return BIO_push(tls, socket);
    BIO_free(socket);
    return NULL;
}

/* The whole reply, with a terminator, as far as it fits; its size. */
static size_t exchange(BIO *bio, char reply[REPLY_MAX])
{
    static const char request[] = "GET /readyz HTTP/1.1\r\nHost: localhost\r\n"
                                  "Connection: close\r\n\r\n";
    size_t size = 0;
    int count = BIO_write(bio, request, sizeof request - 1);

    while (count > 0 && size < REPLY_MAX - 1) {
        count = BIO_read(bio, reply + size, (int)(REPLY_MAX - 1 - size));
        size += count > 0 ? (size_t)count : 0;
    }
    reply[size] = '\0';
    return size;
}

int ready_check(struct settings *settings, char *why, size_t why_size)
{
    const struct settings_listener *listener;
    char reply[REPLY_MAX];
    const char *body;
    BIO *bio;
    int fd;
    int result = settings->count[SETTING_LISTEN] == 0 && !settings->config[0]
                     ? read_first_process(settings, why, why_size)
                     : 0;

    if (result != 0)
        return result;
    listener = choose(settings);
    if (!listener) {
        snprintf(why, why_size,
                 "--ready: every listener demands a certificate: add one on loopback, or "
                 "cert=optional");
        return SETTINGS_WRONG;
    }
    fd = sockets_connect(listener->address, TIMEOUT_S, why, why_size);
    if (fd < 0)
        return -1;
    bio = BIO_new_socket(fd, BIO_CLOSE);
    if (bio && listener->tls)
        bio = add_tls(bio);
    if (!bio || exchange(bio, reply) == 0) {
        snprintf(why, why_size, "not ready: no answer from %s", listener->address);
        BIO_free_all(bio);
        return -1;
    }
    BIO_free_all(bio);
    if (strncmp(reply, "HTTP/1.1 200", 12) == 0)
        return 0;
    body = strstr(reply, "\r\n\r\n");
    snprintf(why, why_size, "not ready: %.12s %s", reply, body ? body + 4 : "");
    return -1;
}
