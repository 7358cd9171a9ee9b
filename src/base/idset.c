/* SPDX-License-Identifier: MIT */
/* base/idset.c -- see the header. */
#include "base/idset.h"

#include "base/attr.h"

#include <stdlib.h>
#include <string.h>

#define CAP_MIN 64

static size_t home_of(const struct idset *s, uint64_t id)
{
    return (size_t)((id * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & (s->cap - 1);
}

/* The slot that holds `id`, or the empty one where it belongs. */
static size_t slot_of(const struct idset *s, uint64_t id)
{
    size_t i = home_of(s, id);
    while (s->slots[i] != 0 && s->slots[i] != id)
        i = (i + 1) & (s->cap - 1);
    return i;
}

static bool resize(struct idset *s, size_t cap)
{
    struct idset bigger = {.slots = calloc(cap, sizeof(uint64_t)), .cap = cap, .count = s->count};
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < s->cap; i++) {
        if (s->slots[i] != 0)
            bigger.slots[slot_of(&bigger, s->slots[i])] = s->slots[i];
    }
    free(s->slots);
    *s = bigger;
    return true;
}

void idset_init(struct idset *s)
{
    *s = (struct idset){0};
}

void idset_deinit(struct idset *s)
{
    free(s->slots);
    idset_init(s);
}

void idset_reset(struct idset *s)
{
    if (s->count > 0)
        memset(s->slots, 0, s->cap * sizeof(uint64_t));
    s->count = 0;
}

bool idset_reserve(struct idset *s, size_t more)
{
    size_t cap = s->cap ? s->cap : CAP_MIN;
    if (more > SIZE_MAX / 4 / sizeof(uint64_t) - s->count)
        return false;
    while (s->count + more > cap / 4 * 3)
        cap *= 2;
    return cap == s->cap || resize(s, cap);
}

bool idset_add(struct idset *s, uint64_t id)
{
    assert_that(id != 0);
    if (!idset_reserve(s, 1))
        return false;
    size_t i = slot_of(s, id);
    if (s->slots[i] == 0) {
        s->slots[i] = id;
        s->count++;
    }
    return true;
}

void idset_remove(struct idset *s, uint64_t id)
{
    if (s->cap == 0)
        return;
    size_t mask = s->cap - 1, hole = slot_of(s, id);
    if (s->slots[hole] == 0)
        return;
    s->count--;
    /* An id that probed past the hole moves into it; else it would not be found again. */
    for (size_t i = (hole + 1) & mask; s->slots[i] != 0; i = (i + 1) & mask) {
        size_t home = home_of(s, s->slots[i]);
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            s->slots[hole] = s->slots[i];
            hole = i;
        }
    }
    s->slots[hole] = 0;
}

bool idset_has(const struct idset *s, uint64_t id)
{
    return s->cap > 0 && id != 0 && s->slots[slot_of(s, id)] == id;
}

void idset_list(const struct idset *s, uint64_t *to)
{
    for (size_t i = 0; i < s->cap; i++) {
        if (s->slots[i] != 0)
            *to++ = s->slots[i];
    }
}

void idset_check(const struct idset *s)
{
    size_t filled = 0;
    for (size_t i = 0; i < s->cap; i++) {
        if (s->slots[i] == 0)
            continue;
        filled++;
        assert_that(slot_of(s, s->slots[i]) == i);
    }
    assert_that(filled == s->count);
    assert_that(s->count <= s->cap / 4 * 3);
}
