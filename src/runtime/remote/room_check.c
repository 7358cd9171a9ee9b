/* SPDX-License-Identifier: MIT */
/*
 * runtime/remote/room_check.c -- the invariants of sessions, runs and calls that wait.
 *
 *   runs      only an OUT run has letters; it has a session and a lease; one that begins has none
 *             yet.  A READY run is in one list:
 *             of its session, or of its code.
 *   sessions  in order of when they were heard; the runs that are its are in its list, each once; it
 *             is watched while it has ready runs.
 *   calls     those that were offered something are in the heap of ends; those with turns are in the
 *             list of filled ones.
 *   counts    out, bytes, known, ready and waiting are what is there, and within the limits.
 *
 * Called after every pass of checked builds, and by tests.
 */
#include "runtime/remote/room_check.h"

#include "runtime/remote/exchange.h"
#include "runtime/remote/remotes.h"

struct counted {
    size_t known, out, bytes, ready, waiting, listed;
};

static void check_run(const struct remote_run *run, struct counted *n)
{
    bool out = run->state == RUN_OUT;

    assert_that(out || (!run->letters && !run->bytes && !run->until.place));
    assert_that(!run->begins || (out && !run->letters));
    assert_that(!out || (run->session && run->until.place && run->serial));
    assert_that(run->session || (!run->staler && !run->fresher));
    assert_that(run->state == RUN_READY || (!run->next && !run->prev));
    n->out += out;
    n->bytes += run->bytes;
    n->ready += run->state == RUN_READY;
    n->known += run->session != NULL;
}

/* Of a session, or of a code: the other is NULL. */
static size_t check_list(const struct run_list *list, const struct worker_session *s,
                         const struct remote_code *code)
{
    const struct remote_run *before = NULL;
    size_t n = 0;

    for (const struct remote_run *run = list->first; run; before = run, run = run->next, n++) {
        assert_that(run->state == RUN_READY && run->prev == before);
        assert_that(s ? run->in_session && run->session == s
                      : !run->in_session && run->code == code);
    }
    assert_that(list->last == before);
    return n;
}

static void check_session(const struct worker_session *s, struct counted *n)
{
    const struct remote_run *before = NULL;
    size_t known = 0, out = 0;

    for (const struct remote_run *run = s->stalest; run; before = run, run = run->fresher) {
        assert_that(run->session == s && run->staler == before);
        known++;
        out += run->state == RUN_OUT;
    }
    assert_that(s->freshest == before && s->known == known && s->out == out);
    assert_that(out <= PAWL_TURNS_SESSION_OUT_MAX);
    assert_that(!s->ready.first || s->silent.place);
    n->listed += check_list(&s->ready, s, NULL);
    n->waiting += s->waiting;
    n->known -= known;
}

static void check_sessions(const struct remotes *all, struct counted *n)
{
    const struct worker_session *before = NULL;
    size_t count = 0;

    for (const struct worker_session *s = all->newest; s; before = s, s = s->older, count++) {
        assert_that(s->newer == before && (!before || before->heard_ms >= s->heard_ms));
        check_session(s, n);
    }
    assert_that(all->oldest == before && count == all->sessions.count);
    assert_that(count <= PAWL_TURNS_SESSIONS_MAX);
}

static void check_codes(const struct remotes *all, struct counted *n)
{
    size_t cursor = 0, told = 0, ready = 0;

    for (const struct remote_code *code; (code = map_next(&all->codes, &cursor));) {
        n->listed += check_list(&code->ready, NULL, code);
        told += code->sessions;
        ready += code->ready_count;
    }
    for (const struct worker_session *s = all->newest; s; s = s->older)
        told -= s->codes.count;
    assert_that(!told && ready == n->ready);
}

static void check_waiting(const struct remotes *all, const struct counted *n)
{
    const struct exchange *before = NULL;
    size_t count = 0, filled = 0;
    bool fresh = false;

    for (const struct exchange *ex = all->waiting; ex; before = ex, ex = ex->next, count++) {
        fresh = fresh || ex == all->fresh;
        assert_that(ex->prev == before && fresh == !ex->ends.place);
        filled += ex->turn_count != 0;
    }
    for (const struct exchange *ex = all->filled; ex; ex = ex->next_filled)
        filled--;
    assert_that(all->waiting_last == before && !filled && fresh == (all->fresh != NULL));
    assert_that(count == all->waiting_count && count == n->waiting);
}

void remote_check(const pawl_runtime *rt)
{
    const struct remotes *all = rt->hands.remotes;
    struct counted n = {0};
    size_t cursor = 0;

    for (const struct remote_run *run; (run = map_next(&all->runs, &cursor));)
        check_run(run, &n);
    assert_that(n.known == all->known_count && n.bytes == all->out_bytes);
    assert_that(n.out == all->out_count && n.out == all->leases.count);
    assert_that(n.out <= all->most_out);
    check_sessions(all, &n);
    assert_that(!n.known); /* no run has a session that has it not */
    check_codes(all, &n);
    assert_that(n.listed == n.ready);
    check_waiting(all, &n);
    heap_check(&all->leases);
    heap_check(&all->silent);
    heap_check(&all->ends);
}
