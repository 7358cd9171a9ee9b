/* SPDX-License-Identifier: MIT */
/*
 * base/near.c -- which known word is nearest to an unknown one.
 *
 * Called where a name is refused: verbs and flags of the command line, fields of a
 * request.  Works on its arguments only.
 */
#include "base/near.h"

#include <string.h>
#include <strings.h>

#define WORD_MAX 63 /* longer words are near to nothing */

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Edits (insert, delete, replace, swap neighbours) between two short words. */
static size_t distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    size_t rows[3][WORD_MAX + 1], *before = rows[0], *above = rows[1], *here = rows[2];
    if (n > WORD_MAX || m > WORD_MAX)
        return WORD_MAX;
    for (size_t j = 0; j <= m; j++)
        above[j] = before[j] = j;
    for (size_t i = 1; i <= n; i++) {
        here[0] = i;
        for (size_t j = 1; j <= m; j++) {
            here[j] =
                smallest(above[j] + 1, here[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                here[j] = smallest(here[j], here[j], before[j - 2] + 1);
        }
        size_t *spare = before;
        before = above;
        above = here;
        here = spare;
    }
    return above[m];
}

const char *nearest_word(const char *word, const char *const *words, size_t count)
{
    size_t len = strlen(word), best = len <= 4 ? 2 : 3; /* at this distance it is another word */
    const char *near = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t edits = distance(word, words[i]);
        if ((len >= 3 && strncmp(word, words[i], len) == 0) || strcasecmp(word, words[i]) == 0)
            edits = 1;
        if (edits < best) {
            best = edits;
            near = words[i];
        }
    }
    return near;
}
