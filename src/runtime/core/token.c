/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/token.c -- see token.h.  Called by lease.c, activity.c, attempt.c and by_token.c.
 *
 * A second completion is rare, and looking for the first costs at most what bringing its
 * instance back into memory costs: the history from the schedule on, a page at a time, and what
 * waits for an instance that cannot run.
 */
#include "runtime/core/token.h"

#include "base/json.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK_DIGITS 16
#define PAGE_EVENTS 1000

void token_make(pawl_runtime *rt, const pawl_work *w, int64_t began_ms, char out[TOKEN_BYTES])
{
    uint64_t bits[2];
    rt->env.random(rt->env.user, bits, sizeof(bits));
    (void)snprintf(out, TOKEN_BYTES, "w%llu.%llu.%016llx%016llx.%lld", (unsigned long long)w->id,
                   (unsigned long long)w->uid, (unsigned long long)bits[0],
                   (unsigned long long)bits[1], (long long)began_ms);
}

uint64_t token_work(const char *token)
{
    return token[0] == 'w' ? strtoull(token + 1, NULL, 10) : 0;
}

static const char *part(const char *token, int skip)
{
    for (; token && skip; skip--) {
        token = strchr(token, '.');
        token = token ? token + 1 : NULL;
    }
    return token;
}

uint64_t token_uid(const char *token)
{
    const char *uid = part(token, 1);
    return uid ? strtoull(uid, NULL, 10) : 0;
}

pawl_str token_mark(const char *token)
{
    const char *digits = part(token, 2);
    if (!digits || strlen(digits) < MARK_DIGITS)
        return (pawl_str){0};
    return (pawl_str){digits, MARK_DIGITS};
}

int64_t token_began(pawl_str token, int64_t otherwise)
{
    char text[TOKEN_BYTES];
    (void)snprintf(text, sizeof(text), "%.*s", PAWL_FMT(token));
    const char *began = part(text, 3);
    return began ? strtoll(began, NULL, 10) : otherwise;
}

struct sought {
    uint64_t execution, ref;
    pawl_str mark, result;
    bool ok;
};

static bool is_it(const struct sought *what, pawl_mem *mem, pawl_str data, pawl_str attrs)
{
    return pawl_str_eq(what->result, data) && attrs.len &&
           pawl_str_eq(what->mark, pawl_json_text(mem, attrs, "/lease", ""));
}

/* The call's one completion is in the history; true: and it is the one sought. */
static bool is_in_history(pawl_runtime *rt, uint64_t uid, uint64_t seq, const struct sought *what)
{
    int kind = what->ok ? PAWL_EV_ACTIVITY_COMPLETED : PAWL_EV_ACTIVITY_FAILED;
    for (;;) {
        pawl_event_list list;
        arena_reset(&rt->load_mem);
        if (store_read_history(rt->store, uid, what->execution, seq, PAGE_EVENTS, &rt->load_mem,
                               &list, NULL) != PAWL_OK)
            return false;
        for (size_t i = 0; i < list.count; i++)
            if (list.items[i].kind == kind && list.items[i].ref == what->ref)
                return is_it(what, &rt->load_mem, list.items[i].data, list.items[i].attrs);
        if (list.count < PAGE_EVENTS)
            return false;
        seq = list.items[list.count - 1].seq;
    }
}

static bool is_in_mail(pawl_runtime *rt, uint64_t uid, const struct sought *what)
{
    pawl_message_list list;
    int kind = what->ok ? PAWL_MSG_ACTIVITY_COMPLETED : PAWL_MSG_ACTIVITY_FAILED;
    arena_reset(&rt->load_mem);
    if (store_read_messages(rt->store, uid, (pawl_str){0}, &rt->load_mem, &list, NULL) != PAWL_OK)
        return false;
    for (size_t i = 0; i < list.count; i++) {
        const pawl_message *m = &list.items[i];
        if (m->kind == kind && m->execution == what->execution && m->ref == what->ref)
            return is_it(what, &rt->load_mem, m->data, m->attrs);
    }
    return false;
}

bool token_is_recorded(pawl_runtime *rt, const char *token, bool ok, pawl_str result)
{
    struct sought what = {.mark = token_mark(token), .result = result, .ok = ok};
    uint64_t uid = token_uid(token);
    pawl_event e;
    arena_reset(&rt->load_mem);
    if (!uid || !what.mark.len ||
        store_read_event(rt->store, token_work(token), &rt->load_mem, &e, NULL) != PAWL_OK ||
        e.kind != PAWL_EV_ACTIVITY_SCHEDULED)
        return false;
    what.execution = e.execution;
    what.ref = e.ref;
    return is_in_history(rt, uid, e.seq, &what) || is_in_mail(rt, uid, &what);
}
