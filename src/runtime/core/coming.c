/* SPDX-License-Identifier: MIT */
/* runtime/core/coming.c -- see coming.h. */
#include "runtime/core/coming.h"

#include "runtime/core/due.h"
#include "runtime/core/letter.h"
#include "runtime/core/resident.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#define CAREFUL_STARTS 256

struct coming {
    struct coming *next; /* of those that are only spoken for */
    uint64_t message;    /* its start; 0: decided in this pass, not committed yet */
    size_t len;
    char id[];
};

static struct coming *add(pawl_runtime *rt, pawl_str id)
{
    struct coming *c = calloc(1, sizeof(*c) + id.len + 1);
    need_memory(c);
    c->len = id.len;
    memcpy(c->id, id.ptr, id.len);
    need_memory(map_puts(&rt->mail.coming, (pawl_str){c->id, c->len}, c));
    return c;
}

/* Starts of an earlier process may still lie in the store. */
static enum engine_taken is_stored(pawl_runtime *rt, pawl_str id)
{
    pawl_message_list list = {0};
    pawl_error err;
    if (!due_has_mail(rt))
        return TAKEN_NO;
    arena_reset(&rt->load_mem);
    pawl_status rc = store_read_messages(rt->store, 0, id, &rt->load_mem, &list, &err);
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].kind == PAWL_MSG_START)
            return TAKEN_YES;
    return rc == PAWL_OK ? TAKEN_NO : rc == PAWL_CORRUPT ? TAKEN_YES : TAKEN_UNKNOWN;
}

void coming_speak(void *user, pawl_str id)
{
    pawl_runtime *rt = user;
    if (map_gets(&rt->mail.coming, id))
        return;
    struct coming *c = add(rt, id);
    c->next = rt->mail.spoken_for;
    rt->mail.spoken_for = c;
}

enum engine_taken coming_ask(void *user, pawl_str id)
{
    pawl_runtime *rt = user;
    if (map_gets(&rt->mail.coming, id) || resident_by_id(rt, id))
        return TAKEN_YES;
    pawl_row row;
    pawl_error err;
    arena_reset(&rt->load_mem);
    pawl_status rc = store_find(rt->store, id, &rt->load_mem, &row, &err);
    enum engine_taken taken = rc == PAWL_NOT_FOUND                  ? is_stored(rt, id)
                              : rc == PAWL_OK || rc == PAWL_CORRUPT ? TAKEN_YES
                                                                    : TAKEN_UNKNOWN;
    if (taken == TAKEN_NO)
        coming_speak(rt, id);
    return taken;
}

/* A detached start is granted its id only while the id is free.  So when there are both, the child
 * was decided after it, whatever the order of their rows. */
static bool is_detached(const pawl_message *m)
{
    return !pawl_json_get(m->attrs, "/parent_uid").len;
}

void coming_add(pawl_runtime *rt, const pawl_message *m)
{
    struct coming *c = map_gets(&rt->mail.coming, m->instance);
    if (!c)
        c = add(rt, m->instance);
    if (!c->message || (c->message != m->id && is_detached(m)))
        c->message = m->id;
}

bool coming_before(const pawl_runtime *rt, const struct letter *l)
{
    const struct coming *c = rt->mail.coming.count ? map_gets(&rt->mail.coming, l->instance) : NULL;
    return c && (!c->message || c->message != l->mail.id);
}

void coming_gone(pawl_runtime *rt, const struct letter *l)
{
    const struct coming *c = rt->mail.coming.count ? map_gets(&rt->mail.coming, l->instance) : NULL;
    if (c && c->message && c->message == l->mail.id)
        free(map_removes(&rt->mail.coming, l->instance));
}

bool coming_is_bold(const pawl_runtime *rt, const struct letter *l)
{
    return rt->caps.far && rt->caps.atomic_rounds && l->mail.kind == PAWL_MSG_START && !l->uid &&
           !l->tries && !l->key.len && !rt->mail.careful && !(l->asked && l->ask.if_exists);
}

void coming_looked(pawl_runtime *rt, const struct letter *l)
{
    if (UNLIKELY(rt->mail.careful) && l->mail.kind == PAWL_MSG_START)
        rt->mail.careful--;
}

void coming_refused(pawl_runtime *rt, const pawl_round *start)
{
    if (rt->caps.far && start->change == PAWL_ROW_INSERT &&
        (start->why == PAWL_WHY_EXISTS || start->why == PAWL_WHY_UNKNOWN))
        rt->mail.careful = CAREFUL_STARTS;
}

void coming_fetched(pawl_runtime *rt)
{
    struct coming *c;
    for (size_t cursor = 0; (c = map_next(&rt->mail.coming, &cursor));)
        if (c->message && !letter_is_inflight(rt, c->message))
            free(map_removes(&rt->mail.coming, (pawl_str){c->id, c->len}));
}

const struct coming *coming_mark(const pawl_runtime *rt)
{
    return rt->mail.spoken_for;
}

void coming_take_back(pawl_runtime *rt, const struct coming *mark)
{
    while (rt->mail.spoken_for && rt->mail.spoken_for != mark) {
        struct coming *c = rt->mail.spoken_for;
        rt->mail.spoken_for = c->next;
        if (!c->message)
            free(map_removes(&rt->mail.coming, (pawl_str){c->id, c->len}));
    }
}

void coming_pass(pawl_runtime *rt)
{
    coming_take_back(rt, NULL);
}

void coming_free(pawl_runtime *rt)
{
    size_t cursor = 0;
    for (void *c; (c = map_next(&rt->mail.coming, &cursor));)
        free(c);
    map_deinit(&rt->mail.coming);
}

void coming_open(pawl_runtime *rt)
{
    map_init(&rt->mail.coming);
}
