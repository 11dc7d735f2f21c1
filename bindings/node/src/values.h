/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers, texts and objects of JavaScript. lib/ has checked the arguments already, so a value
 * of another type is read as absent. A failing Node-API call means that the environment is
 * ending: what is built then goes nowhere, and the value is NULL.
 */
#ifndef REDLOCK_NODE_VALUES_H
#define REDLOCK_NODE_VALUES_H

#define NAPI_VERSION 8
#include <node_api.h>
#include <stdbool.h>
#include <stdint.h>

/* The arguments of a call; those that the caller left out are undefined. */
void values_arguments(napi_env env, napi_callback_info info, size_t count, napi_value *out);

double value_number(napi_env env, napi_value value);
bool value_is_absent(napi_env env, napi_value value); /* undefined or null */

/* A copy, the caller's to free(); NULL if absent. */
char *value_text(napi_env env, napi_value value);

/* The texts of an array, NULL if it is absent; values_free_texts() ends them. */
char **value_texts(napi_env env, napi_value value, size_t *count);
void values_free_texts(char **texts, size_t count);

napi_value value_property(napi_env env, napi_value object, const char *name);

napi_value new_number(napi_env env, double number);
napi_value new_text(napi_env env, const char *text); /* NULL and "": null */
napi_value new_texts(napi_env env, const char *const *texts, size_t count);

/* Properties of an object that is being built. */
napi_value new_object(napi_env env);
void put(napi_env env, napi_value object, const char *name, napi_value value);
void put_number(napi_env env, napi_value object, const char *name, double number);
void put_ms(napi_env env, napi_value object, const char *name, double ms); /* negative: null */
void put_text(napi_env env, napi_value object, const char *name, const char *text);
void put_flag(napi_env env, napi_value object, const char *name, bool flag);

/* Ends the process: memory for a few bytes is gone, as V8 itself does then. */
void *must_have(void *memory);

#endif
