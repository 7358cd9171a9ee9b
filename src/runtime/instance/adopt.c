/* SPDX-License-Identifier: MIT */
/* runtime/instance/adopt.c -- see adopt.h. */
#include "runtime/instance/adopt.h"

#include "runtime/core/peek.h"
#include "runtime/core/stage.h"
#include "runtime/instance/raises.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

bool adopt_is_kept_now(const pawl_runtime *rt, pawl_str id)
{
    if (!map_gets(&rt->mail.kept_names, id))
        return false;
    for (const struct stage *s = stage_first(rt); s; s = s->next)
        for (size_t i = 0; i < s->messages.count; i++)
            if (!s->messages.items[i].uid && s->messages.items[i].mailbox &&
                pawl_str_eq(s->messages.items[i].instance, id))
                return true;
    return false;
}

static void adopt_one(pawl_runtime *rt, struct resident *r, struct stage *s,
                      const pawl_message *old)
{
    pawl_message *m = stage_send(rt, s, old->kind, s->row.uid, (pawl_str){0});
    m->name = arena_dup(&rt->group_mem, old->name);
    m->data = arena_dup(&rt->group_mem, old->data);
    peek_adopted(rt, s, m, old->id);
    m->mailbox = true;
    pawl_str key = pawl_json_text(&rt->group_mem, old->attrs, "/key", "");
    if (key.len)
        *list_add(&rt->group_mem, &s->keys) = key;
    if (r->x)
        execution_mailbox_add(r->x, m->id, m->name, m->data);
    *list_add(&rt->group_mem, &s->drop_messages) = old->id;
}

static bool adopt_kept(pawl_runtime *rt, struct resident *r, struct stage *s)
{
    pawl_message_list list;
    pawl_error err;
    if (!map_gets(&rt->mail.kept_names, r->row.id))
        return true;
    arena_reset(&rt->load_mem);
    pawl_status rc = store_read_messages(rt->store, 0, r->row.id, &rt->load_mem, &list, &err);
    if (rc != PAWL_OK)
        return rc == PAWL_CORRUPT; /* damaged mail stays where it is */
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].kind == PAWL_MSG_EXTERNAL_RAISED && list.items[i].mailbox)
            adopt_one(rt, r, s, &list.items[i]);
    s->adopted = true;
    return true;
}

bool adopt_mail(pawl_runtime *rt, struct resident *r, struct stage *s, struct letter *l)
{
    return adopt_kept(rt, r, s) && raises_add(rt, r, s, l);
}

bool adopt_note(pawl_runtime *rt, pawl_str id)
{
    if (map_gets(&rt->mail.kept_names, id))
        return true;
    char *name = strndup(id.ptr, id.len);
    if (name && map_puts(&rt->mail.kept_names, (pawl_str){name, id.len}, name))
        return true;
    free(name);
    return false;
}

void adopt_done(pawl_runtime *rt, pawl_str id)
{
    free(map_removes(&rt->mail.kept_names, id));
}

void adopt_free(pawl_runtime *rt)
{
    char *name;
    for (size_t cursor = 0; (name = map_next(&rt->mail.kept_names, &cursor));)
        free(name);
    map_deinit(&rt->mail.kept_names);
}

void adopt_open(pawl_runtime *rt)
{
    map_init(&rt->mail.kept_names);
}
