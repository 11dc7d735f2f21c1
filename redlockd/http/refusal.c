/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/refusal.h"

const struct http_refusal *http_refusal(enum http_refusal_name name)
{
    static const struct http_refusal refusals[HTTP_REFUSAL_COUNT] = {
#define X(name, status, code, detail) [HTTP_REFUSED_##name] = {status, code, detail},
        HTTP_REFUSALS(X)
#undef X
    };

    return &refusals[name];
}
