/* SPDX-License-Identifier: BSD-2-Clause */
/* The URL of `redlock --service`. */
#include "service/url.h"

#include <string.h>

#include "check.h"

CASE(urls, "A URL names a socket, or a host and a port; anything else is refused.")
{
    static const char *const wrong[] = {"",
                                        "unix:",
                                        "unix:relative",
                                        "http://",
                                        "http://:80",
                                        "http://h:x",
                                        "http://h/path",
                                        "h:80",
                                        "http://[::1",
                                        "https://u@h",
                                        "http+unix://x"};
    struct service_url url;
    CHECK(!service_url_read(&url, "unix:/run/r.sock") && strcmp(url.path, "/run/r.sock") == 0);
    CHECK(!service_url_read(&url, "unix:///run/r") && strcmp(url.path, "/run/r") == 0);
    CHECK(!service_url_read(&url, "http+unix://%2Frun%2Fr") && strcmp(url.path, "/run/r") == 0);
    CHECK(!service_url_read(&url, "http://h") && strcmp(url.port, "80") == 0 && !url.tls);
    CHECK(!service_url_read(&url, "https://h/") && strcmp(url.port, "443") == 0 && url.tls);
    CHECK(!service_url_read(&url, "http://[::1]:9402") && strcmp(url.host, "::1") == 0 &&
          strcmp(url.port, "9402") == 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(service_url_read(&url, wrong[i]));
}
