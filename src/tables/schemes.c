/* SPDX-License-Identifier: MIT */
/* tables/schemes.c -- see the header. */
#include "tables/schemes.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *beginning;
    enum scheme_place place;
    const char *copying;
} schemes[SCHEME_COUNT] = {
#define SCHEME_ROW(name, beginning, form, place, copying) {beginning, place, copying},
    SCHEMES(SCHEME_ROW)
#undef SCHEME_ROW
};

bool store_place_read(const char *url, struct store_place *ret)
{
    for (int i = 0; i < SCHEME_COUNT; i++) {
        size_t n = strlen(schemes[i].beginning);
        if (strncmp(url, schemes[i].beginning, n) != 0)
            continue;
        bool whole = schemes[i].place == PLACE_SERVER; /* without a name its client has defaults */
        *ret = (struct store_place){(enum scheme)i, schemes[i].place, whole ? url : url + n,
                                    schemes[i].copying};
        return whole || (url[n] != 0) == (ret->kind != PLACE_NOTHING);
    }
    return false;
}

/* ---- Passwords ------------------------------------------------------------------------ */

/* Append, as far as there is room. */
static void put(char *room, size_t size, const char *text, size_t n)
{
    size_t at = strlen(room);
    (void)snprintf(room + at, size - at, "%.*s", (int)n, text);
}

/* USER:PASSWORD@ of what lies between "//" and the first slash or question mark. */
static const char *show_authority(const char *url, char *room, size_t size)
{
    const char *begin = strstr(url, "://"), *at = NULL;
    if (!begin)
        return url;
    begin += 3;
    const char *end = begin + strcspn(begin, "/?");
    for (const char *p = begin; p < end; p++)
        at = *p == '@' ? p : at;
    const char *colon = at ? memchr(begin, ':', (size_t)(at - begin)) : NULL;
    const char *shown = colon ? colon + 1 : end;
    put(room, size, url, (size_t)(shown - url));
    if (colon) {
        put(room, size, "***", 3);
        put(room, size, at, (size_t)(end - at));
    }
    return end;
}

/* password=… and sslpassword=… among the parameters. */
static void show_parameters(const char *from, char *room, size_t size)
{
    while (*from) {
        size_t n = strcspn(from + 1, "&?") + 1;
        const char *equals = memchr(from, '=', n);
        size_t name = equals ? (size_t)(equals - from) + 1 : n;
        bool secret = equals && name >= 9 && strncmp(equals - 8, "password", 8) == 0;
        put(room, size, from, secret ? name : n);
        if (secret)
            put(room, size, "***", 3);
        from += n;
    }
}

const char *store_url_shown(const char *url, char *room, size_t size)
{
    room[0] = 0;
    show_parameters(show_authority(url, room, size), room, size);
    return room;
}
