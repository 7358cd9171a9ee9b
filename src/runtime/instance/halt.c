/* SPDX-License-Identifier: MIT */
/* runtime/instance/halt.c -- see halt.h.  Called by felling.c, turn.c and begin.c. */
#include "runtime/instance/halt.h"

#include "runtime/core/due.h"
#include "runtime/core/letter.h"
#include "runtime/core/resident.h"
#include "runtime/instance/load.h"
#include "runtime/instance/mailbox.h"
#include "runtime/instance/park.h"
#include "store/store.h"

void halt_open(pawl_runtime *rt)
{
    idset_init(&rt->mail.halt.roots);
    idset_init(&rt->mail.halt.mail);
    idset_init(&rt->mail.halt.starts);
}

void halt_close(pawl_runtime *rt)
{
    idset_deinit(&rt->mail.halt.roots);
    idset_deinit(&rt->mail.halt.mail);
    idset_deinit(&rt->mail.halt.starts);
}

void halt_tree(pawl_runtime *rt, uint64_t root_uid)
{
    need_memory(idset_add(&rt->mail.halt.roots, root_uid));
}

void halt_end(pawl_runtime *rt, uint64_t root_uid)
{
    struct idset *waiting = &rt->mail.halt.mail, *starts = &rt->mail.halt.starts;
    idset_remove(&rt->mail.halt.roots, root_uid);
    size_t n = waiting->count > starts->count ? waiting->count : starts->count;
    uint64_t *list = arena_array(&rt->group_mem, uint64_t, n + 1);
    idset_list(waiting, list);
    for (size_t i = 0; i < waiting->count; i++)
        park_unpile(rt, list[i]);
    idset_list(starts, list);
    store_abandon_messages(rt->store, list, starts->count);
    if (starts->count)
        due_fetch(rt);
    idset_reset(waiting);
    idset_reset(starts);
}

void halt_gone(pawl_runtime *rt, uint64_t uid)
{
    idset_remove(&rt->mail.halt.mail, uid);
}

/* OK when the instance or one above it stands still, NONE when not; else trouble. */
static enum load_result look(pawl_runtime *rt, uint64_t uid)
{
    while (uid && !idset_has(&rt->mail.halt.roots, uid)) {
        struct resident *r = NULL;
        enum load_result found = load_row(rt, uid, (pawl_str){0}, &r);
        if (found == LOAD_TROUBLE)
            return found;
        uid = found == LOAD_OK ? r->row.parent_uid : 0;
    }
    return uid ? LOAD_OK : LOAD_NONE;
}

/* These run no code: they end it, or are answered. */
static bool is_harmless(const struct letter *l)
{
    return l->mail.kind == PAWL_MSG_TERMINATE || l->mail.kind == PAWL_MSG_CANCEL_DEADLINE ||
           l->mail.kind == PAWL_MSG_SUSPEND || l->mail.kind == PAWL_MSG_RESUME;
}

bool halt_takes(pawl_runtime *rt, struct resident *r, struct letter *l, struct delivered *ret)
{
    if (LIKELY(!rt->mail.halt.roots.count) || is_harmless(l))
        return false;
    *ret = verdict_done();
    switch (look(rt, r->row.uid)) {
    case LOAD_TROUBLE:
        *ret = verdict_on(l, VERDICT_UNREAD);
        return true;
    case LOAD_OK:
        need_memory(idset_add(&rt->mail.halt.mail, r->row.uid));
        if (!mailbox_refuses(rt, NULL, r->row.uid, l))
            turn_pile(rt, r, l);
        return true;
    case LOAD_NONE:
    case LOAD_DAMAGED:
        break;
    }
    return false;
}

bool halt_takes_start(pawl_runtime *rt, uint64_t parent_uid, struct letter *l,
                      struct delivered *ret)
{
    if (LIKELY(!rt->mail.halt.roots.count) || !parent_uid)
        return false;
    *ret = verdict_done();
    switch (look(rt, parent_uid)) {
    case LOAD_TROUBLE:
        *ret = verdict_on(l, VERDICT_UNREAD);
        return true;
    case LOAD_OK: /* its row stays taken: it is not fetched again */
        need_memory(idset_add(&rt->mail.halt.starts, l->mail.id));
        letter_drop(rt, l, PAWL_OK, "");
        return true;
    case LOAD_NONE:
    case LOAD_DAMAGED:
        break;
    }
    return false;
}
