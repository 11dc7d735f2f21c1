/* SPDX-License-Identifier: BSD-2-Clause */
/* Tokens of the unchanged library under stress; fencing_unaligned.c is the faulty twin. */
#include "check.h"
#include "loads.h"

CASE_OF(strictly_increasing,
        "Tokens grow in the order of completion while nodes and connections fail.",
        CHECK_NEVER(fencing_disorders(fencing_acquisitions(), 1500000)));
