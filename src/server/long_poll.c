/* SPDX-License-Identifier: MIT */
/*
 * server/long_poll.c -- look, sleep until something changed, look again: for GET …/state/{key} and
 * for updates.
 *
 * The walk: the call enters the list of its instance, then a reader looks, so no change between look
 * and sleep is lost.  A reader that finds nothing leaves `on_back` as it is, and the call sleeps
 * without a thread.  The commit feed takes it out of the list and brings it back (poll_tell), and it
 * looks again; when its time is over it gets what there is.
 *
 * Called by state_wait.c, update_wait.c and the feed in instance_wait.c.
 */
#include "base/clock.h"
#include "server/handlers.h"

static void sleep_on(struct call *c);

static void look_while_listed(struct call *c)
{
    c->place.on_back = sleep_on;
    pthread_mutex_lock(&c->srv->lock);
    wait_hang(c, c->poll.list);
    c->wait.looks = true;
    pthread_mutex_unlock(&c->srv->lock);
    reader_post(c, c->poll.look);
}

/* It changed, or time is up, or the client is gone. */
static void look_again(struct call *c)
{
    if (c->place.asker == ASKER_LOST)
        call_drop(c);
    else if (c->caller.revoked)
        answer_error(c, 401, "unauthorized", "the token was revoked");
    else if (c->place.asker == ASKER_HERE && clock_mono_ms() < c->place.until.key)
        look_while_listed(c);
    else
        reader_post(c, c->poll.now);
}

static void sleep_on(struct call *c)
{
    wait_sleep(c, look_again);
}

void poll_until(struct call *c, struct long_poll poll, int64_t until_mono_ms)
{
    c->poll = poll;
    c->place.until.key = until_mono_ms;
    if (clock_mono_ms() < until_mono_ms)
        look_while_listed(c);
    else
        reader_post(c, poll.now);
}

bool poll_tell(struct map *list, const pawl_change *change)
{
    bool wake = false;
    struct call *c = list->count ? map_removes(list, change->instance) : NULL;
    for (struct call *next; c; c = next) {
        next = c->wait.next;
        c->wait.is_in = false;
        if (!c->wait.looks) /* else the thread that has it will notice */
            wake = call_back(c) || wake;
    }
    return wake;
}
