/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stress of fencing_stress.c against an acquire without the alignment of counters
 * (core/rules.h): it must find tokens out of order, or it would not find them elsewhere either.
 */
#include "check.h"
#include "lab/planted/planted.h"
#include "loads.h"

CASE(disorder_without_alignment,
     "Without the alignment of counters the fencing stress finds tokens out of order.")
{
    planted_break("ALIGN");
    CHECK(fencing_disorders(fencing_acquisitions() / 4, 1500000) > 0);
}
