/* SPDX-License-Identifier: MIT */
/*
 * engine/update.c -- updates: requests that code takes with a wait and answers.
 *
 * The walk of a request: a message (PAWL_MSG_UPDATE) -> the mailbox, or at once the oldest wait of
 * its name -> the wait's check -> UpdateAccepted, which closes the wait's task -> the code, which
 * reads the request as the task's result -> pawl_answer() or pawl_reject() -> UpdateAnswered, from
 * which the runtime answers the client.  A wait takes mail as a wait for an event does
 * (kept_events.c): what no code was told of goes back when the wait is given up.
 *
 * A check runs outside the code, live only, before anything is recorded: what it refuses leaves no
 * event.
 *
 * Invariants (update_check): an update is `owed` from its acceptance until its one UpdateAnswered,
 * or until it is given back; x->updates_owed counts these.  An execution that has ended owes none:
 * the end rejects them, before the END event and in id order.
 *
 * Called by: api_update.c on the fiber; apply.c, replay.c, decide.c and ending.c outside it.
 */
#include "base/limits.h"
#include "base/vec.h"
#include "engine/engine_private.h"
#include "pawl/json.h"

pawl_str update_attrs(pawl_mem *mem, pawl_str id)
{
    pawl_json *w = pawl_json_new(mem);

    pawl_json_object(w);
    pawl_json_key(w, "update");
    pawl_json_str(w, id);
    pawl_json_end(w);
    return pawl_json_done(w);
}

static void note_refused(execution *x, pawl_str attrs, const char *why)
{
    struct turn *turn = x->turn;

    if (turn->refused_count == turn->refused_cap)
        list_grow(turn->mem, &turn->refused, &turn->refused_cap, turn->refused_count,
                  sizeof(*turn->refused));
    turn->refused[turn->refused_count++] =
        (struct refused_update){.update = pawl_json_text(turn->mem, attrs, "/update", ""),
                                .why = arena_dup(turn->mem, pawl_s(why))};
}

bool update_refuses(execution *x, const struct task *t, pawl_str data, pawl_str attrs)
{
    const struct update *u = t->update;
    char why[200] = "";

    if (!u || !u->check || u->check(u->arg, data, why, sizeof(why)))
        return false;
    why[sizeof(why) - 1] = '\0';
    if (!utf8_valid(pawl_s(why)))
        for (char *c = why; *c; c++)
            if ((unsigned char)*c >= 0x80)
                *c = '?';
    note_refused(x, attrs, why[0] ? why : "refused by its check");
    return true;
}

void update_taken(execution *x, struct task *t, pawl_str attrs)
{
    assert_that(t->update && !t->update->owed);
    t->update->id = pawl_json_text(&x->mem, attrs, "/update", "");
    t->update->owed = true;
    x->updates_owed++;
}

static void settled(execution *x, struct task *t)
{
    assert_that(t->update->owed && x->updates_owed > 0);
    t->update->owed = false;
    x->updates_owed--;
}

void update_given_back(execution *x, struct task *t)
{
    settled(x, t);
    t->update->id = (pawl_str){0};
}

void update_act(execution *x, const pawl_event *e)
{
    struct task *t = task_find(x, e->ref);

    if (!t || !t->update || !t->update->owed)
        finding_corrupt(x, e, "event %llu answers task %llu, which is no update to be answered",
                        (unsigned long long)e->seq, (unsigned long long)e->ref);
    settled(x, t);
}

static pawl_str answer_attrs(pawl_mem *mem, const struct update *u, const struct decision *d)
{
    pawl_json *w = pawl_json_new(mem);

    pawl_json_object(w);
    pawl_json_key(w, "update");
    pawl_json_str(w, u->id);
    if (d->rejected) {
        pawl_json_key(w, "rejected");
        pawl_json_truth(w, true);
    }
    if (d->left) {
        pawl_json_key(w, "left");
        pawl_json_truth(w, true);
    }
    if (d->refusal[0]) {
        pawl_json_key(w, "refused");
        pawl_json_cstr(w, d->refusal);
    }
    pawl_json_end(w);
    return pawl_json_done(w);
}

void update_answer(execution *x, struct task *t, struct decision *d)
{
    d->kind = PAWL_EV_UPDATE_ANSWERED;
    d->ref = t->id;
    d->name = t->name;
    if (x->phase == PHASE_REPLAY) {
        (void)decide_match(x, d);
    } else {
        struct step *s = decide_append(x, d->kind, d->ref, d->name, d->data);
        s->event.attrs = answer_attrs(x->turn->mem, t->update, d);
    }
    settled(x, t);
}

void update_reject_left(execution *x, const char *reason)
{
    for (uint64_t id = 1; x->updates_owed && id <= x->task_count; id++) {
        struct task *t = task_find(x, id);
        if (!t->update || !t->update->owed)
            continue;
        unseen_remove(x, t);
        struct decision d = {
            .data = pawl_s(reason), .rejected = true, .left = true, .api = "return"};
        update_answer(x, t, &d);
    }
}

void update_check(const execution *x)
{
    uint64_t owed = 0;

    for (uint64_t id = 1; id <= x->task_count; id++) {
        const struct task *t = task_find(x, id);
        if (!t->update || !t->update->owed)
            continue;
        assert_that(t->state == TASK_DONE);
        owed++;
    }
    assert_that(owed == x->updates_owed);
    assert_that(x->outcome != ENGINE_ENDED || owed == 0);
}
