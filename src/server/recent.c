/* SPDX-License-Identifier: MIT */
/*
 * server/recent.c -- instances started here lately, and how they ended.
 *
 * Most clients wait for an instance that they have just started.  The answer to the
 * start says that it exists and has not ended, the commit feed says when it ends, so
 * such a wait reads nothing.  An end that comes before the wait is kept for it,
 * rendered, and given out once.  What is not here is looked up in the store.
 *
 * Replies and feed come from the engine thread in the order of commits, so an
 * entry is never older than the truth.  A removal forgets all of them before it is
 * answered: the feed comes after the reply.  Bounded: the oldest entries go first.  All
 * calls are under srv->lock (instance_wait.c, server.c).
 */
#include "server/server.h"

#include <stdlib.h>
#include <string.h>

#define RECENT_MAX      2048
#define RECENT_BYTES    (512 * 1024)
#define RECENT_BODY_MAX 8192

struct recent {
    struct recent *older, *newer;
    char *body; /* NULL: not ended */
    size_t body_len;
    size_t id_len;
    char id[];
};

void recents_init(struct recents *t)
{
    *t = (struct recents){0};
    map_init(&t->map);
}

static void drop(struct recents *t, struct recent *r)
{
    (void)map_removes(&t->map, (pawl_str){r->id, r->id_len});
    *(r->older ? &r->older->newer : &t->oldest) = r->newer;
    *(r->newer ? &r->newer->older : &t->newest) = r->older;
    t->bytes -= r->body_len;
    t->count--;
    free(r->body);
    free(r);
}

void recents_reset(struct recents *t)
{
    while (t->oldest)
        drop(t, t->oldest);
}

void recents_deinit(struct recents *t)
{
    recents_reset(t);
    map_deinit(&t->map);
}

void recent_forget(struct recents *t, pawl_str id)
{
    struct recent *r = t->count ? map_gets(&t->map, id) : NULL;
    if (r)
        drop(t, r);
}

void recent_started(struct recents *t, pawl_str id)
{
    recent_forget(t, id);
    struct recent *r = malloc(sizeof(*r) + id.len + 1);
    if (!r)
        return; /* it will be looked up */
    *r = (struct recent){.id_len = id.len, .older = t->newest};
    memcpy(r->id, id.ptr, id.len);
    r->id[id.len] = 0;
    if (!map_puts(&t->map, (pawl_str){r->id, r->id_len}, r)) {
        free(r);
        return;
    }
    *(t->newest ? &t->newest->newer : &t->oldest) = r;
    t->newest = r;
    if (++t->count > RECENT_MAX)
        drop(t, t->oldest);
}

void recent_ended(struct recents *t, pawl_str id, pawl_str body)
{
    struct recent *r = t->count ? map_gets(&t->map, id) : NULL;
    if (!r)
        return;
    char *copy = body.len && body.len <= RECENT_BODY_MAX && !r->body ? malloc(body.len) : NULL;
    if (!copy) {
        drop(t, r);
        return;
    }
    memcpy(copy, body.ptr, body.len);
    r->body = copy;
    r->body_len = body.len;
    t->bytes += body.len;
    while (t->bytes > RECENT_BYTES)
        drop(t, t->oldest);
}

bool recent_is_alive(const struct recents *t, pawl_str id)
{
    const struct recent *r = t->count ? map_gets(&t->map, id) : NULL;
    return r && !r->body;
}

enum recent_state recent_look(struct recents *t, pawl_str id, pawl_mem *mem, pawl_str *retbody)
{
    struct recent *r = t->count ? map_gets(&t->map, id) : NULL;
    if (!r)
        return RECENT_UNKNOWN;
    if (!r->body)
        return RECENT_ALIVE;
    *retbody = pawl_mem_dup(mem, (pawl_str){r->body, r->body_len});
    drop(t, r);
    return RECENT_ENDED;
}
