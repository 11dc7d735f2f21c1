/* SPDX-License-Identifier: BSD-2-Clause */
/* The tokens of the library as it is. Its twin without alignment: fencing_unaligned.c. */
#include "check.h"
#include "fencing_load.h"

CASE(strictly_increasing,
     "Tokens grow in the order of completion while nodes and connections fail.")
{
    CHECK_NEVER(fencing_disorders(fencing_acquisitions(), 1500000));
}
