/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/paranoid.c -- replay after every turn and compare. [engine]
 *
 * With opts.paranoid every stage is proved before it is committed: the stored
 * history and what the turn decided are replayed with a fresh stack, and must
 * end where the live code stands: same length, same open tasks, same ending.
 * Code that is not deterministic is found in its first turn, not after the next
 * restart; the instance is parked with the finding and nothing is appended.
 *
 * Costs a replay a turn.  Turns that were ended from outside ran no code and are
 * left alone.
 */
#include "runtime/instance/paranoid.h"

#include "runtime/core/registry.h"
#include "runtime/core/stage.h"
#include "runtime/instance/finish.h"
#include "runtime/instance/load.h"
#include "store/store.h"

#include <stdio.h>

/* What the turn recorded in `execution_no`, behind what is stored. */
static pawl_status gather(pawl_runtime *rt, const struct stage *s, uint64_t execution_no,
                          pawl_event_list *ret)
{
    pawl_event_list stored = {0};
    pawl_error err;
    arena_reset(&rt->load_mem);
    if (execution_no == s->base_execution && s->base_seq) {
        pawl_status rc = store_read_history(rt->store, s->row.uid, execution_no, 0, 0,
                                            &rt->load_mem, &stored, &err);
        if (rc != PAWL_OK)
            return rc;
    }
    pawl_event *all = arena_array(&rt->load_mem, pawl_event, stored.count + s->turn.count + 1);
    size_t n = 0;
    for (; n < stored.count; n++)
        all[n] = stored.items[n];
    for (size_t i = 0; i < s->turn.count; i++)
        if (s->turn.steps[i].event.execution == execution_no)
            all[n++] = s->turn.steps[i].event;
    *ret = (pawl_event_list){all, n};
    return PAWL_OK;
}

static bool same_open_tasks(const execution *a, const execution *b)
{
    uint64_t at_a = 0, at_b = 0;
    struct open_task x, y;
    for (;;) {
        bool more_a = execution_next_open(a, &at_a, &x), more_b = execution_next_open(b, &at_b, &y);
        if (!more_a || !more_b)
            return more_a == more_b;
        if (x.id != y.id || x.kind != y.kind)
            return false;
    }
}

/* Does the replayed execution stand where the live one does? */
static bool agrees(const execution *live, const execution *again, struct engine_finding *finding)
{
    const char *what = NULL;
    if (execution_last_seq(live) != execution_last_seq(again))
        what = "length";
    else if (execution_end(live).kind != execution_end(again).kind)
        what = "ending";
    else if (!same_open_tasks(live, again))
        what = "open tasks";
    if (what)
        (void)snprintf(finding->text, sizeof(finding->text),
                       "nondeterministic: replayed right after the turn, the code has another %s",
                       what);
    return !what;
}

/* Replay one execution of the stage; `live` (may be NULL) is where it must end. */
static bool proves(pawl_runtime *rt, struct stage *s, uint64_t execution_no, pawl_str version,
                   const execution *live, struct engine_finding *finding)
{
    pawl_event_list events;
    pawl_row row = s->row;
    row.execution = execution_no;
    const struct code_entry *code = registry_code(rt->app, row.orchestration, version);
    if (!code || code->remote || gather(rt, s, execution_no, &events) != PAWL_OK || !events.count)
        return true; /* nothing to compare with */
    struct execution_spec spec = load_spec(rt, &row, code, NULL);
    execution *again = execution_create(&spec);
    if (!again)
        return true;
    enum engine_outcome outcome = execution_replay(again, events.items, events.count, finding);
    bool ok = outcome != ENGINE_MISMATCH && outcome != ENGINE_CORRUPT;
    if (ok && live && outcome != ENGINE_NO_MEMORY)
        ok = agrees(live, again, finding);
    execution_destroy(again);
    return ok;
}

static bool was_forced(const struct stage *s)
{
    const pawl_event *last = &s->turn.steps[s->turn.count - 1].event;
    return last->attrs.len && pawl_json_bool(last->attrs, "/forced", false);
}

/* Both executions of a ContinueAsNew, the last one against the live code. */
static bool stage_proves(pawl_runtime *rt, struct stage *s, struct engine_finding *finding)
{
    if (!s->r || !s->r->x || !s->turn.count || was_forced(s))
        return true;
    bool reruns =
        s->letters && s->letters->reruns; /* the run before it ended long ago, or by force */
    bool continued = s->row.execution != s->base_execution && !reruns;
    pawl_str before = s->base_seq ? s->r->row.version : s->row.version;
    if (continued && !proves(rt, s, s->base_execution, before, NULL, finding))
        return false;
    return proves(rt, s, s->row.execution, s->row.version, s->r->x, finding);
}

struct delivered paranoid_look(pawl_runtime *rt)
{
    struct delivered all = verdict_done();
    struct letter **end = &all.letters;
    for (struct stage *s = stage_first(rt), *next; s; s = next) {
        struct engine_finding finding = {0};
        next = s->next;
        if (stage_proves(rt, s, &finding))
            continue;
        struct delivered v = turn_outcome(rt, s->r, NULL, ENGINE_MISMATCH, &finding);
        if (v.kind == VERDICT_DONE)
            continue;
        all.kind = v.kind;
        for (*end = v.letters; *end; end = &(*end)->next)
            ;
    }
    return all;
}
