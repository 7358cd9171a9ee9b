/* SPDX-License-Identifier: MIT */
/* runtime/remote/playing.c -- see playing.h. */
#include "runtime/remote/playing.h"

#include "runtime/core/letter.h"
#include "runtime/remote/exchange.h"
#include "runtime/remote/ready.h"
#include "runtime/remote/remote_run.h"
#include "runtime/remote/remotes.h"
#include "runtime/remote/worker_session.h"

#include <stdlib.h>

bool remote_open(pawl_runtime *rt)
{
    struct remotes *all = calloc(1, sizeof(*all));

    if (!all)
        return false;
    map_init(&all->sessions);
    map_init(&all->runs);
    map_init(&all->codes);
    heap_init(&all->leases);
    heap_init(&all->silent);
    heap_init(&all->ends);
    all->most_out = PAWL_TURNS_OUT_MAX;
    all->most_bytes = PAWL_TURNS_OUT_BYTES;
    all->first_ms = RUN_FIRST_MS;
    rt->hands.remotes = all;
    return true;
}

static void free_runs(pawl_runtime *rt)
{
    size_t cursor = 0;

    for (struct remote_run *run; (run = map_next(&rt->hands.remotes->runs, &cursor));) {
        for (struct letter *l = run->letters, *next; l; l = next) {
            next = l->next;
            letter_drop(rt, l, PAWL_SHUTDOWN, "the runtime is shutting down");
        }
        free(run->start_attrs);
        free(run);
    }
    map_deinit(&rt->hands.remotes->runs);
}

void remote_close(pawl_runtime *rt)
{
    struct remotes *all = rt->hands.remotes;
    size_t cursor = 0;

    if (!all)
        return;
    heap_deinit(&all->leases); /* its nodes are in the runs */
    heap_deinit(&all->silent); /* and in the sessions */
    heap_deinit(&all->ends);
    free_runs(rt);
    session_free_all(rt);
    for (struct remote_code *code; (code = map_next(&all->codes, &cursor));)
        free(code);
    map_deinit(&all->sessions);
    map_deinit(&all->codes);
    vec_deinit(&all->bring);
    free(all);
    rt->hands.remotes = NULL;
}

int64_t remote_next(const pawl_runtime *rt)
{
    int64_t served = exchange_next(rt), look = ready_next(rt);

    return served < look ? served : look;
}

/* ---- The answer that is being applied ----------------------------------------- */

void remote_play_begin(pawl_runtime *rt, uint64_t uid, const struct code_entry *code,
                       const struct remote_step *step, pawl_str start_attrs)
{
    assert_that(!rt->hands.remotes->playing.uid);
    rt->hands.remotes->playing =
        (struct playing){.uid = uid, .code = code, .step = step, .start_attrs = start_attrs};
}

bool remote_play_end(pawl_runtime *rt, bool *retrefused, struct engine_finding *ret)
{
    struct playing *p = &rt->hands.remotes->playing;
    bool played = p->played && !p->refused;

    *retrefused = p->refused;
    if (p->refused)
        *ret = p->finding;
    p->uid = 0;
    return played;
}

const struct code_entry *remote_playing(const pawl_runtime *rt, uint64_t uid)
{
    const struct playing *p = &rt->hands.remotes->playing;

    return uid && p->uid == uid ? p->code : NULL;
}

bool remote_play_starts(const pawl_runtime *rt)
{
    return rt->hands.remotes->playing.start_attrs.len && !rt->hands.remotes->playing.played;
}

void remote_play(pawl_runtime *rt, execution *x, struct mail *start)
{
    struct playing *p = &rt->hands.remotes->playing;

    assert_that(p->uid);
    p->played = true;
    if (start && p->start_attrs.len)
        start->attrs = arena_dup(&rt->group_mem, p->start_attrs);
    if (p->step)
        execution_step(x, p->step);
}

void remote_play_refused(pawl_runtime *rt, const struct engine_finding *finding)
{
    rt->hands.remotes->playing.refused = true;
    rt->hands.remotes->playing.finding = *finding;
}
