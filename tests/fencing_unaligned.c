/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The same stress against an acquire that was built without the alignment of counters
 * (RL_TEST_NO_ALIGN): it must find disorder, or it would not find it elsewhere either.
 */
#include "check.h"
#include "fencing_load.h"

CASE(disorder_without_alignment, "Without the alignment the same run finds disorder.")
{
    CHECK(fencing_disorders(fencing_acquisitions() / 4, 1500000) > 0);
}
