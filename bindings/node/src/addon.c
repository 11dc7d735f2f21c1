/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions that lib/ calls. It alone knows how: nothing of this is for users
 * of the package. */
#include "client.h"

/* detail() -> the sentence about the last call that failed */
static napi_value detail(napi_env env, napi_callback_info info)
{
    (void)info;
    return new_text(env, redlock_detail());
}

/* errorName(code), version() */
static napi_value error_name(napi_env env, napi_callback_info info)
{
    napi_value argument;

    values_arguments(env, info, 1, &argument);
    return new_text(env, redlock_error_name((int)value_number(env, argument)));
}

/* kinds() -> the words of the kinds, by their numbers */
static napi_value kinds(napi_env env, napi_callback_info info)
{
    napi_value words = NULL;

    (void)info;
    napi_create_array(env, &words);
    for (int kind = 0; redlock_kind_traits(kind); kind++)
        napi_set_element(env, words, (uint32_t)kind, new_text(env, redlock_kind_text(kind)));
    return words;
}

static napi_value version(napi_env env, napi_callback_info info)
{
    (void)info;
    return new_text(env, redlock_version());
}

NAPI_MODULE_INIT()
{
    static const struct {
        const char *name;
        napi_callback call;
    } functions[] = {
        {"open", client_open},     {"close", client_close},   {"keepAlive", client_keep_alive},
        {"next", client_next},     {"start", lock_start},     {"extend", lock_extend},
        {"release", lock_release}, {"drop", lock_drop},       {"number", lock_number},
        {"report", lock_report},   {"value", lock_value},     {"startJob", start_job},
        {"nodes", get_nodes},      {"stats", get_stats},      {"quorumOf", get_quorum},
        {"detail", detail},        {"errorName", error_name}, {"kinds", kinds},
        {"version", version},
    };

    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        napi_value function = NULL;

        napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].call, NULL,
                             &function);
        put(env, exports, functions[i].name, function);
    }
    return exports;
}
