/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_ids.c -- ids come in blocks where lanes may share the store (E4), and labels
 * are what they should be. */
#include "scene.h"

#include "runtime/core/health.h"
#include "store/store_shared.h"

static pawl_result echo(pawl_ctx *ctx, pawl_str input)
{
    return pawl_done_str(ctx, input);
}

/* As after so many ids that this many are left; false: the store is one engine's, and has no end. */
static bool use_up(struct scene *s, uint64_t left)
{
    scene_flow(s, "Flow", echo);
    scene_start(s, "Flow", "first", "x");
    scene_finish(s, "first");
    ck_assert(store_is_shared(s->rt->store) == (s->rt->fence.end_id != 0));
    if (s->rt->fence.end_id)
        s->rt->fence.next_id = s->rt->fence.end_id - left;
    return s->rt->fence.end_id != 0;
}

static void expect_room(struct scene *s, uint64_t used)
{
    ck_assert(s->rt->fence.end_id - s->rt->fence.next_id >= PAWL_ID_BLOCK / 2 - 100);
    ck_assert(scene_row(s, "second").uid >= used);
}

SCENARIO(ids_are_asked_for_in_time)
{
    if (!use_up(s, 100))
        return;
    uint64_t used = s->rt->fence.next_id;
    scene_start(s, "Flow", "second", "y");
    scene_finish(s, "second");
    expect_room(s, used);
    ck_assert_uint_eq(scene_row(s, "second").uid, used); /* alone: without a gap */
    scene_crash(s);
    scene_expect(s, "second", PAWL_COMPLETED, "y");
}

SCENARIO(a_store_that_gives_no_ids_now_is_asked_again)
{
    if (!use_up(s, PAWL_ID_BLOCK / 3))
        return;
    scene_fail(s, FAULT_OP_new_ids, 0, 1000000, FAULT_BEFORE, PAWL_UNAVAILABLE);
    scene_start(s, "Flow", "second", "y"); /* there are enough for this pass */
    scene_expect(s, "second", PAWL_COMPLETED, "y");
    s->rt->fence.next_id = s->rt->fence.end_id - 100;
    scene_fail(s, FAULT_OP_new_ids, 0, 3, FAULT_BEFORE, PAWL_BUSY);
    scene_start(s, "Flow", "third", "z");
    scene_expect(s, "third", PAWL_COMPLETED, "z");
    expect_is(s->fault.left, 0);
    expect_room(s, 0);
}

SCENARIO(another_owner_is_noticed_by_the_ids)
{
    if (!use_up(s, 100))
        return;
    s->rt->fence.epoch += 1000; /* as if it were over */
    expect_is(pawl_runtime_step(s->rt, 0), -1);
    expect_is(health_dead(s->rt), PAWL_FENCED);
    scene_down(s);
}
