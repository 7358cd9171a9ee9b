/* SPDX-License-Identifier: MIT */
/* runtime/remote/turn_token.c -- see turn_token.h.  Called by exchange.c and hand_out.c. */
#include "runtime/remote/turn_token.h"

#include "base/hex.h"
#include "base/rand.h"
#include "runtime/remote/remotes.h"

#include <stdio.h>
#include <string.h>

static uint64_t mac_of(pawl_runtime *rt, const struct turn_token *t)
{
    return siphash24(rt->hands.remotes->key, t, sizeof(*t));
}

pawl_str turn_token_make(pawl_runtime *rt, pawl_mem *mem, const struct turn_token *t)
{
    return pawl_mem_printf(mem, "t%llu.%llu.%llu.%llu.%llu.%016llx", (unsigned long long)t->uid,
                           (unsigned long long)t->execution, (unsigned long long)t->seq,
                           (unsigned long long)t->serial, (unsigned long long)t->session,
                           (unsigned long long)mac_of(rt, t));
}

/* A number and the mark behind it. */
static bool number(const char **at, char mark, uint64_t *ret)
{
    const char *p = *at;
    uint64_t n = 0;

    for (; *p >= '0' && *p <= '9' && p - *at < 19; p++)
        n = n * 10 + (uint64_t)(*p - '0');
    if (p == *at || *p != mark)
        return false;
    *at = p + 1;
    *ret = n;
    return true;
}

static bool parse(pawl_str text, struct turn_token *ret, uint64_t *retmac)
{
    char copy[PAWL_TURNS_TOKEN_BYTES];
    const char *at = copy + 1;

    *retmac = 0;
    if (text.len < 2 || text.len >= sizeof(copy) || text.ptr[0] != 't')
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    if (!number(&at, '.', &ret->uid) || !number(&at, '.', &ret->execution) ||
        !number(&at, '.', &ret->seq) || !number(&at, '.', &ret->serial) ||
        !number(&at, '.', &ret->session) || strlen(at) != 16)
        return false;
    for (; *at; at++) {
        int digit = hex_value(*at);
        if (digit < 0)
            return false;
        *retmac = *retmac << 4 | (uint64_t)digit;
    }
    return true;
}

bool turn_token_read(pawl_runtime *rt, pawl_str text, struct turn_token *ret)
{
    uint64_t mac;

    /* without a session there is no token, and the key is all zeroes */
    if (!atomic_load_explicit(&rt->hands.remotes->has_key, memory_order_acquire))
        return false;
    return parse(text, ret, &mac) && mac == mac_of(rt, ret);
}
