/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/holders.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ui/kind.h"
#include "ui/text.h"

static void add(char out[HOLDERS_TEXT_MAX], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(char out[HOLDERS_TEXT_MAX], const char *format, ...)
{
    size_t used = strlen(out);
    va_list list;
    va_start(list, format);
    vsnprintf(out + used, HOLDERS_TEXT_MAX - used, format, list);
    va_end(list);
}

void holders_name(char out[HOLDERS_NAME_MAX], const char *value, size_t columns)
{
    (void)columns;
    text_holder(out, value);
}

static void add_who(char out[HOLDERS_TEXT_MAX], const redlock_info *info, size_t columns)
{
    const struct kind_words *words = kind_words(info->kind);
    char name[HOLDERS_NAME_MAX], owner[TEXT_OWNER_MAX];
    if (words->has_slots) {
        add(out, "%u of %u slots taken", info->holder_count, info->slots);
    } else if (words->holders) {
        add(out, "held by %u %s%s", info->holder_count, words->holders,
            info->holder_count == 1 ? "" : "s");
    } else {
        holders_name(name, info->holder, columns);
        add(out, "held by %s", name);
    }
    if (!info->owner[0])
        return;
    text_owner(owner, info->owner);
    add(out, ", owner %s", owner);
    if (info->holder_count > 1)
        add(out, ", %u times", info->holder_count);
}

void holders_text(char out[HOLDERS_TEXT_MAX], const redlock_info *info, int64_t left_ms,
                  struct holders_style style)
{
    char left[TEXT_TIME_MAX];
    out[0] = '\0';
    if (!info->held) {
        add(out, "free");
        return;
    }
    add_who(out, info, style.name_columns);
    text_time(left, left_ms);
    if (left_ms >= 0)
        add(out, ", up to %s more", left);
    else if (!style.brief)
        add(out, ", without expiry");
}

void holders_cell(char out[HOLDERS_TEXT_MAX], const redlock_info *info)
{
    const struct kind_words *words = kind_words(info->kind);
    out[0] = '\0';
    if (!info->held)
        add(out, "-");
    else if (words->has_slots)
        add(out, "%u of %u slots", info->holder_count, info->slots);
    else if (words->holders)
        add(out, "%u %s%s", info->holder_count, words->holders,
            info->holder_count == 1 ? "" : "s");
    else
        holders_name(out, info->holder, 0);
}

int64_t holders_age_ms(const redlock_info *info)
{
    (void)info;
    return -1;
}
