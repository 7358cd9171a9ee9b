/* SPDX-License-Identifier: MIT */
/*
 * server/state_wait.c -- GET …/state/{key}?version=&wait_ms=: a long poll for a newer version.
 *
 * As GET …/wait (instance_wait.c): the call enters the list of its instance before a reader looks,
 * so no change between look and sleep is lost, and it holds no thread while it sleeps.  A commit
 * that changes the published state of the instance, or ends or removes it, brings the call back,
 * and a reader looks again.  When its time is over it gets what there is.
 */
#include "base/clock.h"
#include "server/handlers.h"
#include "view/state_json.h"

#define WAIT_MAX_MS 60000

static void look(struct call *c);

/* [reader] The key as it is now. */
static void answer_now(struct call *c)
{
    pawl_error err;
    pawl_json *w = pawl_json_new(c->mem);
    c->on_back = NULL;
    if (state_render(c->srv->client, c->args[0], c->args[1], c->mem, w, &err) == PAWL_OK)
        answer_json(c, 200, w);
    else
        answer_failure(c, &err);
}

/* Into the list, and a reader looks whether there is something newer. */
static void look_while_listed(struct call *c)
{
    pthread_mutex_lock(&c->srv->lock);
    wait_hang(c, &c->srv->state_waiting);
    c->looks = true;
    pthread_mutex_unlock(&c->srv->lock);
    reader_post(c, look);
}

/* It changed, or time is up, or the client is gone. */
static void look_again(struct call *c)
{
    if (c->asker == ASKER_LOST)
        call_drop(c);
    else if (c->revoked)
        answer_error(c, 401, "unauthorized", "the token was revoked");
    else if (c->asker == ASKER_HERE && clock_mono_ms() < c->until.key)
        look_while_listed(c);
    else
        reader_post(c, answer_now);
}

/* A reader found nothing newer: sleep, unless a change came meanwhile. */
static void sleep_on(struct call *c)
{
    wait_sleep(c, look_again);
}

static void take_version(void *arg, pawl_str key, pawl_str value, uint64_t version,
                         int64_t updated_ms)
{
    (void)key, (void)value, (void)updated_ms;
    *(uint64_t *)arg = version;
}

/* [reader] Is it newer than what the client has?  An instance that has ended has no newer one. */
static void look(struct call *c)
{
    uint64_t has = *(const uint64_t *)c->data, version = 0;
    pawl_state state;
    pawl_error err;
    c->on_back = sleep_on;
    pawl_status rc = pawl_client_state(c->srv->client, c->args[0], c->mem, &state, &err);
    if (rc == PAWL_OK && !pawl_state_is_terminal(state)) {
        rc = pawl_client_published(c->srv->client, c->args[0], c->args[1], take_version, &version,
                                   &err);
        if ((rc == PAWL_OK || rc == PAWL_NOT_FOUND) && version <= has)
            return;
    }
    wait_leave(c);
    answer_now(c);
}

void handle_state_key(struct call *c)
{
    int64_t version, wait_ms;
    if (!call_number(c, "version", 0, INT64_MAX, 0, &version) ||
        !call_number(c, "wait_ms", 0, WAIT_MAX_MS, 0, &wait_ms))
        return;
    uint64_t *has = pawl_mem_alloc(c->mem, sizeof(*has));
    *has = (uint64_t)version;
    c->data = has;
    c->until.key = clock_mono_ms() + wait_ms;
    if (wait_ms)
        look_while_listed(c);
    else
        reader_post(c, answer_now);
}

/* Under the lock.  True: the loop must be woken. */
bool state_tell(struct map *list, const pawl_change *change)
{
    bool wake = false;
    struct call *c = list->count ? map_removes(list, change->instance) : NULL;
    for (struct call *next; c; c = next) {
        next = c->wait_next;
        c->waits = false;
        if (!c->looks) /* else the thread that has it will notice */
            wake = call_back(c) || wake;
    }
    return wake;
}
