/* SPDX-License-Identifier: MIT */
/* runtime/instance/raises.c -- see raises.h. */
#include "runtime/instance/raises.h"

#include "base/limits.h"
#include "runtime/core/letter.h"
#include "runtime/core/resident.h"
#include "runtime/core/stage.h"
#include "runtime/instance/mailbox.h"
#include "store/store.h"

#include <stdio.h>

pawl_status raises_look(pawl_runtime *rt, const struct resident *r, struct letter *l)
{
    pawl_error err;
    for (size_t i = 0; l->raises && i < l->raises->count; i++) {
        struct letter_raise *one = &l->raises->items[i];
        pawl_status rc =
            one->key.len ? store_has_key(rt->store, r->row.uid, one->key, &err) : PAWL_EMPTY;
        if (rc != PAWL_OK && rc != PAWL_EMPTY)
            return rc;
        one->seen = rc == PAWL_OK;
    }
    return PAWL_OK;
}

bool raises_any(const struct letter *l)
{
    for (size_t i = 0; l->raises && i < l->raises->count; i++)
        if (!l->raises->items[i].seen)
            return true;
    return false;
}

/* Its key came with mail kept for the id, or with another of this start. */
static bool is_twin(const struct stage *s, pawl_str key)
{
    for (size_t i = 0; key.len && i < s->keys.count; i++)
        if (pawl_str_eq(s->keys.items[i], key))
            return true;
    return false;
}

/* One as a row; NULL: it was raised before.  The strings stay in the letter until the commit. */
static pawl_message *stage_raise(pawl_runtime *rt, struct stage *s, const struct letter_raise *one)
{
    if (one->seen || is_twin(s, one->key))
        return NULL;
    int kind = one->attrs.len ? PAWL_MSG_UPDATE : PAWL_MSG_EXTERNAL_RAISED;
    pawl_message *m = stage_send(rt, s, kind, s->row.uid, (pawl_str){0});
    m->name = one->event;
    m->data = one->data;
    m->attrs = one->attrs;
    if (one->key.len)
        *list_add(&rt->group_mem, &s->keys) = one->key;
    return m;
}

bool raises_add(pawl_runtime *rt, struct resident *r, struct stage *s, struct letter *l)
{
    for (size_t i = 0; l->raises && i < l->raises->count; i++) {
        struct letter_raise *one = &l->raises->items[i];
        if (s->change == PAWL_ROW_INSERT) /* one of the same id that had seen it is gone */
            one->seen = false;
        pawl_message *m = stage_raise(rt, s, one);
        if (!m)
            continue;
        m->mailbox = true;
        const struct mail mail = {
            .id = m->id, .kind = m->kind, .name = m->name, .data = m->data, .attrs = m->attrs};
        if (r->x && !execution_mailbox_keep(r->x, &mail))
            return false;
    }
    return true;
}

static struct delivered refuse(pawl_runtime *rt, struct resident *r, struct letter *l,
                               const char *why)
{
    char text[LIMIT_CHILD_ID_BYTES + 200];
    (void)snprintf(text, sizeof(text), "instance '%.*s' %s", PAWL_FMT(resident_row(r)->id), why);
    letter_drop(rt, l, PAWL_CONFLICT, text);
    return verdict_done();
}

struct delivered raises_use(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    if (pawl_state_is_terminal(resident_row(r)->state))
        return refuse(rt, r, l, "has ended and gets no events; run it again (if_exists: rerun)");
    uint64_t events = 0, bytes = 0;
    for (size_t i = 0; i < l->raises->count; i++) {
        events += !l->raises->items[i].seen;
        bytes += l->raises->items[i].seen ? 0 : l->raises->items[i].data.len;
    }
    if (!mailbox_has_room(rt, r->x, r->row.uid, events, bytes))
        return refuse(rt, r, l,
                      "has no room for these events in its mailbox (--max-mailbox); start it again "
                      "when it has taken some");
    struct stage *s = stage_of(rt, r);
    for (size_t i = 0; i < l->raises->count; i++)
        (void)stage_raise(rt, s, &l->raises->items[i]); /* delivered after the commit, in order */
    l->duplicate = true;
    stage_take(s, l);
    return verdict_done();
}
