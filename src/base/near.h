/* SPDX-License-Identifier: MIT */
/* base/near.h -- "did you mean": the known word that may have been misspelt. */
#ifndef PAWL_BASE_NEAR_H
#define PAWL_BASE_NEAR_H

#include <stddef.h>

/* The nearest of `words` to `word`; NULL when none is near enough to be meant. */
const char *nearest_word(const char *word, const char *const *words, size_t count);

#endif
