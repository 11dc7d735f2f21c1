/* SPDX-License-Identifier: BSD-2-Clause */
#include "access/pace.h"

#include <string.h>

#include "core/time.h"

bool pace_is_free(struct pace *pace, const char *tag, int64_t ttl_ms, int64_t now_ns)
{
    struct pace_place *place;
    uint64_t words[2];
    uint64_t lease;

    memcpy(words, tag, sizeof words);
    lease = words[0] * UINT64_C(0x9e3779b97f4a7c15) ^ words[1];
    place = &pace->places[(lease ^ lease >> 32) & (PACE_PLACES - 1)];
    if (place->lease != lease || now_ns - place->began_ns >= ttl_ms * RL_NS_PER_MS)
        *place = (struct pace_place){lease, now_ns, 0};
    if (place->renewals >= PACE_FREE)
        return false;
    place->renewals++;
    return true;
}
