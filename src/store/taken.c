/* SPDX-License-Identifier: MIT */
/* store/taken.c -- see the header. */
#include "store/taken.h"

#include "base/attr.h"

#include <stdlib.h>
#include <string.h>

#define CAP_MIN 64

static size_t home_of(const struct taken *t, uint64_t id)
{
    return (size_t)((id * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & (t->cap - 1);
}

/* The slot that holds `id`, or the empty one where it belongs. */
static size_t slot_of(const struct taken *t, uint64_t id)
{
    size_t i = home_of(t, id);
    while (t->slots[i] != 0 && t->slots[i] != id)
        i = (i + 1) & (t->cap - 1);
    return i;
}

static bool resize(struct taken *t, size_t cap)
{
    struct taken bigger = {.slots = calloc(cap, sizeof(uint64_t)), .cap = cap, .count = t->count};
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < t->cap; i++) {
        if (t->slots[i] != 0)
            bigger.slots[slot_of(&bigger, t->slots[i])] = t->slots[i];
    }
    free(t->slots);
    *t = bigger;
    return true;
}

void taken_init(struct taken *t)
{
    *t = (struct taken){0};
}

void taken_deinit(struct taken *t)
{
    free(t->slots);
    taken_init(t);
}

void taken_reset(struct taken *t)
{
    if (t->count > 0)
        memset(t->slots, 0, t->cap * sizeof(uint64_t));
    t->count = 0;
}

bool taken_reserve(struct taken *t, size_t more)
{
    size_t cap = t->cap ? t->cap : CAP_MIN;
    if (more > SIZE_MAX / 4 / sizeof(uint64_t) - t->count)
        return false;
    while (t->count + more > cap / 4 * 3)
        cap *= 2;
    return cap == t->cap || resize(t, cap);
}

bool taken_add(struct taken *t, uint64_t id)
{
    assert_that(id != 0);
    if (!taken_reserve(t, 1))
        return false;
    size_t i = slot_of(t, id);
    if (t->slots[i] == 0) {
        t->slots[i] = id;
        t->count++;
    }
    return true;
}

void taken_remove(struct taken *t, uint64_t id)
{
    if (t->cap == 0)
        return;
    size_t mask = t->cap - 1, hole = slot_of(t, id);
    if (t->slots[hole] == 0)
        return;
    t->count--;
    /* Whoever probed past the hole moves into it, or would not be found again. */
    for (size_t i = (hole + 1) & mask; t->slots[i] != 0; i = (i + 1) & mask) {
        size_t home = home_of(t, t->slots[i]);
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            t->slots[hole] = t->slots[i];
            hole = i;
        }
    }
    t->slots[hole] = 0;
}

bool taken_has(const struct taken *t, uint64_t id)
{
    return t->cap > 0 && id != 0 && t->slots[slot_of(t, id)] == id;
}

void taken_check(const struct taken *t)
{
    size_t filled = 0;
    for (size_t i = 0; i < t->cap; i++) {
        if (t->slots[i] == 0)
            continue;
        filled++;
        assert_that(slot_of(t, t->slots[i]) == i);
    }
    assert_that(filled == t->count);
    assert_that(t->count <= t->cap / 4 * 3);
}
