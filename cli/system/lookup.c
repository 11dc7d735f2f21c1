/* SPDX-License-Identifier: BSD-2-Clause */
#include "system/lookup.h"

#ifdef REDLOCK_STATIC
#include <nss.h>
#endif

void lookup_without_modules(void)
{
#ifdef REDLOCK_STATIC
    __nss_configure_lookup("hosts", "files dns");
    __nss_configure_lookup("passwd", "files");
    __nss_configure_lookup("group", "files");
#endif
}
