/* SPDX-License-Identifier: BSD-2-Clause */
#include "names.h"

#include <stdio.h>

const char *const name_text[NAMES] = {
    "orders",    "stock",     "ledger",    "catalog",   "printers",  "tree",
    "parcel-1",  "parcel-2",  "parcel-3",  "parcel-4",  "parcel-5",  "parcel-6",
    "parcel-7",  "parcel-8",  "parcel-9",  "parcel-10", "parcel-11", "parcel-12",
    "parcel-13", "parcel-14", "parcel-15", "parcel-16"};

bool name_is_fenced(int name)
{
    return name < REGISTERS || name >= NAME_PARCEL;
}

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
