/* SPDX-License-Identifier: MIT */
/*
 * server/wait.c -- GET …/wait: a long poll that holds no thread.
 *
 * The call hangs itself into the list of its instance *before* it looks, so no
 * ending between look and sleep is lost; for one that was started here lately it need
 * not look at all (recent.c).  The commit feed takes it out, with the answer when the
 * commit has it, and brings it back; so does the end of its time.
 *
 * While it looks (`looks`) the call's memory is the loop's; hanging in the list
 * without looking it is the feed's.
 */
#include "base/clock.h"
#include "server/handlers.h"
#include "view/render.h"

#define WAIT_DEFAULT_MS 30000
#define WAIT_MAX_MS     60000

/* Into the list of its instance; under the lock. */
static void hang_in(struct call *c)
{
    pawl_server *s = c->srv;
    pawl_str id = pawl_s(c->args[0]);
    struct call *others = map_gets(&s->waiting, id);
    if (others)
        (void)map_removes(&s->waiting, id); /* the key lives with the newest */
    c->next = others;
    c->waits = true;
    assert_that(map_puts(&s->waiting, id, c));
}

void wait_leave(struct call *c)
{
    pawl_server *s = c->srv;
    pthread_mutex_lock(&s->lock);
    if (c->waits) {
        struct call *top = map_removes(&s->waiting, pawl_s(c->args[0])), **at = &top;
        while (*at && *at != c)
            at = &(*at)->next;
        if (*at)
            *at = c->next;
        if (top)
            assert_that(map_puts(&s->waiting, pawl_s(top->args[0]), top));
        c->waits = false;
    } else if (c->is_back) { /* the feed was quicker */
        struct call **at = &s->back;
        while (*at != c)
            at = &(*at)->next;
        *at = c->next;
        if (!*at)
            s->back_end = at;
        c->is_back = false;
    }
    pthread_mutex_unlock(&s->lock);
}

/* ---- The commit feed ----------------------------------------------------------------- */

static bool is_end(const pawl_change *change)
{
    return !change->queue.ptr && (change->removed || pawl_state_is_terminal(change->state));
}

static pawl_str render(pawl_mem *mem, const pawl_info *info)
{
    pawl_json *w = pawl_json_new(mem);
    pawl_json_object(w);
    render_instance_members(w, mem, info);
    pawl_json_end(w);
    return pawl_json_done(w);
}

/* The answers to be: of what ended in this commit and somebody waits for, or may soon.  Made
 * without the lock; an instance that is asked for meanwhile is looked up. */
static pawl_str *render_ends(pawl_server *s, const pawl_change *changes, size_t count)
{
    pawl_str *bodies = NULL;
    const pawl_change *end = changes + count;
    pthread_mutex_lock(&s->lock);
    for (const pawl_change *at = changes; at < end; at++)
        if (at->ended &&
            (map_gets(&s->waiting, at->instance) || recent_is_alive(&s->recents, at->instance))) {
            if (!bodies)
                bodies = pawl_mem_alloc(s->feed_mem, count * sizeof(*bodies));
            bodies[at - changes] = at->instance; /* wanted */
        }
    pthread_mutex_unlock(&s->lock);
    for (size_t i = 0; bodies && i < count; i++)
        if (bodies[i].ptr)
            bodies[i] = render(s->feed_mem, changes[i].ended);
    return bodies;
}

/* It ended, or is gone: whoever waits has the answer, or looks once more.  True: the loop
 * must be woken. */
static bool tell_end(pawl_server *s, const pawl_change *change, pawl_str body)
{
    bool wake = false;
    struct call *c = s->waiting.count ? map_removes(&s->waiting, change->instance) : NULL;
    if (c || change->removed)
        recent_forget(&s->recents, change->instance);
    else
        recent_ended(&s->recents, change->instance, body);
    for (struct call *next; c; c = next) { /* as call_done(), under the lock */
        next = c->next;
        if (body.len && !c->looks) {
            c->on_back = NULL;
            answer_text(c, 200, NULL, pawl_mem_dup(c->mem, body));
        }
        c->waits = false;
        wake = call_back(c) || wake;
    }
    return wake;
}

void wait_feed(void *arg, const pawl_change *changes, size_t count)
{
    pawl_server *s = arg;
    bool wake = false;
    streams_note(s->streams, changes, count);
    const pawl_str *bodies = render_ends(s, changes, count);
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < count; i++)
        if (is_end(&changes[i]))
            wake = tell_end(s, &changes[i], bodies ? bodies[i] : (pawl_str){0}) || wake;
    pthread_mutex_unlock(&s->lock);
    pawl_mem_reset(s->feed_mem);
    if (wake)
        loop_wake(s);
}

void wait_started(pawl_server *s, const char *instance)
{
    pthread_mutex_lock(&s->lock);
    recent_started(&s->recents, pawl_s(instance));
    pthread_mutex_unlock(&s->lock);
}

void wait_removed(pawl_server *s)
{
    pthread_mutex_lock(&s->lock);
    recents_reset(&s->recents); /* rare: all that is lost is a look */
    pthread_mutex_unlock(&s->lock);
}

/* ---- The call ---------------------------------------------------------------------------- */

/* Answer when it has ended, or `final`; false: it goes on. */
static bool look(struct call *c, bool final)
{
    pawl_info info;
    pawl_error err;
    pawl_state state = PAWL_COMPLETED;
    pawl_status rc = PAWL_OK;
    if (!final) /* what it waits for is not asked: do not read its history */
        rc = pawl_client_state(c->srv->client, c->args[0], c->mem, &state, &err);
    if (rc == PAWL_OK && !pawl_state_is_terminal(state))
        return false;
    if (rc == PAWL_OK)
        rc = pawl_client_get(c->srv->client, c->args[0], 0, c->mem, &info, &err);
    if (rc == PAWL_OK)
        answer_text(c, pawl_state_is_terminal(info.state) ? 200 : 202, NULL, render(c->mem, &info));
    else
        answer_failure(c, &err);
    return true;
}

/* The instance has ended, or time is up. */
static void look_again(struct call *c)
{
    (void)look(c, true);
}

/* The call is with the feed from here on when this says ALIVE. */
static enum recent_state enter(struct call *c, bool may_park, pawl_str *retbody)
{
    pawl_server *s = c->srv;
    pthread_mutex_lock(&s->lock);
    enum recent_state state = recent_look(&s->recents, pawl_s(c->args[0]), c->mem, retbody);
    if (state == RECENT_ALIVE && !may_park)
        state = RECENT_UNKNOWN;
    c->looks = state == RECENT_UNKNOWN;
    if (state != RECENT_ENDED)
        hang_in(c);
    pthread_mutex_unlock(&s->lock);
    return state;
}

static void looked(struct call *c)
{
    pthread_mutex_lock(&c->srv->lock);
    c->looks = false;
    pthread_mutex_unlock(&c->srv->lock);
}

void handle_wait(struct call *c)
{
    int64_t timeout;
    pawl_str body = {0};
    if (!call_number(c, "timeout_ms", 0, WAIT_MAX_MS, WAIT_DEFAULT_MS, &timeout))
        return;
    c->on_back = look_again;
    enum recent_state state = enter(c, timeout > 0, &body);
    if (state == RECENT_ENDED) {
        answer_text(c, 200, NULL, body);
        return;
    }
    if (state == RECENT_UNKNOWN) {
        if (look(c, timeout == 0)) {
            wait_leave(c);
            return;
        }
        looked(c);
    }
    call_park(c, clock_mono_ms() + timeout);
}
