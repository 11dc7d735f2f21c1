/* SPDX-License-Identifier: BSD-2-Clause */
#include "values.h"

#include <stdlib.h>

void *must_have(void *memory)
{
    if (!memory)
        napi_fatal_error("redlock", NAPI_AUTO_LENGTH, "out of memory", NAPI_AUTO_LENGTH);
    return memory;
}

void values_arguments(napi_env env, napi_callback_info info, size_t count, napi_value *out)
{
    napi_get_cb_info(env, info, &count, out, NULL, NULL);
}

double value_number(napi_env env, napi_value value)
{
    double number = 0;

    napi_get_value_double(env, value, &number);
    return number;
}

bool value_is_absent(napi_env env, napi_value value)
{
    napi_valuetype type = napi_undefined;

    return !value || napi_typeof(env, value, &type) != napi_ok || type == napi_undefined ||
           type == napi_null;
}

char *value_text(napi_env env, napi_value value)
{
    size_t size = 0;
    char *text;

    if (value_is_absent(env, value) ||
        napi_get_value_string_utf8(env, value, NULL, 0, &size) != napi_ok)
        return NULL;
    text = must_have(malloc(size + 1));
    text[0] = '\0';
    napi_get_value_string_utf8(env, value, text, size + 1, &size);
    return text;
}

char **value_texts(napi_env env, napi_value value, size_t *count)
{
    uint32_t length = 0;
    char **texts;

    *count = 0;
    if (value_is_absent(env, value) || napi_get_array_length(env, value, &length) != napi_ok)
        return NULL;
    texts = must_have(calloc(length + 1u, sizeof *texts));
    for (uint32_t i = 0; i < length; i++) {
        napi_value element = NULL;
        char *text;

        napi_get_element(env, value, i, &element);
        text = value_text(env, element);
        if (text)
            texts[(*count)++] = text;
    }
    return texts;
}

void values_free_texts(char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
}

napi_value value_property(napi_env env, napi_value object, const char *name)
{
    napi_value value = NULL;

    napi_get_named_property(env, object, name, &value);
    return value;
}

napi_value new_number(napi_env env, double number)
{
    napi_value value = NULL;

    napi_create_double(env, number, &value);
    return value;
}

napi_value new_text(napi_env env, const char *text)
{
    napi_value value = NULL;

    if (text && text[0])
        napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &value);
    else
        napi_get_null(env, &value);
    return value;
}

napi_value new_texts(napi_env env, const char *const *texts, size_t count)
{
    napi_value array = NULL;

    napi_create_array_with_length(env, count, &array);
    for (size_t i = 0; i < count; i++) {
        napi_value text = NULL;

        napi_create_string_utf8(env, texts[i], NAPI_AUTO_LENGTH, &text);
        napi_set_element(env, array, (uint32_t)i, text);
    }
    return array;
}

napi_value new_object(napi_env env)
{
    napi_value object = NULL;

    napi_create_object(env, &object);
    return object;
}

void put(napi_env env, napi_value object, const char *name, napi_value value)
{
    if (object && value)
        napi_set_named_property(env, object, name, value);
}

void put_number(napi_env env, napi_value object, const char *name, double number)
{
    put(env, object, name, new_number(env, number));
}

void put_ms(napi_env env, napi_value object, const char *name, double ms)
{
    put(env, object, name, ms < 0 ? new_text(env, NULL) : new_number(env, ms));
}

void put_text(napi_env env, napi_value object, const char *name, const char *text)
{
    put(env, object, name, new_text(env, text));
}

void put_flag(napi_env env, napi_value object, const char *name, bool flag)
{
    napi_value value = NULL;

    napi_get_boolean(env, flag, &value);
    put(env, object, name, value);
}
