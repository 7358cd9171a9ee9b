/* SPDX-License-Identifier: MIT */
/*
 * server/wait.c -- GET …/wait: a long poll that holds no thread.
 *
 * The call hangs itself into the list of its instance *before* it looks, so no
 * ending between look and sleep is lost.  The commit feed takes it out and
 * brings it back; so does the end of its time.
 */
#include "base/clock.h"
#include "server/handlers.h"
#include "view/render.h"

#define WAIT_DEFAULT_MS 30000
#define WAIT_MAX_MS     60000

static void enter(struct call *c)
{
    pawl_server *s = c->srv;
    pawl_str id = pawl_s(c->args[0]);
    pthread_mutex_lock(&s->lock);
    struct call *others = map_gets(&s->waiting, id);
    if (others)
        (void)map_removes(&s->waiting, id); /* the key lives with the newest */
    c->next = others;
    c->waits = true;
    assert_that(map_puts(&s->waiting, id, c));
    pthread_mutex_unlock(&s->lock);
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

void wait_feed(void *arg, const pawl_change *changes, size_t count)
{
    pawl_server *s = arg;
    bool wake = false;
    streams_note(s->streams, changes, count);
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < count && s->waiting.count; i++) {
        if (!pawl_state_is_terminal(changes[i].state))
            continue;
        struct call *c = map_removes(&s->waiting, changes[i].instance);
        while (c) { /* as call_done(), under the lock */
            struct call *next = c->next;
            c->waits = false;
            c->next = NULL;
            wake = wake || !s->back;
            *s->back_end = c;
            s->back_end = &c->next;
            c->is_back = true;
            c = next;
        }
    }
    pthread_mutex_unlock(&s->lock);
    if (wake)
        http_wake(s);
}

/* Answer when it has ended, or `final`; false: it goes on. */
static bool look(struct call *c, bool final)
{
    pawl_info info;
    pawl_error err;
    if (pawl_client_get(c->srv->client, c->args[0], 0, c->mem, &info, &err) != PAWL_OK) {
        answer_failure(c, &err);
        return true;
    }
    bool over = pawl_state_is_terminal(info.state);
    if (!over && !final)
        return false;
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    render_instance_members(w, c->mem, &info);
    pawl_json_end(w);
    answer_json(c, over ? 200 : 202, w);
    return true;
}

/* The instance has ended, or time is up. */
static void look_again(struct call *c)
{
    (void)look(c, true);
}

void handle_wait(struct call *c)
{
    int64_t timeout;
    if (!call_number(c, "timeout_ms", 0, WAIT_MAX_MS, WAIT_DEFAULT_MS, &timeout))
        return;
    enter(c);
    if (look(c, timeout == 0)) {
        wait_leave(c);
        return;
    }
    c->on_back = look_again;
    call_park(c, clock_mono_ms() + timeout);
}
