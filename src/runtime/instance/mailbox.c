/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/mailbox.c -- see mailbox.h.
 *
 * Rows that wait are counted by reading them once and by adding up from then on.  Nothing is
 * taken off when they go, so the figure is never too small; before it refuses a raise, the
 * rows are counted again, at most once a second.
 */
#include "runtime/instance/mailbox.h"

#include "engine/engine.h"
#include "runtime/core/letter.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESSES_MAX  4096 /* counted at a time; beyond that all are counted again */
#define COUNT_AGAIN_MS 1000

struct count {
    uint64_t events, bytes;
    int64_t counted_ms; /* mono */
    size_t len;
    char key[];
};

static bool is_over(const pawl_runtime *rt, uint64_t events, uint64_t bytes)
{
    return events >= rt->opts.max_mailbox || bytes >= MAILBOX_PAYLOADS * rt->opts.max_payload;
}

static void forget_all(pawl_runtime *rt)
{
    size_t cursor = 0;
    for (void *c; (c = map_next(&rt->mail.boxes, &cursor));)
        free(c);
    map_reset(&rt->mail.boxes);
}

static struct count *count_of(pawl_runtime *rt, uint64_t uid, pawl_str name)
{
    char number[24];
    (void)snprintf(number, sizeof(number), "\n%llu", (unsigned long long)uid); /* no name has \n */
    pawl_str key = uid ? pawl_s(number) : name;
    assert_that(key.ptr); /* an instance, or a name that is not empty */
    struct count *c = map_gets(&rt->mail.boxes, key);
    if (c)
        return c;
    if (rt->mail.boxes.count >= ADDRESSES_MAX)
        forget_all(rt);
    c = calloc(1, sizeof(*c) + key.len);
    need_memory(c);
    c->counted_ms = INT64_MIN;
    c->len = key.len;
    memcpy(c->key, key.ptr, key.len);
    need_memory(map_puts(&rt->mail.boxes, (pawl_str){c->key, c->len}, c));
    return c;
}

/* False: the store did not answer. */
static bool count_rows(pawl_runtime *rt, struct count *c, uint64_t uid, pawl_str name)
{
    pawl_message_list list = {0};
    pawl_error err;
    arena_reset(&rt->load_mem);
    if (uid)
        name = (pawl_str){0};
    pawl_status rc = store_read_messages(rt->store, uid, name, &rt->load_mem, &list, &err);
    if (rc != PAWL_OK && rc != PAWL_CORRUPT) /* damage does not pass */
        return false;
    c->events = c->bytes = 0;
    for (size_t i = 0; i < list.count; i++) {
        c->events +=
            list.items[i].kind == PAWL_MSG_EXTERNAL_RAISED || list.items[i].kind == PAWL_MSG_UPDATE;
        c->bytes += list.items[i].data.len;
    }
    c->counted_ms = rt_mono(rt);
    return true;
}

static bool rows_are_full(pawl_runtime *rt, uint64_t uid, const struct letter *l)
{
    struct count *c = count_of(rt, uid, l->instance);
    bool known = c->counted_ms != INT64_MIN;
    bool old = !known || rt_mono(rt) - c->counted_ms >= COUNT_AGAIN_MS;
    if ((!known || is_over(rt, c->events, c->bytes)) && old)
        (void)count_rows(rt, c, uid, l->instance); /* unreadable: as far as is known */
    if (is_over(rt, c->events, c->bytes))
        return true;
    c->events++;
    c->bytes += l->mail.data.len;
    return false;
}

static bool execution_is_full(const pawl_runtime *rt, const execution *x, const struct letter *l)
{
    return is_over(rt, execution_mailbox_count(x), execution_mailbox_bytes(x)) &&
           !execution_waits_for(x, l->mail.kind, l->mail.name);
}

bool mailbox_is_full(pawl_runtime *rt, const execution *x, uint64_t uid, const struct letter *l)
{
    if (x)
        return execution_is_full(rt, x, l);
    if (!rows_are_full(rt, uid, l))
        return false;
    struct count *c = count_of(rt, uid, l->instance);
    return count_rows(rt, c, uid, l->instance) && is_over(rt, c->events, c->bytes);
}

bool mailbox_refuses(pawl_runtime *rt, const execution *x, uint64_t uid, struct letter *l)
{
    if (!l->asked || l->stored ||
        (l->mail.kind != PAWL_MSG_EXTERNAL_RAISED && l->mail.kind != PAWL_MSG_UPDATE))
        return false;
    if (x ? !execution_is_full(rt, x, l) : !rows_are_full(rt, uid, l))
        return false;
    char text[240];
    (void)snprintf(text, sizeof(text),
                   "its mailbox is full: %u events or %zu bytes that no wait has taken "
                   "(--max-mailbox); raise it again when the instance has taken some",
                   rt->opts.max_mailbox, MAILBOX_PAYLOADS * rt->opts.max_payload);
    letter_drop(rt, l, PAWL_CONFLICT, text);
    return true;
}

static bool fits(const pawl_runtime *rt, uint64_t events, uint64_t bytes)
{
    return events <= rt->opts.max_mailbox && bytes <= MAILBOX_PAYLOADS * rt->opts.max_payload;
}

bool mailbox_has_room(pawl_runtime *rt, const execution *x, uint64_t uid, uint64_t events,
                      uint64_t bytes)
{
    if (x)
        return fits(rt, execution_mailbox_count(x) + events, execution_mailbox_bytes(x) + bytes);
    struct count *c = count_of(rt, uid, (pawl_str){0});
    (void)count_rows(rt, c, uid, (pawl_str){0}); /* unreadable: as far as is known */
    if (!fits(rt, c->events + events, c->bytes + bytes))
        return false;
    c->events += events;
    c->bytes += bytes;
    return true;
}

void mailbox_free(pawl_runtime *rt)
{
    forget_all(rt);
    map_deinit(&rt->mail.boxes);
}

void mailbox_open(pawl_runtime *rt)
{
    map_init(&rt->mail.boxes);
}
