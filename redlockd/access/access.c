/* SPDX-License-Identifier: BSD-2-Clause */
#include "access/access.h"

#include <stdio.h>
#include <unistd.h>

bool access_allows(const struct http_peer *peer, char principal[ACCESS_PRINCIPAL_MAX + 1])
{
    if (!peer->is_unix || peer->uid != geteuid())
        return false;
    snprintf(principal, ACCESS_PRINCIPAL_MAX + 1, "uid:%lu", (unsigned long)peer->uid);
    return true;
}
