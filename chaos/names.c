/* SPDX-License-Identifier: BSD-2-Clause */
#include "names.h"

#include <stdio.h>

const char *const name_text[NAMES] = {"orders",  "stock",    "ledger",
                                      "catalog", "printers", "tree"};

const char *names_text(unsigned int mask, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < NAMES && used < size; i++)
        if (mask >> i & 1)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? "+" : "",
                                     name_text[i]);
    return out;
}
