/* SPDX-License-Identifier: MIT */
/*
 * base/map.c -- open addressing with linear probing.
 *
 * One slot type serves both kinds of key: numbers keep the number in `word`,
 * strings their hash.  The caller knows which of the two it has, so lookups are inlined there
 * and the code for the other kind falls away.  Ids come from outside, so strings are hashed
 * with a key drawn once per process: a client cannot send ids that all fall on one slot.
 *
 * Removal leaves a tombstone, because entries must not move during an iteration; a
 * tombstone with nothing behind it becomes free at once, the others go when the table is
 * rebuilt.  An empty slot always exists, so every probe ends.
 *
 * Invariants: cap is 0 or a power of two; count + dead <= 3/4 cap; no value is NULL.
 */
#include "base/map.h"

#include "base/attr.h"
#include "base/rand.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CAP_MIN ((size_t)16)

struct map_slot {
    uint64_t word;   /* the number, or the hash of `key` */
    const char *key; /* NULL for numbers */
    size_t len;
    void *value; /* NULL: free, or a tombstone when `len` is TOMBSTONE */
};

#define TOMBSTONE ((size_t)1)

struct probe {
    uint64_t word;
    const char *key;
    size_t len;
};

static uint64_t string_key[2];
static pthread_once_t string_key_once = PTHREAD_ONCE_INIT;

static void draw_string_key(void)
{
    random_bytes(string_key, sizeof string_key);
}

void map_fix_order(uint64_t seed)
{
    pthread_once(&string_key_once, draw_string_key); /* or it would overwrite ours */
    string_key[0] = seed;
    string_key[1] = ~seed;
}

void map_init(struct map *m)
{
    *m = (struct map){0};
}

void map_deinit(struct map *m)
{
    free(m->slots);
    map_init(m);
}

void map_reset(struct map *m)
{
    if (m->slots)
        memset(m->slots, 0, m->cap * sizeof *m->slots);
    m->count = m->dead = 0;
}

void *map_next(const struct map *m, size_t *cursor)
{
    while (*cursor < m->cap) {
        const struct map_slot *s = &m->slots[(*cursor)++];
        if (s->value)
            return s->value;
    }
    return NULL;
}

INLINED struct probe probe_number(uint64_t key)
{
    return (struct probe){.word = key};
}

INLINED struct probe probe_string(pawl_str key)
{
    pthread_once(&string_key_once, draw_string_key);
    return (struct probe){.word = siphash13(string_key, key.ptr, key.len),
                          .key = key.ptr ? key.ptr : "",
                          .len = key.len};
}

/* Numbers are often counters: spread them over all bits (splitmix64). */
INLINED size_t home_of(const struct map *m, uint64_t word, bool is_string)
{
    if (!is_string) {
        word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
        word ^= word >> 31;
    }
    return (size_t)word & (m->cap - 1);
}

INLINED bool is_free(const struct map_slot *s)
{
    return !s->value && s->len != TOMBSTONE;
}

INLINED bool same(const struct map_slot *s, const struct probe *p)
{
    if (!s->value || s->word != p->word || !s->key != !p->key)
        return false;
    return !p->key || (s->len == p->len && memcmp(s->key, p->key, p->len) == 0);
}

INLINED struct map_slot *find(const struct map *m, struct probe p)
{
    if (m->count == 0)
        return NULL;
    for (size_t i = home_of(m, p.word, p.key != NULL);; i = (i + 1) & (m->cap - 1)) {
        struct map_slot *s = &m->slots[i];
        if (is_free(s))
            return NULL;
        if (same(s, &p))
            return s;
    }
}

/* Put a key that is known to be absent.  The first slot without a value will do. */
INLINED void place(struct map *m, struct probe p, void *value)
{
    size_t i = home_of(m, p.word, p.key != NULL);

    while (m->slots[i].value)
        i = (i + 1) & (m->cap - 1);
    if (!is_free(&m->slots[i]))
        m->dead--;
    m->slots[i] = (struct map_slot){.word = p.word, .key = p.key, .len = p.len, .value = value};
    m->count++;
}

/* Rebuild the table for `more` keys, at most half full then, without tombstones. */
static bool rebuild(struct map *m, size_t more)
{
    struct map fresh = {.cap = CAP_MIN};

    while (fresh.cap < (m->count + more) * 2)
        fresh.cap *= 2;
    fresh.slots = calloc(fresh.cap, sizeof *fresh.slots);
    if (!fresh.slots)
        return false;
    for (size_t i = 0; i < m->cap; i++) {
        const struct map_slot *s = &m->slots[i];
        if (s->value)
            place(&fresh, (struct probe){.word = s->word, .key = s->key, .len = s->len}, s->value);
    }
    free(m->slots);
    *m = fresh;
    return true;
}

INLINED bool put(struct map *m, struct probe p, void *value)
{
    assert_that(value);
    struct map_slot *s = find(m, p);
    if (s) {
        s->key = p.key; /* the old key may die with the old value */
        s->value = value;
        return true;
    }
    if ((m->count + m->dead + 1) * 4 > m->cap * 3 && !rebuild(m, 1))
        return false;
    place(m, p, value);
    return true;
}

INLINED void *take(struct map *m, struct probe p)
{
    struct map_slot *s = find(m, p);

    if (!s)
        return NULL;
    void *value = s->value;
    size_t mask = m->cap - 1, i = (size_t)(s - m->slots);
    *s = (struct map_slot){.len = TOMBSTONE};
    m->count--;
    m->dead++;
    if (!is_free(&m->slots[(i + 1) & mask]))
        return value;
    /* No probe goes on past here, so this and the tombstones before it are free. */
    for (; !m->slots[i].value && !is_free(&m->slots[i]); i = (i - 1) & mask) {
        m->slots[i].len = 0;
        m->dead--;
    }
    return value;
}

void *map_get(const struct map *m, uint64_t key)
{
    const struct map_slot *s = find(m, probe_number(key));

    return s ? s->value : NULL;
}

bool map_put(struct map *m, uint64_t key, void *value)
{
    return put(m, probe_number(key), value);
}

bool map_reserve(struct map *m, size_t more)
{
    return (m->count + m->dead + more) * 4 <= m->cap * 3 || rebuild(m, more);
}

void *map_remove(struct map *m, uint64_t key)
{
    return take(m, probe_number(key));
}

void *map_gets(const struct map *m, pawl_str key)
{
    if (!m->count)
        return NULL;
    const struct map_slot *s = find(m, probe_string(key));

    return s ? s->value : NULL;
}

bool map_puts(struct map *m, pawl_str key, void *value)
{
    return put(m, probe_string(key), value);
}

void *map_removes(struct map *m, pawl_str key)
{
    return take(m, probe_string(key));
}
