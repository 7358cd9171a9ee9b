/* SPDX-License-Identifier: MIT */
/* tests/conformance/differ.c -- see differ.h. */
#include "differ.h"

#include "dump.h"
#include "world.h"

#include <inttypes.h>
#include <stdio.h>

#define DUMP_MAX   (16 << 20)
#define FULL_EVERY 25 /* steps between comparisons of everything */

/* ---- Operations: each writes its answer of store i into out[i] --------------- */

/* A store that says BUSY is asked again: nothing happened. */
#define ASK(call)                                                                                  \
    pawl_status status;                                                                            \
    do                                                                                             \
        status = (call);                                                                           \
    while (status == PAWL_BUSY);                                                                   \
    buf_printf(&w->out[i], "%s\n", pawl_status_code(status))

/* Group numbers by how far they moved: the stores need different numbers of purges. */
static void dump_fence(struct world *w, int i, uint64_t group_before)
{
    buf_printf(&w->out[i], "fence %" PRIu64 " +%" PRIu64 " %" PRIu64 "\n", w->fences[i].epoch,
               w->fences[i].group_no - group_before, w->fences[i].next_id);
}

static void do_commit(struct world *w)
{
    size_t count = world_draw(w, 4) + (world_chance(w, 5) ? 0 : 1);
    struct plan *plans = pawl_mem_alloc(w->mem, (count + 1) * sizeof(*plans));
    pawl_round *rounds = pawl_mem_alloc(w->mem, (count + 1) * sizeof(*rounds));
    for (size_t n = 0; n < count; n++)
        world_plan(w, &plans[n]);
    for (int i = 0; i < 2; i++) {
        for (size_t n = 0; n < count; n++)
            rounds[n] = plans[n].round;
        w->fences[i].next_id = w->next_id;
        uint64_t group = w->fences[i].group_no;
        ASK(w->stores[i]->ops->commit(w->stores[i], &w->fences[i], rounds, count, w->now, NULL));
        for (size_t n = 0; n < count; n++)
            buf_printf(&w->out[i], "round %zu of %" PRIu64 ": %s\n", n, rounds[n].uid,
                       pawl_status_code(rounds[n].result));
        for (size_t n = 0; n < count; n++)
            dump_instance(&w->out[i], w->stores[i], rounds[n].uid, w->mem);
        dump_fence(w, i, group);
    }
}

static void do_fetch(struct world *w)
{
    uint32_t limit = (uint32_t)world_draw(w, 6) + 1;
    pawl_str names[2] = {world_activity(w), world_activity(w)};
    uint64_t which = world_draw(w, w->weak ? 3 : 4), name_count = world_draw(w, 3);
    for (int i = 0; i < 2; i++) {
        pawl_store *s = w->stores[i];
        pawl_message_list messages = {0};
        pawl_work_list work = {0};
        int64_t due = 0;
        ASK(which == 0 ? s->ops->fetch_messages(s, w->now, limit, w->mem, &messages, NULL)
            : which == 1
                ? s->ops->fetch_work(s, w->now, names, name_count, limit, w->mem, &work, NULL)
            : which == 2 ? s->ops->fetch_deadlines(s, w->now, limit, w->mem, &work, NULL)
                         : s->ops->next_due(s, w->now, &due, NULL));
        dump_messages(&w->out[i], &messages);
        dump_work(&w->out[i], &work);
        buf_printf(&w->out[i], "due %" PRId64 "\n", due);
    }
}

static void do_abandon(struct world *w)
{
    uint64_t messages[4], work[4];
    for (int n = 0; n < 4; n++) {
        messages[n] = world_message(w);
        work[n] = world_job(w);
    }
    for (int i = 0; i < 2; i++) {
        w->stores[i]->ops->abandon_messages(w->stores[i], messages, 4);
        w->stores[i]->ops->abandon_work(w->stores[i], work, 4);
    }
}

static void purge_both(struct world *w)
{
    for (int i = 0; i < 2; i++) {
        bool left = true;
        while (left) {
            ASK(w->stores[i]->ops->purge(w->stores[i], &w->fences[i], 10, &left, NULL));
            if (status != PAWL_OK)
                break;
            buf_reset(&w->out[i]); /* how many calls it takes is the store's affair */
        }
    }
}

static size_t forget(struct job *jobs, size_t count, uint64_t uid)
{
    size_t kept = 0;
    for (size_t n = 0; n < count; n++) {
        if (jobs[n].uid != uid)
            jobs[kept++] = jobs[n];
    }
    return kept;
}

static void do_remove(struct world *w)
{
    if (w->uid_count == 0)
        return;
    size_t n = world_draw(w, w->uid_count);
    pawl_row row = {0};
    uint64_t uid = w->uids[n];
    if (w->stores[0]->ops->find_uid(w->stores[0], uid, w->mem, &row, NULL) == PAWL_OK) {
        for (int i = 0; i < 2; i++) {
            pawl_round r = {.uid = uid,
                            .execution = row.execution,
                            .base_seq = row.last_seq,
                            .base_rid = row.last_rid,
                            .change = PAWL_ROW_REMOVE};
            ASK(w->stores[i]->ops->commit(w->stores[i], &w->fences[i], &r, 1, w->now, NULL));
            buf_printf(&w->out[i], "removed %s\n", pawl_status_code(r.result));
            dump_instance(&w->out[i], w->stores[i], 0, w->mem);
        }
        purge_both(w);
        w->job_count = forget(w->jobs, w->job_count, uid);
        w->timer_count = forget(w->timers, w->timer_count, uid);
    }
    w->uids[n] = w->uids[--w->uid_count];
}

static void do_prune(struct world *w)
{
    if (w->uid_count == 0)
        return;
    uint64_t uid = w->uids[world_draw(w, w->uid_count)], before = world_draw(w, 6);
    for (int i = 0; i < 2; i++) {
        uint64_t count = 0;
        ASK(w->stores[i]->ops->prune_executions(w->stores[i], &w->fences[i], uid, before, &count,
                                                NULL));
        buf_printf(&w->out[i], "pruned %" PRIu64 "\n", count);
        dump_instance(&w->out[i], w->stores[i], uid, w->mem);
    }
    if (world_chance(w, 50))
        purge_both(w);
}

static void do_take(struct world *w)
{
    bool dead = world_chance(w, 20);
    for (int i = 0; i < 2; i++) {
        pawl_error err = {0};
        if (dead)
            w->stores[i] = w->factories[i].reopen(w->factories[i].user, w->stores[i], &err);
        uint64_t group = w->fences[i].group_no;
        ASK(w->stores[i]->ops->take(w->stores[i], w->now, &w->fences[i], NULL));
        dump_fence(w, i, group);
    }
}

/* Work rows that are gone make room for new ones. */
static void sweep_jobs(struct world *w)
{
    size_t kept = 0;
    for (size_t n = 0; n < w->job_count; n++) {
        pawl_work_list list = {0};
        if (w->stores[0]->ops->read_work(w->stores[0], &w->jobs[n].id, 1, w->mem, &list, NULL) ==
                PAWL_OK &&
            list.count == 1)
            w->jobs[kept++] = w->jobs[n];
    }
    w->job_count = kept;
}

static void compare_all(struct world *w)
{
    uint64_t ids[WORK_MAX];
    for (size_t n = 0; n < w->job_count; n++)
        ids[n] = w->jobs[n].id;
    for (int i = 0; i < 2; i++)
        dump_store(&w->out[i], w->stores[i], ids, w->job_count, w->now, w->mem);
}

static void step(struct world *w, uint64_t n)
{
    uint64_t what = world_draw(w, 100);
    buf_reset(&w->out[0]);
    buf_reset(&w->out[1]);
    w->now += (int64_t)world_draw(w, 4);
    if (what < 45)
        do_commit(w);
    else if (what < 82)
        do_fetch(w);
    else if (what < 90)
        do_abandon(w);
    else if (what < 94)
        do_remove(w);
    else if (what < 97)
        do_prune(w);
    else
        do_take(w);
    if (w->job_count > WORK_MAX - 8 * 4)
        sweep_jobs(w);
    if (n % FULL_EVERY == 0 || what >= 90)
        compare_all(w);
}

/* ---- Running ----------------------------------------------------------------- */

bool differ_run(const pawl_conformance_factory *a, const pawl_conformance_factory *b,
                struct differ_source from)
{
    struct world w = {
        .random = from.seed * UINT64_C(0x9E3779B97F4A7C15) | 1,
        .bytes = from.bytes,
        .left = from.count,
        .now = 1000000,
        .names = {a->name, b->name},
        .factories = {*a,      *b     },
        .mem = pawl_mem_new()
    };
    for (int i = 0; i < 2; i++) {
        pawl_error err = {0};
        buf_init(&w.out[i], DUMP_MAX);
        w.stores[i] = w.factories[i].open(w.factories[i].user, &err);
        if (!w.stores[i] ||
            w.stores[i]->ops->take(w.stores[i], w.now, &w.fences[i], &err) != PAWL_OK) {
            printf("FAIL %s: %s\n", w.names[i], err.text);
            return false;
        }
    }
    pawl_store_caps caps = {.size = sizeof(caps)};
    w.stores[1]->ops->caps(w.stores[1], &caps);
    w.weak = !caps.atomic_rounds || !caps.delayed_visibility;
    w.next_id = w.fences[0].next_id;
    uint64_t n = 1;
    for (; n <= from.steps && !w.failed && (!w.bytes || w.left); n++) {
        step(&w, n);
        w.failed = dump_differ(&w.out[0], &w.out[1], w.names);
        pawl_mem_reset(w.mem);
    }
    if (w.failed)
        printf("FAIL %s and %s differ at step %" PRIu64 "; repeat with test_differential %" PRIu64
               " %" PRIu64 "\n",
               a->name, b->name, n - 1, from.seed, from.steps);
    for (int i = 0; i < 2; i++) {
        w.factories[i].close(w.factories[i].user, w.stores[i]);
        buf_deinit(&w.out[i]);
    }
    pawl_mem_free(w.mem);
    return !w.failed;
}
