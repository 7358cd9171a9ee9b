/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/sum.h -- check sums of rows: what comes back is what was written, or is refused.
 *
 * SQLite has no check sum of pages; a bit that turns over in a payload is served as if it had
 * been written so.  Events, messages, work, instances and entries of queues therefore carry a sum
 * over what they were made of, their own number first: a row in another's place does not fit
 * either.  Columns that change later on (times, attempts, locks) are not in it, but for those of
 * instances, which are always written as a whole.
 *
 * 31 bits, never 0.  0 is a row of schema 3: it is believed if its number is below
 * fence.sums_from (conn_sums_from).  The sum is stored: never change what it is.
 *
 * Another column would cost as much again as the sum itself, so on the paths that are hot it
 * shares one with a small number: history.seq and queue_entry.bytes have it above their low 32
 * bits.  Messages, instances, objects and work that was tried have a column `sum`.
 */
#ifndef PAWL_STORE_SQLITE_SUM_H
#define PAWL_STORE_SQLITE_SUM_H

#include "base/word.h"
#include "pawl/provider.h"

#define SUM_A UINT64_C(0x9ddfea08eb382d69)
#define SUM_B UINT64_C(0xc3a5c85c97cb3127)

__extension__ typedef unsigned __int128 sum_wide;

/* Both halves of a product: every bit of either factor reaches every bit of it. */
static inline uint64_t sum_mix(uint64_t a, uint64_t b)
{
    sum_wide p = (sum_wide)a * b;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/* One to eight bytes; some of them twice.  The format is little-endian; so is every machine we
 * build on. */
static inline uint64_t sum_few(const char *at, size_t len)
{
    if (len >= 4)
        return word_half(at) << 32 | word_half(at + len - 4);
    return (uint64_t)(unsigned char)at[0] << 16 | (uint64_t)(unsigned char)at[len / 2] << 8 |
           (unsigned char)at[len - 1];
}

static inline uint64_t sum_numbers(uint64_t h, uint64_t a, uint64_t b)
{
    return sum_mix(h ^ a ^ SUM_A, b + SUM_B + h);
}

/* Sixteen bytes at a time; the last sixteen may overlap those before. */
static inline uint64_t sum_text(uint64_t h, pawl_str s)
{
    if (s.len <= 8)
        return s.len ? sum_mix(sum_few(s.ptr, s.len) ^ SUM_A ^ h, s.len + SUM_B) : h + SUM_A;
    const char *at = s.ptr, *last = at + s.len - 8;
    for (; last - at > 8; at += 16)
        h = sum_mix(word_at(at) ^ SUM_A ^ h, word_at(at + 8) + SUM_B);
    if (last < at) /* fewer than eight are left, and there were sixteen before */
        at = last - 8;
    return sum_mix(word_at(at) ^ SUM_A ^ h, word_at(last) + SUM_B + s.len);
}

static inline int64_t sum_end(uint64_t h)
{
    int64_t sum = (int64_t)(sum_mix(h ^ SUM_B, SUM_A) >> 33);
    return sum ? sum : 1;
}

/* A number below 2^32 and a sum in one column. */
static inline uint64_t sum_join(uint64_t number, int64_t sum)
{
    return number | (uint64_t)sum << 32;
}

static inline uint64_t sum_low(uint64_t joined)
{
    return joined & UINT32_MAX;
}

static inline int64_t sum_event(uint64_t uid, const pawl_event *e)
{
    uint64_t h = sum_numbers(e->rid, uid, e->execution);
    h = sum_numbers(h, e->ref, (uint64_t)e->at_ms);
    h = sum_text(h + (uint64_t)e->kind, e->name);
    return sum_end(sum_text(sum_text(h, e->data), e->attrs));
}

/* That of its event, when it says the same: untried work has no other. */
static inline int64_t sum_work(const pawl_work *w)
{
    pawl_event e = {.rid = w->id,
                    .execution = w->execution,
                    .ref = w->ref,
                    .kind = PAWL_EV_ACTIVITY_SCHEDULED,
                    .at_ms = w->scheduled_ms,
                    .name = w->name,
                    .data = w->input,
                    .attrs = w->attrs};
    return sum_event(w->uid, &e);
}

static inline int64_t sum_message(const pawl_message *m)
{
    uint64_t h = sum_numbers(m->id, m->uid, m->execution);
    h = sum_numbers(h, m->ref, (uint64_t)m->created_ms);
    h = sum_text(sum_text(h + (uint64_t)m->kind, m->instance), m->name);
    return sum_end(sum_text(sum_text(h, m->data), m->attrs));
}

static inline int64_t sum_row(uint64_t uid, const pawl_row *r)
{
    uint64_t h = sum_numbers(uid, r->first_rid, (uint64_t)r->created_ms);
    h = sum_numbers(h, r->parent_uid, r->parent_execution);
    h = sum_numbers(h, r->parent_ref, (uint64_t)r->state);
    h = sum_text(sum_text(h, r->id), r->orchestration);
    h = sum_text(sum_text(h, r->version), r->parent_id);
    h = sum_text(sum_text(sum_text(h, r->output), r->custom_status), r->finding);
    return sum_end(r->attributes.len ? sum_text(h, r->attributes) : h); /* as before, without */
}

static inline int64_t sum_object(const pawl_object *o, uint64_t version, int64_t updated_ms)
{
    uint64_t h = sum_numbers((uint64_t)o->kind, version, (uint64_t)updated_ms);
    return sum_end(sum_text(sum_text(h, o->name), o->data));
}

static inline int64_t sum_entry(const pawl_queue_entry *e)
{
    uint64_t h = sum_numbers(e->id, (uint64_t)e->priority, (uint64_t)e->enqueued_ms);
    return sum_end(sum_text(sum_text(h + e->bytes, e->data), e->attrs));
}

#endif
