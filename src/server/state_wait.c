/* SPDX-License-Identifier: MIT */
/*
 * server/state_wait.c -- GET …/state/{key}?version=&wait_ms=: a long poll for a newer version.
 *
 * A commit that changes the published state of the instance, or ends or removes it, brings the call
 * back (long_poll.c), and a reader looks again.
 */
#include "base/clock.h"
#include "server/handlers.h"
#include "view/state_json.h"

#define WAIT_MAX_MS 60000

/* [reader] The key as it is now. */
static void answer_now(struct call *c)
{
    pawl_error err;
    pawl_json *w = pawl_json_new(c->mem);
    c->place.on_back = NULL;
    if (state_render(c->srv->client, c->args[0], c->args[1], c->mem, w, &err) == PAWL_OK)
        answer_json(c, 200, w);
    else
        answer_failure(c, &err);
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
    struct long_poll poll = {&c->srv->state_waiting, look, answer_now};
    poll_until(c, poll, clock_mono_ms() + wait_ms);
}
