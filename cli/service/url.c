/* SPDX-License-Identifier: BSD-2-Clause */
#include "service/url.h"

#include <stdio.h>
#include <string.h>

#include "base/percent.h"

static const char *behind(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

static const char *read_path(struct service_url *url, const char *text, bool encoded)
{
    char path[3 * sizeof url->path];
    if (strlen(text) >= sizeof path)
        return "names a socket whose path is too long";
    if (encoded)
        rl_percent_decode(text, strlen(text), path, sizeof path);
    else
        strcpy(path, text);
    if (path[0] != '/')
        return "needs the absolute path of a socket";
    if (strlen(path) >= sizeof url->path)
        return "names a socket whose path is too long";
    strcpy(url->path, path);
    return NULL;
}

static bool is_port(const char *text)
{
    return *text && strlen(text) < URL_PORT_MAX && strspn(text, "0123456789") == strlen(text);
}

/* HOST, HOST:PORT, [ADDRESS] or [ADDRESS]:PORT. */
static const char *read_authority(struct service_url *url, const char *text)
{
    size_t length = strcspn(text, "/");
    const char *rest = text + length;
    char copy[URL_HOST_MAX + URL_PORT_MAX], *host = copy, *port = NULL;
    if (*rest && strcmp(rest, "/") != 0)
        return "has a path behind the host: leave it out";
    if (length >= sizeof copy || memchr(text, '@', length))
        return "is no URL of a service: a token goes into --token-file";
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (copy[0] == '[') {
        char *close = strchr(copy, ']');
        if (!close || (close[1] && close[1] != ':'))
            return "has an address that does not end";
        host = copy + 1;
        port = close[1] ? close + 2 : NULL;
        *close = '\0';
    } else if ((port = strchr(copy, ':'))) {
        *port++ = '\0';
    }
    if (!*host || strlen(host) >= sizeof url->host || (port && !is_port(port)))
        return "needs a host, and a port in digits if any";
    strcpy(url->host, host);
    snprintf(url->port, sizeof url->port, "%s", port ? port : url->tls ? "443" : "80");
    return NULL;
}

const char *service_url_read(struct service_url *url, const char *text)
{
    const char *rest;
    *url = (struct service_url){.tls = false};
    if ((rest = behind(text, "unix:")))
        return read_path(url, strncmp(rest, "//", 2) == 0 ? rest + 2 : rest, false);
    if ((rest = behind(text, "http+unix://")))
        return read_path(url, rest, true);
    if ((rest = behind(text, "http://")))
        return read_authority(url, rest);
    url->tls = true;
    if ((rest = behind(text, "https://")))
        return read_authority(url, rest);
    return "is none of unix:/path, http://HOST:PORT and https://HOST:PORT";
}
