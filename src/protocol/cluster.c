/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/cluster.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/slice.h"

#define PORT_MOST 99999
#define EPOCH_MOST INT64_C(999999999999999999)

const struct rl_cluster_vote *rl_cluster_vote(uint8_t votes, uint8_t which)
{
    static const struct rl_cluster_vote one[] = {{"sm", 8193}};
    static const struct rl_cluster_vote three[] = {{"um", 2727}, {"sm", 8193}, {"pm", 13650}};
    static const struct rl_cluster_vote five[] = {
        {"qm", 1635}, {"rm", 4912}, {"sm", 8193}, {"wm", 11461}, {"tm", 14742},
    };
    static const struct rl_cluster_vote seven[] = {
        {"aa", 1180},  {"ie", 3505},  {"qh", 5830},  {"sm", 8193},
        {"th", 10547}, {"le", 12868}, {"da", 15209},
    };
    static const struct rl_cluster_vote *const votes_of[] = {one, three, five, seven};

    return votes % 2 == 1 && votes <= RL_VOTES_MAX && which < votes
               ? &votes_of[votes / 2][which]
               : NULL;
}

/* ---- CLUSTER NODES: a line for each node, words with blanks between them ---- */

/* Up to a separator, which is taken as well; or all. */
static struct rl_slice take_until(struct rl_slice *rest, char separator)
{
    const char *end = memchr(rest->data, separator, rest->size);
    struct rl_slice taken = {rest->data, end ? (size_t)(end - rest->data) : rest->size};
    size_t size = taken.size + (end != NULL);

    rest->data += size;
    rest->size -= size;
    return taken;
}

struct line {
    struct rl_slice id;
    struct rl_slice address; /* ip:port@cport[,hostname[,...]] */
    bool is_self;
    bool is_master;
    int64_t epoch;
    struct rl_slice slots;
};

static bool is_id(struct rl_slice text)
{
    for (size_t i = 0; i < text.size; i++)
        if (!strchr("0123456789abcdef", text.data[i]) || !text.data[i])
            return false;
    return text.size == RL_ELECTOR_ID_SIZE;
}

/* id address flags master ping-sent pong-received config-epoch link-state slot slot ... */
static bool read_line(struct rl_slice text, struct line *out)
{
    struct rl_slice flags;

    *out = (struct line){.id = take_until(&text, ' ')};
    out->address = take_until(&text, ' ');
    flags = take_until(&text, ' ');
    while (flags.size > 0) {
        struct rl_slice flag = take_until(&flags, ',');

        out->is_self |= rl_slice_equals(flag, "myself");
        out->is_master |= rl_slice_equals(flag, "master");
        /* It is no member yet, or its address is not known: no client can be sent there. */
        if (rl_slice_equals(flag, "handshake") || rl_slice_equals(flag, "noaddr"))
            return false;
    }
    for (int i = 0; i < 3; i++)
        take_until(&text, ' ');
    out->epoch = rl_number_read(take_until(&text, ' '), EPOCH_MOST);
    take_until(&text, ' ');
    out->slots = text;
    return is_id(out->id) && out->epoch >= 0;
}

/* "5461-10922 15000 [93->-ID] [77-<-ID]": the last two are migrations, which change
 * no owner yet. */
static bool owns(const struct line *line, uint16_t slot)
{
    struct rl_slice rest = line->slots;

    while (rest.size > 0) {
        struct rl_slice last = take_until(&rest, ' ');
        struct rl_slice first = take_until(&last, '-');
        int64_t low = rl_number_read(first, PORT_MOST);
        int64_t high = last.size > 0 ? rl_number_read(last, PORT_MOST) : low;

        if (low >= 0 && slot >= low && slot <= high)
            return true;
    }
    return false;
}

/* host:port, an IPv6 address in brackets. False: it has none. */
static bool write_address(const struct line *line, const char *self_host,
                          char out[REDLOCK_ADDRESS_MAX])
{
    struct rl_slice rest = line->address;
    struct rl_slice place = take_until(&rest, '@');
    struct rl_slice port = place;
    struct rl_slice host;
    size_t colon = place.size;

    while (colon > 0 && place.data[colon - 1] != ':')
        colon--;
    if (colon == 0)
        return false;
    host = (struct rl_slice){place.data, colon - 1};
    port = (struct rl_slice){place.data + colon, place.size - colon};
    if (rl_number_read(port, PORT_MOST) <= 0)
        return false;
    if (host.size == 0 && line->is_self)
        host = rl_slice_of(self_host);
    if (host.size == 0 || host.size + port.size + sizeof "[]:" > REDLOCK_ADDRESS_MAX)
        return false;
    for (size_t i = 0; i < host.size; i++)
        if ((unsigned char)host.data[i] <= ' ' || (unsigned char)host.data[i] > '~')
            return false;
    snprintf(out, REDLOCK_ADDRESS_MAX,
             memchr(host.data, ':', host.size) && host.data[0] != '[' ? "[%.*s]:%.*s"
                                                                      : "%.*s:%.*s",
             (int)host.size, host.data, (int)port.size, port.data);
    return true;
}

int rl_cluster_read_self(struct rl_slice nodes, char id[RL_ELECTOR_ID_SIZE + 1])
{
    struct line line;

    while (nodes.size > 0) {
        if (!read_line(take_until(&nodes, '\n'), &line) || !line.is_self)
            continue;
        memcpy(id, line.id.data, RL_ELECTOR_ID_SIZE);
        id[RL_ELECTOR_ID_SIZE] = '\0';
        return 0;
    }
    return -1;
}

void rl_cluster_read_owner(struct rl_slice nodes, uint16_t slot, const char *self_host,
                           struct rl_term *out)
{
    struct line line;

    memset(out, 0, sizeof *out);
    while (nodes.size > 0) {
        struct rl_slice text = take_until(&nodes, '\n');

        if (!read_line(text, &line) || !line.is_master || !owns(&line, slot))
            continue;
        /* Two that own it are no term (E3); no server writes that. */
        if (out->owner[0] || !write_address(&line, self_host, out->owner)) {
            memset(out, 0, sizeof *out);
            return;
        }
        out->epoch = line.epoch;
        memcpy(out->id, line.id.data, RL_ELECTOR_ID_SIZE);
    }
}
