/* SPDX-License-Identifier: MIT */
/*
 * engine/mailbox.c -- events that came, waits that are open, by name.
 *
 * A channel is one event name: its open waits and its kept mail, both oldest
 * first.  Mail is also on one list in order of arrival, for the next execution
 * of a ContinueAsNew.  Letters live in an arena of their own that is emptied
 * whenever the mailbox is, so a long-lived execution does not grow with the
 * mail it has taken.
 *
 * Only live messages meet the mailbox: what history says was taken is gone from
 * the store already, so replay never looks here (SEMANTICS 16).
 *
 * Called by: apply.c, task.c, decide.c, the runtime on load and ContinueAsNew.
 */
#include "base/rand.h"
#include "engine/engine_private.h"

#include <string.h>

#define BUCKETS_FIRST 8

static void grow(execution *x);
static size_t bucket_of(pawl_str name, size_t count);
static void push_consumed(execution *x, uint64_t id);

bool execution_mailbox_add(execution *x, uint64_t message_id, pawl_str name, pawl_str data)
{
    if (!execution_enter(x, NULL, 0, NULL))
        return x->outcome != ENGINE_NO_MEMORY;
    if (setjmp(x->guard) == 0) {
        struct letter *m = mailbox_put(x, message_id, name, data);
        if (m->channel->wait_head)
            x->mail_matchable = true;
    }
    return execution_leave(x) != ENGINE_NO_MEMORY;
}

void execution_mailbox_each(execution *x,
                            void (*take)(void *arg, uint64_t message_id, pawl_str name,
                                         pawl_str data),
                            void *arg)
{
    for (const struct letter *m = x->mail_head; m; m = m->next)
        take(arg, m->id, m->channel->name, m->data);
}

size_t execution_mailbox_count(const execution *x)
{
    return x->mail_count;
}

size_t execution_mailbox_bytes(const execution *x)
{
    return x->mail_bytes;
}

bool execution_waits_for(const execution *x, pawl_str name)
{
    if (!x->bucket_count)
        return false;
    const struct channel *ch = x->buckets[bucket_of(name, x->bucket_count)];
    while (ch && !pawl_str_eq(ch->name, name))
        ch = ch->next;
    return ch && ch->wait_head;
}

size_t execution_consumed(execution *x, const uint64_t **retids)
{
    size_t n = x->consumed_taken ? 0 : x->consumed_count;

    *retids = x->consumed;
    x->consumed_taken = true;
    return n;
}

struct channel *channel_find(execution *x, pawl_str name, bool make)
{
    if (x->bucket_count == 0 || x->channel_count >= x->bucket_count) {
        if (!make && x->bucket_count == 0)
            return NULL;
        grow(x);
    }
    struct channel **at = &x->buckets[bucket_of(name, x->bucket_count)];

    for (struct channel *ch = *at; ch; ch = ch->next)
        if (pawl_str_eq(ch->name, name))
            return ch;
    if (!make)
        return NULL;
    struct channel *ch = arena_new(&x->mem, struct channel);
    ch->name = arena_dup(&x->mem, name);
    ch->next = *at;
    *at = ch;
    x->channel_count++;
    return ch;
}

void channel_open_wait(execution *x, struct task *t, pawl_str name)
{
    struct channel *ch = channel_find(x, name, true);

    t->channel = ch;
    t->name = ch->name;
    t->wait_prev = ch->wait_tail;
    if (ch->wait_tail)
        ch->wait_tail->wait_next = t;
    else
        ch->wait_head = t;
    ch->wait_tail = t;
    if (ch->mail_head)
        x->mail_matchable = true;
}

void channel_close_wait(struct task *t)
{
    struct channel *ch = t->channel;

    if (t->wait_prev)
        t->wait_prev->wait_next = t->wait_next;
    else
        ch->wait_head = t->wait_next;
    if (t->wait_next)
        t->wait_next->wait_prev = t->wait_prev;
    else
        ch->wait_tail = t->wait_prev;
    t->wait_prev = t->wait_next = NULL;
}

struct letter *mailbox_put(execution *x, uint64_t id, pawl_str name, pawl_str data)
{
    struct channel *ch = channel_find(x, name, true);
    struct letter *m = arena_new(&x->mail_mem, struct letter);

    m->id = id;
    m->channel = ch;
    m->data = arena_dup(&x->mail_mem, data);
    if (ch->mail_tail)
        ch->mail_tail->next_same = m;
    else
        ch->mail_head = m;
    ch->mail_tail = m;
    m->prev = x->mail_tail;
    if (x->mail_tail)
        x->mail_tail->next = m;
    else
        x->mail_head = m;
    x->mail_tail = m;
    x->mail_count++;
    x->mail_bytes += data.len;
    return m;
}

void mailbox_remove(execution *x, struct letter *m)
{
    struct channel *ch = m->channel;

    assert_that(ch->mail_head == m && x->mail_count > 0);
    ch->mail_head = m->next_same;
    if (!ch->mail_head)
        ch->mail_tail = NULL;
    if (m->prev)
        m->prev->next = m->next;
    else
        x->mail_head = m->next;
    if (m->next)
        m->next->prev = m->prev;
    else
        x->mail_tail = m->prev;
    x->mail_bytes -= m->data.len;
    if (--x->mail_count == 0)
        arena_reset(&x->mail_mem);
}

void mailbox_consume(execution *x, struct letter *m)
{
    push_consumed(x, m->id);
    mailbox_remove(x, m);
}

void mailbox_discard(execution *x, struct channel *ch)
{
    while (ch->mail_head) {
        decide_discard(x, ch->mail_head->id);
        mailbox_remove(x, ch->mail_head);
    }
}

static void push_consumed(execution *x, uint64_t id)
{
    if (x->consumed_taken) {
        x->consumed_taken = false;
        x->consumed_count = 0;
    }
    if (x->consumed_count == x->consumed_cap) {
        size_t cap = x->consumed_cap ? x->consumed_cap * 2 : 8;
        uint64_t *ids = arena_array(&x->mem, uint64_t, cap);
        if (x->consumed_count)
            memcpy(ids, x->consumed, x->consumed_count * sizeof(*ids));
        x->consumed = ids;
        x->consumed_cap = cap;
    }
    x->consumed[x->consumed_count++] = id;
}

static void grow(execution *x)
{
    size_t count = x->bucket_count ? x->bucket_count * 2 : BUCKETS_FIRST;
    struct channel **buckets = arena_array(&x->mem, struct channel *, count);

    for (size_t i = 0; i < x->bucket_count; i++)
        for (struct channel *ch = x->buckets[i], *next; ch; ch = next) {
            next = ch->next;
            size_t b = bucket_of(ch->name, count);
            ch->next = buckets[b];
            buckets[b] = ch;
        }
    x->buckets = buckets;
    x->bucket_count = count;
}

/* Event names come from outside, but one execution holds few: a fixed key is enough. */
static size_t bucket_of(pawl_str name, size_t count)
{
    static const uint64_t key[2] = {0x7061776c2d6d6169, 0x6c626f782d6e616d};

    return (size_t)(siphash24(key, name.ptr, name.len) & (count - 1));
}
