/* SPDX-License-Identifier: MIT */
/* tests/conformance/world.c -- see the header. */
#include "world.h"

#include "base/attr.h"

#include <stdio.h>
#include <string.h>

/* Few choices take one byte, so that a byte of the input is a choice. */
static uint64_t draw_bytes(struct world *w, uint64_t below)
{
    uint64_t n = 0;
    for (uint64_t range = 1; range < below && w->left; range <<= 8, w->left--)
        n = n << 8 | *w->bytes++;
    return n % below;
}

uint64_t world_draw(struct world *w, uint64_t below)
{
    if (w->bytes)
        return draw_bytes(w, below);
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (w->random >> 11) % below;
}

bool world_chance(struct world *w, uint64_t percent)
{
    return world_draw(w, 100) < percent;
}

static pawl_str word(struct world *w)
{
    static const char *const words[] = {"", "x", "hello", "{\"a\":1}", "Grüße", "a\nb", "'--"};
    return pawl_s(words[world_draw(w, COUNT_OF(words))]);
}

pawl_str world_activity(struct world *w)
{
    static const char *const names[] = {"charge", "ship", "mail"};
    return pawl_s(names[world_draw(w, 3)]);
}

static int64_t some_time(struct world *w)
{
    int64_t ms = (int64_t)world_draw(w, 60) - 20;
    return world_chance(w, 50) ? 0 : w->now + (w->weak && ms > 0 ? 0 : ms);
}

uint64_t world_message(struct world *w)
{
    uint64_t id = w->messages[world_draw(w, RECENT)];
    return id ? id : UINT64_C(1) << 40; /* nobody's */
}

uint64_t world_job(struct world *w)
{
    return w->job_count && world_chance(w, 90) ? w->jobs[world_draw(w, w->job_count)].id
                                               : world_draw(w, 1000) + 1;
}

/* ---- Building rounds ------------------------------------------------------- */

static pawl_event *add_event(struct world *w, struct plan *p)
{
    pawl_event *e = &p->events[p->round.event_count++];
    *e = (pawl_event){.rid = w->next_id++,
                      .execution = p->row.execution,
                      .seq = p->row.last_seq + 1,
                      .ref = w->weak ? 0 : world_draw(w, 9),
                      .kind = (int)world_draw(w, 70) + 1,
                      .name = word(w),
                      .data = word(w),
                      .attrs = word(w),
                      .at_ms = w->now};
    p->row.last_seq = e->seq;
    p->row.last_rid = e->rid;
    if (e->seq == 1)
        p->row.first_rid = e->rid;
    return e;
}

/* What an engine schedules most: nothing in it but what its event says. */
static pawl_work plain_work(struct world *w, struct plan *p, const pawl_event *e)
{
    return (pawl_work){.id = e->rid,
                       .uid = p->row.uid,
                       .execution = e->execution,
                       .ref = e->ref,
                       .instance = p->row.id,
                       .name = e->name,
                       .input = e->data,
                       .attrs = e->attrs,
                       .scheduled_ms = e->at_ms,
                       .lock_epoch = w->fences[0].epoch};
}

static pawl_work odd_work(struct world *w, struct plan *p, const pawl_event *e)
{
    bool leased = world_chance(w, 20);
    pawl_work work = {.id = e->rid,
                      .uid = p->row.uid,
                      .execution = p->row.execution,
                      .name = world_activity(w),
                      .input = word(w),
                      .attrs = word(w),
                      .visible_ms = some_time(w),
                      .scheduled_ms = w->now,
                      .deadline_ms = some_time(w),
                      .lock_token = pawl_s(leased ? "token" : ""),
                      .lock_until_ms = leased ? w->now + (int64_t)world_draw(w, 50) : 0};
    if (world_chance(w, 40) && work.visible_ms <= w->now)
        work.lock_epoch = w->fences[0].epoch;
    return work;
}

static void add_work(struct world *w, struct plan *p, pawl_event *e)
{
    bool plain = world_chance(w, 50);
    if (plain)
        e->name = world_activity(w);
    p->work[p->round.work_count++] = plain ? plain_work(w, p, e) : odd_work(w, p, e);
    w->jobs[w->job_count++] = (struct job){.id = e->rid, .uid = p->row.uid};
}

static void add_message(struct world *w, struct plan *p, uint64_t id)
{
    pawl_message *m = &p->messages[p->round.message_count++];
    *m = (pawl_message){.id = id,
                        .kind = (int)world_draw(w, 13) + 1,
                        .execution = world_draw(w, 3),
                        .ref = w->weak ? 0 : world_draw(w, 5),
                        .name = word(w),
                        .data = word(w),
                        .attrs = word(w),
                        .visible_ms = some_time(w),
                        .created_ms = w->now,
                        .attempt = (uint32_t)world_draw(w, 3),
                        .mailbox = world_chance(w, 15)};
    if (w->uid_count && world_chance(w, 85))
        m->uid = w->uids[world_draw(w, w->uid_count)];
    else
        m->instance = pawl_s(world_chance(w, 50) ? "nobody" : "i1");
    w->messages[world_draw(w, RECENT)] = id;
}

static void add_timer(struct world *w, struct plan *p, uint64_t rid)
{
    add_message(w, p, rid);
    pawl_message *m = &p->messages[p->round.message_count - 1];
    m->uid = p->row.uid;
    m->instance = (pawl_str){0};
    w->timers[w->timer_count++] = (struct job){.id = rid, .uid = m->uid};
}

/* The version that is there, mostly: earlier rounds of the commit may have changed it. */
static uint64_t some_version(struct world *w, const pawl_object *o)
{
    pawl_object there = {0};
    uint64_t what = world_draw(w, 10);
    if (what < 2)
        return PAWL_VERSION_ANY;
    if (what < 3)
        return world_draw(w, 4);
    (void)w->stores[0]->ops->read_object(w->stores[0], o->kind, o->name, w->mem, &there, NULL);
    return there.version;
}

static void add_objects(struct world *w, struct plan *p)
{
    static const char *const names[] = {"a", "ab", "b", "Grüße", "c/d"};
    size_t first = world_draw(w, COUNT_OF(names)), count = world_draw(w, 3) + 1;
    for (size_t i = 0; i < count; i++) {
        pawl_object *o = &p->objects[i];
        *o = (pawl_object){.kind = (int)world_draw(w, 2) + 1,
                           .name = pawl_s(names[(first + i) % COUNT_OF(names)]),
                           .data = word(w)};
        o->version = some_version(w, o);
        if (o->version && world_chance(w, 30))
            o->data = (pawl_str){0};
    }
    p->extra =
        (pawl_round_extra){.size = sizeof(p->extra), .objects = p->objects, .object_count = count};
    p->round.extra = &p->extra;
}

static void add_parts(struct world *w, struct plan *p)
{
    pawl_round *r = &p->round;
    for (uint64_t n = world_draw(w, 3); n > 0; n--)
        add_message(w, p, w->next_id++);
    for (uint64_t n = world_draw(w, 3); n > 0; n--)
        p->drop_messages[r->drop_message_count++] = world_message(w);
    for (uint64_t n = world_draw(w, 2); n > 0; n--)
        p->message_updates[r->message_update_count++] =
            (pawl_message_update){.id = world_message(w),
                                  .visible_ms = some_time(w),
                                  .attempt = (uint32_t)world_draw(w, 5),
                                  .mailbox = world_chance(w, 20)};
    if (world_chance(w, 3))
        p->quarantine[r->quarantine_count++] =
            (pawl_quarantine){.id = world_message(w), .reason = word(w)};
    if (world_chance(w, 20))
        p->need_work[r->need_work_count++] = world_job(w);
    if (world_chance(w, 20))
        p->drop_work[r->drop_work_count++] = world_job(w);
    for (uint64_t n = world_draw(w, 2); n > 0; n--) {
        bool leased = world_chance(w, 30);
        pawl_work_update u = {.id = world_job(w),
                              .attempt = (uint32_t)world_draw(w, 5),
                              .crashes = (uint32_t)world_draw(w, 3),
                              .visible_ms = some_time(w),
                              .deadline_ms = some_time(w),
                              .last_error = word(w),
                              .lock_token = pawl_s(leased ? "again" : ""),
                              .lock_until_ms = leased ? w->now + (int64_t)world_draw(w, 50) : 0};
        if (world_chance(w, 40) && u.visible_ms <= w->now)
            u.lock_epoch = w->fences[0].epoch;
        p->work_updates[r->work_update_count++] = u;
    }
    if (r->uid && world_chance(w, 20))
        p->keys[r->key_count++] = word(w);
    if (world_chance(w, 15))
        add_objects(w, p);
}

/* Break a round in one of the ways of C3. */
static void spoil(struct world *w, struct plan *p)
{
    pawl_round *r = &p->round;
    bool on_row = r->event_count > 0 && r->change != PAWL_ROW_INSERT;
    switch (on_row ? world_draw(w, 6) : 3 + world_draw(w, 3)) {
    case 0:
        r->base_seq++;
        break;
    case 1:
        r->execution++;
        break;
    case 2:
        r->uid += 1000000;
        break;
    case 3:
        if (r->message_count > 0 && !w->weak)
            p->messages[0].id = w->messages[0] ? w->messages[0] : p->messages[0].id;
        break;
    case 4:
        if (r->event_count > 1)
            p->events[1].rid = p->events[0].rid;
        break;
    default:
        p->need_work[r->need_work_count < 2 ? r->need_work_count++ : 0] = w->next_id + 5;
        break;
    }
}

static void start_instance(struct world *w, struct plan *p)
{
    char name[24];
    snprintf(name, sizeof(name), "i%u", w->name_no++ % 40); /* sometimes taken */
    p->row = (pawl_row){.uid = w->next_id++,
                        .id = pawl_mem_dup(w->mem, pawl_s(name)),
                        .orchestration = world_activity(w),
                        .version = pawl_s(world_chance(w, 50) ? "" : "1.0.0"),
                        .state = PAWL_PENDING,
                        .execution = 1,
                        .created_ms = w->now,
                        .parent_uid = world_draw(w, 4),
                        .parent_id = word(w)};
    p->round.change = PAWL_ROW_INSERT;
    if (w->uid_count < INSTANCES_MAX)
        w->uids[w->uid_count++] = p->row.uid;
}

static void continue_as_new(struct world *w, struct plan *p)
{
    add_event(w, p);
    p->row.execution++;
    p->row.last_seq = 0;
    p->row.version = word(w);
    add_event(w, p);
    for (size_t i = 0; i < w->job_count; i++) { /* as an engine does */
        if (w->jobs[i].uid == p->row.uid)
            p->drop_work[p->round.drop_work_count++] = w->jobs[i].id;
    }
    for (size_t i = 0; i < w->timer_count; i++) {
        if (w->timers[i].uid == p->row.uid)
            p->drop_messages[p->round.drop_message_count++] = w->timers[i].id;
    }
}

static void fill_plan(struct world *w, struct plan *p)
{
    memset(p, 0, sizeof(*p));
    uint64_t what = world_draw(w, 100);
    if (w->uid_count == 0 || (what < 12 && w->uid_count < INSTANCES_MAX)) {
        start_instance(w, p);
    } else if (what < 85) {
        uint64_t uid = w->uids[world_draw(w, w->uid_count)];
        pawl_status found = w->stores[0]->ops->find_uid(w->stores[0], uid, w->mem, &p->row, NULL);
        if (found == PAWL_OK) /* else: its insert was refused, or is in this very commit */
            p->round.change = what < 20 || p->row.last_seq == 0 ? PAWL_ROW_ALL
                              : what < 25                       ? PAWL_ROW_NONE
                                                                : PAWL_ROW_LAST;
    }
    pawl_round *r = &p->round;
    r->uid = p->row.uid;
    r->execution = p->row.execution;
    r->base_seq = p->row.last_seq;
    r->base_rid = p->row.last_rid;
    p->row.updated_ms = w->now;
    if (r->uid && r->change != PAWL_ROW_NONE) {
        r->row = &p->row;
        /* LAST is what appending does to a row: at least one event. */
        uint64_t few = r->change == PAWL_ROW_LAST ? 1 : 0;
        for (uint64_t n = few + world_draw(w, 4 - few); n > 0; n--) {
            pawl_event *e = add_event(w, p);
            if (world_chance(w, 40) && w->job_count < WORK_MAX)
                add_work(w, p, e);
            else if (world_chance(w, 30) && w->timer_count < WORK_MAX)
                add_timer(w, p, e->rid);
        }
        if (r->change == PAWL_ROW_ALL) {
            p->row.custom_status = word(w);
            p->row.state = (pawl_state)world_draw(w, 7);
            if (world_chance(w, 60))
                continue_as_new(w, p);
        }
    }
    add_parts(w, p);
    if (world_chance(w, 8))
        spoil(w, p);
}

void world_plan(struct world *w, struct plan *p)
{
    fill_plan(w, p);
    pawl_round *r = &p->round;
    r->events = p->events;
    r->messages = p->messages;
    r->work = p->work;
    r->drop_messages = p->drop_messages;
    r->drop_work = p->drop_work;
    r->need_work = p->need_work;
    r->message_updates = p->message_updates;
    r->work_updates = p->work_updates;
    r->quarantine = p->quarantine;
    r->keys = p->keys;
}
