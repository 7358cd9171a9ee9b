/* SPDX-License-Identifier: MIT */
/*
 * server/instance_wait.c -- GET …/wait: a long poll that holds no thread.
 *
 * The call enters the list of its instance *before* it looks at the store, so no end
 * between look and sleep is lost; an instance that was started here lately needs no look at
 * all (recent.c).  The commit feed takes the call out, with the answer when the commit has
 * it, and brings it back; so does the end of its time.
 *
 * The loop reads nothing: a reader (reader.c) looks, and makes the answer when the commit
 * did not bring it.  While a reader looks (`looks`), the call's memory belongs to the reader,
 * and the feed only takes the call out of the list.  In the list without looking, the call
 * belongs to the feed.
 */
#include "base/clock.h"
#include "server/census.h"
#include "server/handlers.h"
#include "server/series.h"
#include "server/stream.h"
#include "view/render.h"

#define WAIT_DEFAULT_MS 30000
#define WAIT_MAX_MS     60000

/* Behind the first call, which owns the key. */
void wait_hang(struct call *c, struct map *list)
{
    pawl_str id = pawl_s(c->args[0]);
    struct call *first = map_gets(list, id);
    c->wait.is_in = true;
    c->wait.list = list;
    c->wait.prev = first;
    c->wait.next = first ? first->wait.next : NULL;
    if (c->wait.next)
        c->wait.next->wait.prev = c;
    if (first)
        first->wait.next = c;
    else
        assert_that(map_puts(list, id, c));
}

/* Out of it, under the lock. */
static void unhang(struct call *c)
{
    c->wait.is_in = false;
    if (c->wait.next)
        c->wait.next->wait.prev = c->wait.prev;
    if (c->wait.prev) {
        c->wait.prev->wait.next = c->wait.next;
        return;
    }
    (void)map_removes(c->wait.list, pawl_s(c->args[0]));
    if (c->wait.next)
        assert_that(map_puts(c->wait.list, pawl_s(c->wait.next->args[0]), c->wait.next));
}

void wait_leave(struct call *c)
{
    pawl_server *s = c->srv;
    pthread_mutex_lock(&s->lock);
    if (c->wait.is_in) {
        unhang(c);
    } else if (c->place.is_back) { /* the feed was quicker */
        struct call **at = &s->back;
        while (*at != c)
            at = &(*at)->place.next;
        *at = c->place.next;
        if (!*at)
            s->back_end = at;
        c->place.is_back = false;
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

/* Render answers for instances that ended in this commit and have a waiting call, or may soon
 * have one.  Made without the lock; an instance that is asked for meanwhile is looked up. */
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

/* It ended, or is gone: the waiting calls have their answer, or look once more.  True: the
 * loop must be woken. */
static bool tell_end(pawl_server *s, const pawl_change *change, pawl_str body)
{
    bool wake = false;
    struct call *c = s->waiting.count ? map_removes(&s->waiting, change->instance) : NULL;
    if (c || change->removed)
        recent_forget(&s->recents, change->instance);
    else
        recent_ended(&s->recents, change->instance, body);
    for (struct call *next; c; c = next) { /* as call_done(), under the lock */
        next = c->wait.next;
        c->wait.is_in = false;
        if (c->wait.looks)
            continue; /* the thread that has it will notice */
        if (body.len) {
            c->place.on_back = NULL;
            answer_text(c, 200, NULL, pawl_mem_dup(c->mem, body));
        }
        wake = call_back(c) || wake;
    }
    return wake;
}

void wait_feed(void *arg, const pawl_change *changes, size_t count)
{
    pawl_server *s = arg;
    bool wake = false;
    streams_note(s->streams, changes, count);
    census_note(s->census, changes, count);
    series_look(s->series);
    atomic_fetch_add(&s->changes, 1);
    const pawl_str *bodies = render_ends(s, changes, count);
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < count; i++) {
        if (changes[i].published || is_end(&changes[i]))
            wake = poll_tell(&s->state_waiting, &changes[i]) || wake;
        if (changes[i].was < 0 && !changes[i].queue.ptr)
            wake = poll_tell(&s->begin_waiting, &changes[i]) || wake;
        if (changes[i].answered || is_end(&changes[i]))
            wake = poll_tell(&s->update_waiting, &changes[i]) || wake;
        if (is_end(&changes[i]))
            wake = tell_end(s, &changes[i], bodies ? bodies[i] : (pawl_str){0}) || wake;
    }
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
    recents_reset(&s->recents); /* rare, and costs only a look */
    pthread_mutex_unlock(&s->lock);
}

/* ---- The call ---------------------------------------------------------------------------- */

/* [reader] The instance as it is now. */
static void answer_now(struct call *c)
{
    pawl_info info;
    pawl_error err;
    c->place.on_back = NULL;
    if (pawl_client_get(c->srv->client, c->args[0], 0, c->mem, &info, &err) == PAWL_OK)
        answer_text(c, pawl_state_is_terminal(info.state) ? 200 : 202, NULL, render(c->mem, &info));
    else
        answer_failure(c, &err);
}

/* The instance has ended, or time is up, or the client is gone. */
static void look_again(struct call *c)
{
    if (c->place.asker == ASKER_LOST)
        call_drop(c);
    else if (c->caller.revoked)
        answer_error(c, 401, "unauthorized", "the token was revoked");
    else
        reader_post(c, answer_now);
}

void wait_sleep(struct call *c, void (*again)(struct call *c))
{
    c->place.on_back = again;
    pthread_mutex_lock(&c->srv->lock);
    bool waits = c->wait.is_in;
    c->wait.looks = false; /* from here on the feed may have it */
    pthread_mutex_unlock(&c->srv->lock);
    if (waits && c->place.asker == ASKER_HERE) {
        call_park(c, c->place.until.key);
        return;
    }
    wait_leave(c);
    again(c);
}

/* A reader found it alive: wait for its end, unless that came meanwhile. */
static void wait_on(struct call *c)
{
    wait_sleep(c, look_again);
}

/* [reader] Has it ended?  Its history is not read for that. */
static void look(struct call *c)
{
    pawl_state state;
    pawl_error err;
    pawl_status rc = pawl_client_state(c->srv->client, c->args[0], c->mem, &state, &err);
    c->place.on_back = wait_on;
    if (rc == PAWL_OK && !pawl_state_is_terminal(state))
        return;
    wait_leave(c);
    answer_now(c);
}

/* The call is with the feed from here on when this says ALIVE. */
static enum recent_state enter(struct call *c, bool may_park, pawl_str *retbody)
{
    pawl_server *s = c->srv;
    pthread_mutex_lock(&s->lock);
    enum recent_state state = recent_look(&s->recents, pawl_s(c->args[0]), c->mem, retbody);
    c->wait.looks = state == RECENT_UNKNOWN;
    if (state != RECENT_ENDED && may_park)
        wait_hang(c, &s->waiting);
    pthread_mutex_unlock(&s->lock);
    return state;
}

void handle_wait(struct call *c)
{
    int64_t timeout;
    pawl_str body = {0};
    if (!call_number(c, "timeout_ms", 0, WAIT_MAX_MS, WAIT_DEFAULT_MS, &timeout))
        return;
    c->place.on_back = look_again;
    c->place.until.key = clock_mono_ms() + timeout;
    enum recent_state state = enter(c, timeout > 0, &body);
    if (state == RECENT_ENDED)
        answer_text(c, 200, NULL, body);
    else if (timeout == 0)
        reader_post(c, answer_now);
    else if (state == RECENT_ALIVE)
        call_park(c, c->place.until.key);
    else
        reader_post(c, look);
}
