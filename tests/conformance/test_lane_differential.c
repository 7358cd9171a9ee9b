/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/test_lane_differential.c -- three engines side by side, at random: the memory
 * store and another one must give the same answers and have the same contents.
 *
 *     test_lane_differential [SEED [STEPS]] | STORE [SEED [STEPS]]
 *
 * An engine keeps the promises of the contract: it changes rows of its own shards, and gives a
 * lane a hint when a commit of another says that it has mail.  It breaks what the store has to
 * refuse: rounds on instances of other shards, commits of a lane that is over, heirs that are dead.
 * Epochs and blocks of ids are compared, too: our stores hand them out alike.
 */
#include "base/attr.h"
#include "dump.h"
#include "store/memory/memory.h"
#include "stores.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LANES      3
#define SHARDS     9 /* that instances lie in; the others only change hands */
#define KNOWN      24
#define DUMP_MAX   (16 << 20)
#define FULL_EVERY 20
#define SEEDS      6
#define STEPS      2000
#define STEPS_FAR  600 /* where each look is a question to a server */

/* What happened at all: a run in which nothing did compares nothing. */
enum { ACCEPTED, REFUSED, OVER, GREW, MAILED, FOUND, SEEN_COUNT };
static const char *const seen_names[SEEN_COUNT] = {"accepted", "refused", "over",
                                                   "grew",     "mailed",  "found"};
static unsigned long seen[SEEN_COUNT];

struct known {
    uint64_t id, uid;
    uint32_t shard;
};

struct world {
    uint64_t random;
    int64_t now;
    const char *names[2];
    pawl_conformance_factory factories[2];
    pawl_store *stores[2][LANES]; /* [i][0] is the one that the factory opened */
    pawl_fence fences[2][LANES];
    bool lives[LANES];
    uint64_t groups[2][LANES]; /* the number of the last commit that was compared */
    uint64_t dead[LANES];      /* a lane whose handle was closed; 0: none */
    uint64_t hinted[LANES];    /* shards with mail that the lane does not know of yet */
    struct known instances[KNOWN], messages[KNOWN], work[KNOWN]; /* id 0: none */
    unsigned name_no;
    pawl_mem *mem;
    struct buf out[2];
};

static uint64_t draw(struct world *w, uint64_t below)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (w->random >> 11) % below;
}

static bool chance(struct world *w, uint64_t percent)
{
    return draw(w, 100) < percent;
}

static bool owns(const struct world *w, int lane, uint32_t shard)
{
    return w->fences[0][lane].shards >> shard & 1;
}

static struct known *some(struct world *w, struct known *all)
{
    return &all[draw(w, KNOWN)];
}

/* One of the lane's own; NULL: not found at once. */
static struct known *some_own(struct world *w, struct known *all, int lane)
{
    for (int i = 0; i < 6; i++) {
        struct known *k = some(w, all);
        if (k->id && owns(w, lane, k->shard))
            return k;
    }
    return NULL;
}

/* ---- Rounds ---------------------------------------------------------------------- */

struct plan {
    pawl_round round;
    pawl_row row;
    pawl_event events[3];
    pawl_message messages[3];
    uint32_t shards[2][3]; /* as the stores answer */
    pawl_work work[2];
    uint64_t drop_messages[2], need_work[1], drop_work[1];
    pawl_message_update updates[1];
    pawl_work_update work_updates[1];
    pawl_round_extra extra;
};

static uint64_t new_id(struct world *w, int lane)
{
    return w->fences[0][lane].next_id++;
}

static pawl_event *add_event(struct world *w, int lane, struct plan *p)
{
    static const char *const words[] = {"", "x", "hello", "a\nb"};
    pawl_event *e = &p->events[p->round.event_count++];
    *e = (pawl_event){.rid = new_id(w, lane),
                      .execution = p->row.execution,
                      .seq = p->row.last_seq + 1,
                      .kind = PAWL_EV_CUSTOM_STATUS_UPDATED,
                      .data = pawl_s(words[draw(w, COUNT_OF(words))]),
                      .at_ms = w->now};
    p->row.last_seq = e->seq;
    p->row.last_rid = e->rid;
    if (e->seq == 1)
        p->row.first_rid = e->rid;
    return e;
}

static void add_message(struct world *w, int lane, struct plan *p)
{
    pawl_message *m = &p->messages[p->round.message_count++];
    const struct known *to = some(w, w->instances);
    *m = (pawl_message){.id = new_id(w, lane),
                        .kind = PAWL_MSG_EXTERNAL_RAISED,
                        .data = pawl_s("m"),
                        .visible_ms = chance(w, 30) ? w->now + (int64_t)draw(w, 30) : 0,
                        .created_ms = w->now,
                        .mailbox = chance(w, 10)};
    if (to->id && chance(w, 70)) {
        m->uid = to->uid;
        m->shard = chance(w, 50) ? to->shard : PAWL_SHARD_LOOK;
    } else {
        m->instance = pawl_mem_printf(w->mem, "i%u", (unsigned)draw(w, 12)); /* may not be there */
        m->shard = chance(w, 20) ? (uint32_t)draw(w, SHARDS) : PAWL_SHARD_LOOK;
    }
}

static void add_work(struct world *w, int lane, struct plan *p, pawl_event *e)
{
    bool plain = chance(w, 50);
    e->kind = PAWL_EV_ACTIVITY_SCHEDULED;
    e->ref = e->rid;
    e->name = pawl_s(chance(w, 50) ? "ship" : "charge");
    pawl_work *work = &p->work[p->round.work_count++];
    *work = (pawl_work){.id = e->rid,
                        .uid = p->row.uid,
                        .execution = e->execution,
                        .ref = e->ref,
                        .shard = p->row.shard,
                        .instance = p->row.id,
                        .name = e->name,
                        .input = e->data,
                        .scheduled_ms = e->at_ms};
    if (plain || chance(w, 30))
        work->lock_epoch = w->fences[0][lane].epoch;
    if (plain)
        return;
    work->deadline_ms = chance(w, 40) ? w->now + (int64_t)draw(w, 40) : 0;
    work->visible_ms = !work->lock_epoch && chance(w, 40) ? w->now + (int64_t)draw(w, 40) : 0;
}

/* What a round changes of rows that are there: those of own shards. */
static void add_changes(struct world *w, int lane, struct plan *p)
{
    pawl_round *r = &p->round;
    struct known *k;
    if (chance(w, 40) && (k = some_own(w, w->messages, lane)))
        p->drop_messages[r->drop_message_count++] = k->id;
    if (chance(w, 25) && (k = some_own(w, w->messages, lane)))
        p->updates[r->message_update_count++] =
            (pawl_message_update){.id = k->id,
                                  .visible_ms = chance(w, 30) ? w->now + 9 : 0,
                                  .attempt = (uint32_t)draw(w, 3),
                                  .mailbox = chance(w, 10),
                                  .relabel = chance(w, 60),
                                  .shard = (uint32_t)draw(w, SHARDS)};
    if (chance(w, 20) && (k = some_own(w, w->work, lane)))
        p->need_work[r->need_work_count++] = k->id;
    if (chance(w, 15) && (k = some_own(w, w->work, lane)))
        p->drop_work[r->drop_work_count++] = k->id;
    if (chance(w, 20) && (k = some_own(w, w->work, lane)))
        p->work_updates[r->work_update_count++] = (pawl_work_update){
            .id = k->id,
            .attempt = (uint32_t)draw(w, 4),
            .deadline_ms = chance(w, 30) ? w->now + (int64_t)draw(w, 30) : 0,
            .lock_epoch = chance(w, 30) ? w->fences[0][lane].epoch : 0,
        };
}

/* Mostly one of its own. */
static uint32_t some_shard(struct world *w, int lane)
{
    uint32_t shard = (uint32_t)draw(w, SHARDS);
    for (int n = 0; n < SHARDS && !owns(w, lane, shard) && chance(w, 95); n++)
        shard = (shard + 1) % SHARDS;
    return shard;
}

static void begin_round(struct world *w, int lane, struct plan *p)
{
    const struct known *i = chance(w, 60) ? some_own(w, w->instances, lane) : NULL;
    if (!i)
        i = some(w, w->instances);
    pawl_round *r = &p->round;
    if (!i->id || chance(w, 20)) {
        p->row = (pawl_row){.uid = new_id(w, lane),
                            .id = pawl_mem_printf(w->mem, "i%u", w->name_no++ % 40),
                            .orchestration = pawl_s("Order"),
                            .shard = some_shard(w, lane),
                            .execution = 1,
                            .created_ms = w->now};
        r->change = PAWL_ROW_INSERT;
    } else if (w->stores[0][0]->ops->find_uid(w->stores[0][0], i->uid, w->mem, &p->row, NULL) ==
               PAWL_OK) {
        r->change = chance(w, 70) ? PAWL_ROW_LAST : chance(w, 70) ? PAWL_ROW_ALL : PAWL_ROW_NONE;
    }
    r->uid = p->row.uid;
    r->execution = p->row.execution;
    r->base_seq = p->row.last_seq;
    r->base_rid = p->row.last_rid;
    p->row.updated_ms = w->now;
}

static void make_plan(struct world *w, int lane, struct plan *p)
{
    pawl_round *r = &p->round;
    memset(p, 0, sizeof(*p));
    if (chance(w, 85))
        begin_round(w, lane, p);
    if (r->uid && r->change != PAWL_ROW_NONE) {
        r->row = &p->row;
        for (uint64_t n = draw(w, 2) + 1; n > 0; n--) {
            pawl_event *e = add_event(w, lane, p);
            if (chance(w, 40))
                add_work(w, lane, p, e);
        }
    }
    for (uint64_t n = draw(w, 3); n > 0; n--)
        add_message(w, lane, p);
    add_changes(w, lane, p);
    p->extra.size = sizeof(p->extra);
    r->extra = chance(w, 80) ? &p->extra : NULL;
    r->events = p->events;
    r->messages = p->messages;
    r->work = p->work;
    r->drop_messages = p->drop_messages;
    r->need_work = p->need_work;
    r->drop_work = p->drop_work;
    r->message_updates = p->updates;
    r->work_updates = p->work_updates;
}

/* Remember what the round made, with the labels that the first store gave. */
static void learn(struct world *w, int lane, const struct plan *p)
{
    const pawl_round *r = &p->round;
    if (r->change == PAWL_ROW_INSERT)
        *some(w, w->instances) = (struct known){r->uid, r->uid, p->row.shard};
    for (size_t n = 0; n < r->message_count && r->extra; n++)
        *some(w, w->messages) = (struct known){r->messages[n].id, 0, p->shards[0][n]};
    for (size_t n = 0; n < r->work_count; n++)
        *some(w, w->work) = (struct known){r->work[n].id, r->uid, r->work[n].shard};
    for (size_t n = 0; n < r->message_update_count; n++)
        for (int k = 0; k < KNOWN && r->message_updates[n].relabel; k++)
            if (w->messages[k].id == r->message_updates[n].id)
                w->messages[k].shard = r->message_updates[n].shard;
    (void)lane;
}

/* ---- Operations: each writes its answer of store i into out[i] --------------------- */

/* How many commits a purge takes is the store's affair: numbers of commits are compared from one
 * answer to the next. */
static void dump_fence(struct world *w, int i, int lane)
{
    const pawl_fence *f = &w->fences[i][lane];
    uint64_t more = f->group_no - w->groups[i][lane];
    w->groups[i][lane] = f->group_no;
    buf_printf(&w->out[i],
               "lane %d fence %" PRIu64 " +%" PRIu64 " ids %" PRIu64 "..%" PRIu64 " shards %" PRIx64
               " mail %" PRIx64 "\n",
               lane, f->epoch, more, f->next_id, f->end_id, f->shards, f->mail);
}

/* A deadlock of the server's, or a lock that did not come: nothing happened. */
#define ASK(call)                                                                                  \
    pawl_status status;                                                                            \
    do                                                                                             \
        status = (call);                                                                           \
    while (status == PAWL_BUSY);                                                                   \
    buf_printf(&w->out[i], "%s\n", pawl_status_code(status))

static void note_mail(struct world *w, int lane)
{
    for (int k = 0; k < LANES; k++)
        if (k != lane)
            w->hinted[k] |= w->fences[0][lane].mail;
}

static void do_commit(struct world *w, int lane)
{
    size_t count = draw(w, 3) + 1;
    struct plan plans[3];
    pawl_round rounds[3];
    for (size_t n = 0; n < count; n++)
        make_plan(w, lane, &plans[n]);
    w->fences[1][lane].next_id = w->fences[0][lane].next_id;
    for (int i = 0; i < 2; i++) {
        for (size_t n = 0; n < count; n++) {
            rounds[n] = plans[n].round;
            plans[n].extra.shards = plans[n].shards[i];
        }
        pawl_store *s = w->stores[i][lane];
        ASK(s->ops->commit(s, &w->fences[i][lane], rounds, count, w->now, NULL));
        for (size_t n = 0; n < count && status == PAWL_OK; n++) {
            buf_printf(&w->out[i], "round %zu of %" PRIu64 ": %s", n, rounds[n].uid,
                       pawl_status_code(rounds[n].result));
            for (size_t k = 0; k < rounds[n].message_count && rounds[n].result == PAWL_OK; k++)
                buf_printf(&w->out[i], " %u", plans[n].shards[i][k]);
            buf_puts(&w->out[i], "\n");
            if (i == 0 && rounds[n].result == PAWL_OK)
                learn(w, lane, &plans[n]);
        }
        dump_fence(w, i, lane);
    }
    if (w->lives[lane])
        note_mail(w, lane);
    for (size_t n = 0; n < count && lane; n++)
        seen[!w->lives[lane] ? OVER : rounds[n].result == PAWL_OK ? ACCEPTED : REFUSED]++;
    seen[MAILED] += w->lives[lane] && w->fences[0][lane].mail;
}

static void do_fetch(struct world *w, int lane)
{
    uint32_t limit = (uint32_t)draw(w, 6) + 1;
    uint64_t which = draw(w, 5);
    pawl_str name = pawl_s("ship");
    if (!w->lives[lane])
        return;
    for (int i = 0; i < 2; i++) {
        pawl_store *s = w->stores[i][lane];
        pawl_message_list messages = {0};
        pawl_work_list work = {0};
        int64_t due = 0;
        s->ops->shared->hint(s, w->hinted[lane]);
        ASK(which <= 1 ? s->ops->fetch_messages(s, w->now, limit, w->mem, &messages, NULL)
            : which == 2
                ? s->ops->fetch_work(s, w->now, &name, limit % 2, limit, w->mem, &work, NULL)
            : which == 3 ? s->ops->fetch_deadlines(s, w->now, limit, w->mem, &work, NULL)
                         : s->ops->next_due(s, w->now, &due, NULL));
        dump_messages(&w->out[i], &messages);
        dump_work(&w->out[i], &work);
        buf_printf(&w->out[i], "due %" PRId64 "\n", due);
        seen[FOUND] += lane ? messages.count + work.count : 0;
    }
    w->hinted[lane] = chance(w, 10) ? PAWL_SHARDS_ALL : 0;
}

static void do_abandon(struct world *w, int lane)
{
    const struct known *m = some_own(w, w->messages, lane), *j = some_own(w, w->work, lane);
    for (int i = 0; i < 2; i++) {
        pawl_store *s = w->stores[i][lane];
        if (m)
            s->ops->abandon_messages(s, &m->id, 1);
        if (j)
            s->ops->abandon_work(s, &j->id, 1);
    }
}

static void do_remove(struct world *w, int lane)
{
    const struct known *k = some_own(w, w->instances, lane);
    pawl_row row;
    if (!k || !w->lives[lane] ||
        w->stores[0][0]->ops->find_uid(w->stores[0][0], k->uid, w->mem, &row, NULL) != PAWL_OK)
        return;
    for (int i = 0; i < 2; i++) {
        pawl_store *s = w->stores[i][lane];
        pawl_round r = {.uid = row.uid,
                        .execution = row.execution,
                        .base_seq = row.last_seq,
                        .base_rid = row.last_rid,
                        .change = PAWL_ROW_REMOVE};
        ASK(s->ops->commit(s, &w->fences[i][lane], &r, 1, w->now, NULL));
        buf_printf(&w->out[i], "removed %s\n", pawl_status_code(r.result));
        for (bool left = true; status == PAWL_OK && left;)
            status = s->ops->purge(s, &w->fences[i][lane], 10, &left, NULL);
        w->groups[i][lane] = w->fences[i][lane].group_no;
    }
}

enum deed { JOIN, CLAIM, ADOPT, GIVE, LEAVE, BURY, TAKE, NEW_IDS };

static pawl_status do_deed(struct world *w, int i, int lane, enum deed deed, uint64_t shards,
                           uint64_t other)
{
    pawl_store *s = w->stores[i][lane];
    pawl_fence *f = &w->fences[i][lane];
    switch (deed) {
    case JOIN:
        return s->ops->shared->join(s, other, w->now, f, NULL);
    case CLAIM:
        return s->ops->shared->claim(s, f, shards, NULL);
    case ADOPT:
        return s->ops->shared->adopt(s, f, NULL);
    case GIVE:
        return s->ops->shared->give(s, f, shards, other, NULL);
    case LEAVE:
        return s->ops->shared->leave(s, f, NULL);
    case BURY:
        return s->ops->shared->bury(s, other, w->now, NULL);
    case TAKE:
        return s->ops->take(s, w->now, f, NULL);
    case NEW_IDS:
        break;
    }
    return s->ops->shared->new_ids(s, f, NULL);
}

/* Who lives, as the first store says. */
static void look_who_lives(struct world *w)
{
    pawl_lane_view view = {.size = sizeof(view)};
    (void)w->stores[0][0]->ops->shared->view(w->stores[0][0], w->mem, &view, NULL);
    for (int k = 0; k < LANES; k++) {
        w->lives[k] = false;
        for (size_t n = 0; n < view.lane_count; n++)
            w->lives[k] |= view.lanes[n].epoch == w->fences[0][k].epoch;
        if (!w->lives[k])
            w->fences[0][k].shards = w->fences[1][k].shards = 0;
    }
}

/* A server refuses a take while it sees the connection of another lane. */
static void close_others(struct world *w, int lane)
{
    for (int i = 0; i < 2; i++)
        for (int k = 1; k < LANES; k++) {
            pawl_store *s = w->stores[i][k];
            if (k == lane)
                continue;
            s->ops->close(s);
            s = w->stores[i][0];
            w->stores[i][k] = s->ops->shared->another(s, NULL);
        }
}

static void do_ownership(struct world *w, int lane)
{
    uint64_t what = draw(w, w->lives[lane] || chance(w, 20) ? 100 : 15);
    enum deed deed = what < 15   ? JOIN
                     : what < 30 ? CLAIM
                     : what < 55 ? ADOPT
                     : what < 75 ? GIVE
                     : what < 79 ? LEAVE
                     : what < 86 ? BURY
                     : what < 89 ? TAKE
                                 : NEW_IDS;
    int to = (int)draw(w, LANES);
    uint64_t other = deed == JOIN ? 0 : w->fences[0][to].epoch;
    if ((deed == BURY || deed == GIVE) && w->dead[to] && chance(w, 60))
        other = w->dead[to];
    uint64_t shards = draw(w, UINT64_C(1) << SHARDS) | (chance(w, 20) ? PAWL_SHARDS_ALL << 32 : 0);
    if ((deed == JOIN && w->lives[lane] && chance(w, 80)) || (deed == GIVE && to == lane))
        return;
    if (deed == GIVE) {
        shards &= w->fences[0][lane].shards;
        if (chance(w, 20))
            other = 0;
    }
    if (deed == BURY && !other)
        return;
    if (deed == TAKE) {
        if (lane)
            return;
        close_others(w, lane);
    }
    if (deed == NEW_IDS && chance(w, 40))
        for (int i = 0; i < 2; i++)
            w->fences[i][lane].next_id =
                w->fences[0][lane].next_id + PAWL_ID_BLOCK / 4 * draw(w, 2);
    w->fences[1][lane].next_id = w->fences[0][lane].next_id;
    for (int i = 0; i < 2; i++) {
        buf_printf(&w->out[i], "deed %d by %d: ", (int)deed, lane);
        uint64_t before = w->fences[i][lane].shards;
        ASK(do_deed(w, i, lane, deed, shards, other));
        if (status == PAWL_OK && (deed == TAKE || deed == JOIN))
            w->groups[i][lane] = w->fences[i][lane].group_no;
        seen[GREW] += lane && before != w->fences[i][lane].shards && deed == ADOPT;
        dump_fence(w, i, lane);
    }
    look_who_lives(w);
    for (int k = 0; k < LANES; k++)
        w->hinted[k] |= deed == ADOPT && k == lane ? 0 : PAWL_SHARDS_ALL * (deed == TAKE);
}

/* The process of a lane dies: its lane stays. */
static void do_die(struct world *w, int lane)
{
    if (!lane)
        return;
    for (int i = 0; i < 2; i++) {
        w->stores[i][lane]->ops->close(w->stores[i][lane]);
        w->stores[i][lane] = w->stores[i][0]->ops->shared->another(w->stores[i][0], NULL);
        w->dead[lane] = w->fences[0][lane].epoch;
    }
    for (int i = 0; i < 2; i++) {
        w->fences[i][lane] = (pawl_fence){.next_id = 1}; /* a fence belongs to its handle */
        w->groups[i][lane] = 0;
    }
    w->lives[lane] = false;
}

static void compare_all(struct world *w)
{
    uint64_t ids[KNOWN];
    size_t count = 0;
    for (int k = 0; k < KNOWN; k++)
        if (w->work[k].id)
            ids[count++] = w->work[k].id;
    for (int i = 0; i < 2; i++) {
        pawl_store *s = w->stores[i][0];
        pawl_lane_view view = {.size = sizeof(view)};
        pawl_message_list named = {0};
        dump_store(&w->out[i], s, ids, count, w->now, w->mem);
        ASK(s->ops->read_messages(s, 0, (pawl_str){0}, w->mem, &named, NULL));
        dump_messages(&w->out[i], &named);
        (void)s->ops->shared->view(s, w->mem, &view, NULL);
        for (size_t n = 0; n < view.lane_count; n++)
            buf_printf(&w->out[i], "lane %" PRIu64 " of %" PRIu64 " has %" PRIx64 "\n",
                       view.lanes[n].epoch, view.lanes[n].node, view.lanes[n].shards);
        buf_printf(&w->out[i], "free %" PRIx64 "\n", view.free);
    }
}

static void step(struct world *w, uint64_t n)
{
    uint64_t what = draw(w, 100);
    int lane = (int)draw(w, LANES);
    buf_reset(&w->out[0]);
    buf_reset(&w->out[1]);
    w->now += (int64_t)draw(w, 4);
    if (what < 45)
        do_commit(w, lane);
    else if (what < 72)
        do_fetch(w, lane);
    else if (what < 77)
        do_abandon(w, lane);
    else if (what < 81)
        do_remove(w, lane);
    else if (what < 99)
        do_ownership(w, lane);
    else
        do_die(w, lane);
    if (n % FULL_EVERY == 0)
        compare_all(w);
}

/* ---- Running ------------------------------------------------------------------------ */

static bool open_both(struct world *w)
{
    for (int i = 0; i < 2; i++) {
        pawl_error err = {0};
        pawl_store *s = w->stores[i][0] = w->factories[i].open(w->factories[i].user, &err);
        buf_init(&w->out[i], DUMP_MAX);
        if (!s || s->ops->take(s, w->now, &w->fences[i][0], &err) != PAWL_OK) {
            printf("FAIL %s: %s\n", w->names[i], err.text);
            return false;
        }
        for (int k = 1; k < LANES; k++)
            w->stores[i][k] = s->ops->shared->another(s, &err);
    }
    w->lives[0] = true;
    return true;
}

static bool run(const pawl_conformance_factory *a, const pawl_conformance_factory *b, uint64_t seed,
                uint64_t steps)
{
    static struct world w;
    w = (struct world){
        .random = seed * UINT64_C(0x9E3779B97F4A7C15) | 1,
        .now = 1000000,
        .names = {a->name, b->name},
        .factories = {*a,      *b     },
        .mem = pawl_mem_new()
    };
    bool failed = !open_both(&w);
    uint64_t n = 1;
    for (; n <= steps && !failed; n++) {
        step(&w, n);
        failed = dump_differ(&w.out[0], &w.out[1], w.names);
        pawl_mem_reset(w.mem);
    }
    if (failed)
        printf("FAIL %s and %s differ at step %" PRIu64 "; repeat with test_lane_differential "
               "%s %" PRIu64 " %" PRIu64 "\n",
               a->name, b->name, n - 1, b->name, seed, steps);
    for (int i = 0; i < 2; i++) {
        for (int k = 1; k < LANES; k++)
            w.stores[i][k]->ops->close(w.stores[i][k]);
        if (strcmp(w.names[i], "memory") == 0)
            memory_check(w.stores[i][0]);
        w.factories[i].close(w.factories[i].user, w.stores[i][0]);
        buf_deinit(&w.out[i]);
    }
    pawl_mem_free(w.mem);
    fflush(stdout);
    return !failed;
}

static bool is_shared(const pawl_conformance_factory *f)
{
    pawl_error err = {0};
    pawl_store_caps caps = {.size = sizeof(caps)};
    pawl_store *s = f->open(f->user, &err);
    if (!s)
        return false;
    s->ops->caps(s, &caps);
    f->close(f->user, s);
    return caps.shared;
}

int main(int argc, char **argv)
{
    pawl_conformance_factory all[STORES_MAX];
    size_t count = stores(all);
    if (argc > 1 && !isdigit((unsigned char)argv[1][0])) { /* a store by name */
        all[1] = store_called(argv[1]);
        count = 2;
        argv++, argc--;
    } else {
        all[1] = all[0]; /* memory beside itself: what the test does is the same every time */
    }
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, seeds = argc > 1 ? 1 : SEEDS;
    int passed = 0, failed = 0;
    for (size_t i = 1; i < count; i++) {
        bool far = strcmp(all[i].name, "postgres") == 0;
        uint64_t steps = argc > 2 ? strtoull(argv[2], NULL, 10) : far ? STEPS_FAR : STEPS;
        for (uint64_t n = 0; n < seeds && is_shared(&all[i]); n++) {
            bool same = run(&all[0], &all[i], seed + n, steps);
            passed += same;
            failed += !same;
        }
    }
    for (int n = 0; n < SEEN_COUNT; n++) {
        printf("%s%s=%lu", n ? " " : "beside the first lane: ", seen_names[n], seen[n]);
        failed += seen[n] == 0;
    }
    printf("\n");
    printf("test_lane_differential: %d passed, %d failed\n", passed, failed);
    return failed != 0;
}
