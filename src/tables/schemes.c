/* SPDX-License-Identifier: MIT */
/* tables/schemes.c -- see the header. */
#include "tables/schemes.h"

#include <string.h>

static const struct {
    const char *beginning;
    enum scheme_place place;
} schemes[SCHEME_COUNT] = {
#define SCHEME_ROW(name, beginning, form, place) {beginning, place},
    SCHEMES(SCHEME_ROW)
#undef SCHEME_ROW
};

bool store_place_read(const char *url, struct store_place *ret)
{
    for (int i = 0; i < SCHEME_COUNT; i++) {
        size_t n = strlen(schemes[i].beginning);
        if (strncmp(url, schemes[i].beginning, n) != 0)
            continue;
        *ret = (struct store_place){(enum scheme)i, schemes[i].place, url + n};
        return (url[n] != 0) == (ret->kind != PLACE_NOTHING);
    }
    return false;
}
