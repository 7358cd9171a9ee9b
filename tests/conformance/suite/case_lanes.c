/* SPDX-License-Identifier: MIT */
/* suite/case_lanes.c -- several engines on one store: who owns what.  E1 to E4, E12 to E18, T6. */
#include "suite.h"

#include "store/fault/fault.h"

#define SHARD(n) (UINT64_C(1) << (n))

static void give(struct probe *t, uint64_t shards, uint64_t heir)
{
    CHECK_STATUS(shared(t)->give(t->store, &t->fence, shards, heir, NULL), PAWL_OK);
}

/* ---- join ------------------------------------------------------------------- */

static void e1_a_lane_joins_without_shards_and_the_other_goes_on(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t epoch = t->fence.epoch;
    struct side b = beside(t), c = beside(t);
    CHECK(epoch < b.fence.epoch && b.fence.epoch < c.fence.epoch);
    CHECK_NUMBER(b.fence.shards, 0);
    CHECK_NUMBER(b.fence.group_no, 0);
    append(t, &a, "x");
    CHECK_NUMBER(t->fence.shards, PAWL_SHARDS_ALL);
    speak_for(t, &c);
    CHECK_STATUS(commit(free_round(t)), PAWL_OK);
    CHECK_NUMBER(t->fence.group_no, 1);
    CHECK_TEXT(fetch(t, 10), "");
    CHECK_TEXT(history(t, a.uid, 1), "start x");
}

static void e1_e12_who_joins_again_is_another_lane(struct probe *t)
{
    struct side b = beside(t);
    hand_over(t, &b, SHARD(1));
    pawl_fence before = b.fence;
    speak_for(t, &b);
    CHECK_STATUS(shared(t)->join(t->store, 0, t->now, &t->fence, NULL), PAWL_OK);
    CHECK(t->fence.epoch > before.epoch);
    CHECK_NUMBER(t->fence.shards, 0);
    CHECK_TEXT(owners(t), "0234567 - 1");
    t->fence = before;
    CHECK_STATUS(commit(free_round(t)), PAWL_FENCED);
}

static void e1_a_fence_is_of_its_handle(struct probe *t)
{
    struct side b = beside(t);
    pawl_fence own = t->fence;
    t->fence = b.fence;
    CHECK_STATUS(commit(free_round(t)), PAWL_FENCED);
    CHECK_STATUS(shared(t)->adopt(t->store, &t->fence, NULL), PAWL_FENCED);
    t->fence = own;
    CHECK_STATUS(commit(free_round(t)), PAWL_OK);
}

/* ---- Shards and their lanes ------------------------------------------------------ */

static void e2_only_free_shards_are_claimed(struct probe *t)
{
    struct side b = beside(t), c = beside(t);
    speak_for(t, &b);
    claim(t, PAWL_SHARDS_ALL);
    CHECK_NUMBER(t->fence.shards, 0);
    speak_for(t, &b);
    give(t, SHARD(1) | SHARD(2), 0);
    CHECK_TEXT(owners(t), "034567 - - 12");
    speak_for(t, &b);
    claim(t, SHARD(1) | SHARD(3));
    CHECK_NUMBER(t->fence.shards, SHARD(1));
    speak_for(t, &b);
    speak_for(t, &c);
    claim(t, PAWL_SHARDS_ALL);
    CHECK_NUMBER(t->fence.shards, SHARD(2));
    CHECK_TEXT(owners(t), "034567 1 2 -");
}

static void e2_what_is_claimed_is_used_after_an_adopt(struct probe *t)
{
    struct side b = beside(t);
    give(t, SHARD(1), 0);
    speak_for(t, &b);
    uint64_t group = t->fence.group_no;
    CHECK_STATUS(shared(t)->claim(t->store, &t->fence, SHARD(1), NULL), PAWL_OK);
    CHECK_NUMBER(t->fence.shards, 0);
    CHECK_NUMBER(t->fence.group_no, group + 1);
    struct draft *d = insert(t, "a");
    d->row.shard = 1;
    CHECK_STATUS(commit(d), PAWL_CONFLICT);
    adopt(t);
    (void)make_in(t, "a", 1);
}

static void e18_every_shard_is_in_one_place(struct probe *t)
{
    needs_lanes(t);
    uint64_t moves = lanes(t).moves;
    struct side b = beside(t), c = beside(t);
    for (int i = 0; i < 6; i++) {
        if (i == 0)
            hand_over(t, &b, 0xff);
        else if (i == 1)
            hand_over(t, &c, 0xff00);
        else if (i == 2)
            give(t, SHARD(40), 0);
        else if (i == 3)
            bury(t, b.fence.epoch);
        else if (i == 4)
            claim(t, SHARD(40));
        else
            adopt(t);
        pawl_lane_view view = lanes(t);
        uint64_t seen = view.free;
        for (size_t n = 0; n < view.lane_count; n++) {
            CHECK_NUMBER(seen & view.lanes[n].shards, 0);
            CHECK(n == 0 || view.lanes[n - 1].epoch < view.lanes[n].epoch);
            seen |= view.lanes[n].shards;
        }
        CHECK_NUMBER(seen, PAWL_SHARDS_ALL);
        CHECK(i == 5 || view.moves > moves);
        moves = view.moves;
    }
}

/* ---- adopt ------------------------------------------------------------------------- */

static void e3_what_the_giver_had_taken_is_free(struct probe *t)
{
    pawl_row a = make_in(t, "a", 5), z = make_in(t, "z", 6);
    struct side b = beside(t);
    deliver(t, &a, "m1");
    enqueue(t, &a, "j1");
    deliver(t, &z, "kept");
    CHECK_TEXT(fetch(t, 10), "m1 kept");
    CHECK_TEXT(fetch_jobs(t, 10), "j1");
    struct draft *d = change(t, &a);
    draft_mail(d, "m2");
    draft_work(d, (pawl_work){.name = pawl_s("j2"), .lock_epoch = t->fence.epoch});
    draft_plain(d, "j3");
    CHECK_STATUS(commit(d), PAWL_OK);
    hand_over(t, &b, SHARD(5));
    CHECK_TEXT(fetch(t, 10), "");
    CHECK_TEXT(fetch_jobs(t, 10), "");
    speak_for(t, &b);
    CHECK_TEXT(fetch(t, 10), "m1 m2");
    CHECK_TEXT(fetch_jobs(t, 10), "j1 j2 j3");
    append(t, &a, "by-b");
}

static void e3_what_others_have_taken_stays_theirs_when_a_lane_ends(struct probe *t)
{
    pawl_row a = make_in(t, "a", 5);
    struct side b = beside(t), c = beside(t), d = beside(t);
    deliver(t, &a, "m");
    enqueue(t, &a, "j");
    CHECK_TEXT(fetch(t, 10), "m");
    CHECK_TEXT(fetch_jobs(t, 10), "j");
    hand_over(t, &c, SHARD(1));
    bury(t, b.fence.epoch);
    bury(t, c.fence.epoch);
    adopt(t);
    speak_for(t, &d);
    CHECK_STATUS(shared(t)->join(t->store, 0, t->now, &t->fence, NULL), PAWL_OK);
    CHECK_STATUS(shared(t)->leave(t->store, &t->fence, NULL), PAWL_OK);
    speak_for(t, &d);
    CHECK_TEXT(fetch(t, 10), "");
    CHECK_TEXT(fetch_jobs(t, 10), "");
}

static void e3_a_lease_stays_with_its_token(struct probe *t)
{
    pawl_row a = make_in(t, "a", 5);
    struct side b = beside(t);
    uint64_t id = enqueue(t, &a, "j");
    struct draft *d = free_round(t);
    draft_update_work(
        d, (pawl_work_update){.id = id, .lock_token = pawl_s("tok"), .lock_until_ms = t->now + 50});
    CHECK_STATUS(commit(d), PAWL_OK);
    hand_over(t, &b, SHARD(5));
    speak_for(t, &b);
    CHECK_TEXT(fetch_jobs(t, 10), "");
    tick(t, 50);
    CHECK_TEXT(fetch_jobs(t, 10), "j");
}

static void e3_times_come_with_the_shard(struct probe *t)
{
    pawl_row a = make_in(t, "a", 5);
    struct side b = beside(t);
    deliver_at(t, &a, "later", t->now + 300);
    enqueue_work(t, &a, (pawl_work){.name = pawl_s("slow"), .visible_ms = t->now + 200});
    enqueue_work(t, &a, (pawl_work){.name = pawl_s("timed"), .deadline_ms = t->now + 100});
    hand_over(t, &b, SHARD(5));
    CHECK_NUMBER(next_due(t, t->now), INT64_MAX);
    speak_for(t, &b);
    CHECK_NUMBER(next_due(t, t->now), t->now + 100);
    tick(t, 100);
    CHECK_TEXT(overdue(t, 10), "timed");
    CHECK_NUMBER(next_due(t, t->now), t->now + 100);
    tick(t, 100);
    CHECK_TEXT(fetch_jobs(t, 10), "slow timed");
    tick(t, 100);
    CHECK_TEXT(fetch(t, 10), "later");
}

static void e3_shards_that_come_back_are_as_the_other_left_them(struct probe *t)
{
    pawl_row a = make_in(t, "a", 5);
    struct side b = beside(t);
    uint64_t first = deliver(t, &a, "first");
    CHECK_TEXT(fetch(t, 10), "first");
    hand_over(t, &b, SHARD(5));
    speak_for(t, &b);
    struct draft *d = change(t, &a);
    draft_event(d, "by-b");
    draft_drop_message(d, first);
    draft_mail(d, "second");
    draft_plain(d, "job");
    CHECK_STATUS(commit(d), PAWL_OK);
    hand_over(t, &b, SHARD(5));
    CHECK_TEXT(fetch(t, 10), "");
    speak_for(t, &b);
    CHECK_TEXT(fetch(t, 10), "second");
    CHECK_TEXT(fetch_jobs(t, 10), "job");
    append(t, &a, "by-a");
    CHECK_TEXT(history(t, a.uid, 1), "start by-b input by-a");
}

/* ---- Ids ----------------------------------------------------------------------------- */

static void e4_no_id_is_given_to_two_lanes(struct probe *t)
{
    struct side b = beside(t), c = beside(t);
    pawl_fence all[] = {t->fence, b.fence, c.fence};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            CHECK(i == k || all[i].end_id <= all[k].next_id || all[k].end_id <= all[i].next_id);
}

static void e4_after_an_adopt_ids_are_above_all_in_the_shard(struct probe *t)
{
    struct side b = beside(t);
    hand_over(t, &b, SHARD(5));
    speak_for(t, &b);
    pawl_row a = make_in(t, "a", 5);
    CHECK(a.last_rid > b.fence.next_id);
    hand_over(t, &b, SHARD(5));
    speak_for(t, &b);
    CHECK(t->fence.next_id > a.last_rid);
    append(t, &a, "by-a"); /* C3: its rids grow */
    hand_over(t, &b, SHARD(5));
    CHECK(b.fence.next_id > a.last_rid);
}

static void e4_a_lane_alone_counts_without_a_gap(struct probe *t)
{
    needs_lanes(t);
    for (int i = 0; i < 3; i++) {
        uint64_t next = t->fence.next_id += PAWL_ID_BLOCK / 2 + 7;
        CHECK(t->fence.next_id < t->fence.end_id);
        CHECK_STATUS(shared(t)->new_ids(t->store, &t->fence, NULL), PAWL_OK);
        CHECK_NUMBER(t->fence.next_id, next);
        CHECK(t->fence.end_id - next >= PAWL_ID_BLOCK / 2);
        (void)make(t, i == 0 ? "a" : i == 1 ? "b" : "c");
        next = t->fence.next_id;
        die(t);
        take(t);
        CHECK_NUMBER(t->fence.next_id, next);
        CHECK(t->fence.end_id - next >= PAWL_ID_BLOCK / 2);
    }
}

static void e4_new_ids_of_several_lanes_differ(struct probe *t)
{
    struct side b = beside(t);
    uint64_t top = b.fence.end_id;
    for (int i = 0; i < 4; i++) {
        t->fence.next_id = t->fence.end_id - 5;
        uint64_t used = t->fence.next_id;
        CHECK_STATUS(shared(t)->new_ids(t->store, &t->fence, NULL), PAWL_OK);
        CHECK(t->fence.next_id >= used);
        CHECK(t->fence.next_id >= top || t->fence.end_id <= b.fence.next_id);
        CHECK(t->fence.end_id - t->fence.next_id >= PAWL_ID_BLOCK / 2);
        top = t->fence.end_id;
        speak_for(t, &b);
    }
}

/* ---- give and leave ---------------------------------------------------------------------- */

static void e14_what_is_given_is_not_ours_any_more(struct probe *t)
{
    pawl_row a = make_in(t, "a", 5), z = make_in(t, "z", 6);
    struct side b = beside(t);
    uint64_t group = t->fence.group_no;
    give(t, SHARD(5), b.fence.epoch);
    CHECK_NUMBER(t->fence.group_no, group + 1);
    CHECK_NUMBER(t->fence.shards, ~SHARD(5));
    CHECK_TEXT(owners(t), "0123467 5 -");
    struct draft *d = change(t, &a);
    draft_event(d, "late");
    CHECK_STATUS(commit(d), PAWL_CONFLICT);
    append(t, &z, "own");
    CHECK_NUMBER(b.fence.shards, 0);
    speak_for(t, &b);
    adopt(t);
    CHECK_NUMBER(t->fence.shards, SHARD(5));
    append(t, &a, "by-b");
}

static void e16_what_was_not_adopted_yet_leaves_too(struct probe *t)
{
    struct side b = beside(t);
    hand_over(t, &b, SHARD(1));
    give(t, SHARD(2), b.fence.epoch);
    speak_for(t, &b);
    CHECK_STATUS(shared(t)->leave(t->store, &t->fence, NULL), PAWL_OK);
    CHECK_TEXT(owners(t), "034567 12");
}

static void e15_an_heir_that_does_not_live_gets_nothing(struct probe *t)
{
    pawl_row a = make_in(t, "a", 5);
    struct side b = beside(t);
    bury(t, b.fence.epoch);
    pawl_fence before = t->fence;
    CHECK_STATUS(shared(t)->give(t->store, &t->fence, SHARD(5), b.fence.epoch, NULL),
                 PAWL_CONFLICT);
    CHECK_NUMBER(t->fence.group_no, before.group_no);
    CHECK_NUMBER(t->fence.shards, PAWL_SHARDS_ALL);
    CHECK_TEXT(owners(t), "01234567 -");
    deliver(t, &a, "m");
    CHECK_TEXT(fetch(t, 10), "m");
    append(t, &a, "x");
}

static void e16_who_left_is_over(struct probe *t)
{
    struct side b = beside(t);
    hand_over(t, &b, SHARD(5));
    speak_for(t, &b);
    pawl_row a = make_in(t, "a", 5);
    deliver(t, &a, "m");
    pawl_fence before = t->fence;
    CHECK_STATUS(shared(t)->leave(t->store, &t->fence, NULL), PAWL_OK);
    CHECK_NUMBER(t->fence.group_no, before.group_no + 1);
    CHECK_NUMBER(t->fence.shards, 0);
    CHECK_TEXT(owners(t), "0123467 5");
    CHECK_STATUS(commit(free_round(t)), PAWL_FENCED);
    CHECK_STATUS(shared(t)->claim(t->store, &t->fence, SHARD(5), NULL), PAWL_FENCED);
    CHECK_STATUS(shared(t)->adopt(t->store, &t->fence, NULL), PAWL_FENCED);
    speak_for(t, &b);
    claim(t, SHARD(5));
    CHECK_TEXT(fetch(t, 10), "m");
    append(t, &a, "x");
}

/* ---- bury --------------------------------------------------------------------------------- */

static void e12_a_buried_lane_commits_nothing(struct probe *t)
{
    pawl_row a = make_in(t, "a", 5);
    struct side b = beside(t);
    hand_over(t, &b, SHARD(5));
    bury(t, b.fence.epoch);
    speak_for(t, &b);
    bool left;
    uint64_t count;
    pawl_fence fence = t->fence;
    struct draft *d = change(t, &a);
    draft_event(d, "late");
    CHECK_STATUS(commit(d), PAWL_FENCED);
    const pawl_shared_ops *ops = shared(t);
    CHECK_STATUS(t->store->ops->purge(t->store, &fence, 10, &left, NULL), PAWL_FENCED);
    CHECK_STATUS(t->store->ops->prune_executions(t->store, &fence, a.uid, 1, &count, NULL),
                 PAWL_FENCED);
    CHECK_STATUS(ops->claim(t->store, &fence, 1, NULL), PAWL_FENCED);
    CHECK_STATUS(ops->adopt(t->store, &fence, NULL), PAWL_FENCED);
    CHECK_STATUS(ops->give(t->store, &fence, SHARD(5), 0, NULL), PAWL_FENCED);
    CHECK_STATUS(ops->leave(t->store, &fence, NULL), PAWL_FENCED);
    CHECK_NUMBER(fence.group_no, t->fence.group_no);
    CHECK_STATUS(ops->bury(t->store, t->fence.epoch, t->now, NULL), PAWL_NOT_FOUND);
    CHECK_TEXT(history(t, a.uid, 1), "start");
    speak_for(t, &b);
    adopt(t);
    append(t, &a, "x");
}

static void e13_all_that_the_dead_had_committed_is_seen(struct probe *t)
{
    struct side b = beside(t);
    hand_over(t, &b, SHARD(5));
    speak_for(t, &b);
    pawl_row a = make_in(t, "a", 5);
    struct draft *d = change(t, &a);
    draft_event(d, "x");
    draft_mail(d, "m");
    draft_plain(d, "j");
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_TEXT(fetch(t, 10), "");
    uint64_t dead = t->fence.epoch;
    speak_for(t, &b);
    side_close(t, &b); /* it died; the lane is there until it is buried */
    CHECK_TEXT(owners(t), "0123467 5 -");
    bury(t, dead);
    CHECK_TEXT(owners(t), "01234567 -");
    CHECK_TEXT(fetch(t, 10), "");
    adopt(t);
    CHECK_TEXT(fetch(t, 10), "m");
    CHECK_TEXT(fetch_jobs(t, 10), "j");
    append(t, &a, "y");
    CHECK_TEXT(history(t, a.uid, 1), "start x input y");
}

static void e13_a_lane_without_a_handle_is_buried_by_any(struct probe *t)
{
    struct side b = beside(t), c = another(t);
    hand_over(t, &b, SHARD(5));
    uint64_t dead = b.fence.epoch;
    speak_for(t, &c); /* it is no lane */
    CHECK_NUMBER(lanes(t).lane_count, 2);
    bury(t, dead);
    CHECK_TEXT(owners(t), "01234567 -");
}

static void e17_shards_of_the_dead_go_to_who_has_fewest(struct probe *t)
{
    struct side b = beside(t), c = beside(t), d = beside(t);
    hand_over(t, &b, 0x0f);
    hand_over(t, &c, SHARD(4) | SHARD(5));
    hand_over(t, &d, SHARD(6));
    CHECK_TEXT(owners(t), "7 0123 45 6 -");
    bury(t, b.fence.epoch); /* 0 goes to d, which has one; 1 to c: both have two */
    CHECK_TEXT(owners(t), "7 1345 026 -");
}

static void e17_nobody_lives_and_shards_are_free(struct probe *t)
{
    struct side b = another(t);
    uint64_t dead = t->fence.epoch;
    speak_for(t, &b);
    bury(t, dead);
    CHECK_TEXT(owners(t), "01234567");
    CHECK_STATUS(shared(t)->join(t->store, 0, t->now, &t->fence, NULL), PAWL_OK);
    claim(t, PAWL_SHARDS_ALL);
    CHECK_NUMBER(t->fence.shards, PAWL_SHARDS_ALL);
    (void)make_in(t, "a", 33);
}

static void e13_e4_after_the_death_of_all_a_lane_that_joins_has_everything(struct probe *t)
{
    pawl_row a = make_in(t, "a", 5);
    struct draft *d = change(t, &a);
    draft_mail(d, "m");
    draft_plain(d, "j");
    CHECK_STATUS(commit(d), PAWL_OK);
    uint64_t dead = t->fence.epoch;
    needs_lanes(t);
    die(t);
    CHECK_STATUS(shared(t)->join(t->store, 0, t->now, &t->fence, NULL), PAWL_OK);
    (void)shared(t)->bury(t->store, dead, t->now, NULL); /* it may be over by E1 */
    claim(t, PAWL_SHARDS_ALL);
    CHECK_NUMBER(t->fence.shards, PAWL_SHARDS_ALL);
    CHECK_NUMBER(lanes(t).lane_count, 1);
    CHECK_TEXT(fetch(t, 10), "m");
    CHECK_TEXT(fetch_jobs(t, 10), "j");
    append(t, &a, "x");
}

/* ---- take ---------------------------------------------------------------------------------- */

static void t6_who_takes_is_alone(struct probe *t)
{
    pawl_row a = make_in(t, "a", 5);
    struct side b = beside(t), c = beside(t);
    hand_over(t, &b, SHARD(5));
    speak_for(t, &b);
    deliver(t, &a, "m");
    CHECK_TEXT(fetch(t, 10), "m");
    append(t, &a, "by-b");
    for (int i = 0; i < 5; i++)
        CHECK_STATUS(commit(free_round(t)), PAWL_OK);
    pawl_fence last = t->fence;
    uint64_t dead = b.fence.epoch;
    side_close(t, &c);
    speak_for(t, &b);
    side_close(t, &b);
    take(t);
    CHECK(t->fence.epoch > last.epoch && dead < last.epoch);
    CHECK(t->fence.group_no >= last.group_no);
    CHECK(t->fence.next_id >= last.next_id && t->fence.next_id < t->fence.end_id);
    CHECK_TEXT(owners(t), "01234567 -");
    CHECK_NUMBER(lanes(t).lane_count, 1);
    CHECK_TEXT(fetch(t, 10), "m");
    append(t, &a, "x");
    CHECK_TEXT(history(t, a.uid, 1), "start by-b x");
}

static void t6_t4_lanes_beside_are_fenced_by_a_take(struct probe *t)
{
    struct side b = beside(t);
    hand_over(t, &b, SHARD(5));
    pawl_fence late = b.fence;
    side_close(t, &b);
    take(t);
    t->fence = late;
    CHECK_STATUS(commit(free_round(t)), PAWL_FENCED);
}

/* ---- Replies that are lost ------------------------------------------------------------------- */

static struct fault after(void *user, enum fault_op op, uint64_t call)
{
    (void)call;
    return (struct fault){.kind = op == *(enum fault_op *)user ? FAULT_AFTER : FAULT_NONE,
                          .status = PAWL_UNKNOWN};
}

static struct fault before(void *user, enum fault_op op, uint64_t call)
{
    (void)call;
    return (struct fault){.kind = op == *(enum fault_op *)user ? FAULT_BEFORE : FAULT_NONE,
                          .status = PAWL_UNKNOWN};
}

static pawl_status call_of(struct probe *t, enum fault_op op, uint64_t heir)
{
    if (op == FAULT_OP_claim)
        return shared(t)->claim(t->store, &t->fence, SHARD(1), NULL);
    if (op == FAULT_OP_give)
        return shared(t)->give(t->store, &t->fence, SHARD(5), heir, NULL);
    return shared(t)->leave(t->store, &t->fence, NULL);
}

static bool asked(struct probe *t, fault_decide_fn *decide, enum fault_op op, uint64_t heir)
{
    bool committed = false;
    t->store = fault_store(t->store, decide, &op);
    pawl_status status = call_of(t, op, heir);
    t->store = fault_store_release(t->store);
    CHECK_STATUS(status, PAWL_UNKNOWN);
    CHECK_STATUS(t->store->ops->outcome(t->store, &t->fence, NULL, 0, t->now, &committed, NULL),
                 PAWL_OK);
    return committed;
}

static void e2_e14_o1_a_lost_reply_to_claim_and_give_is_asked_for(struct probe *t)
{
    struct side b = beside(t);
    give(t, SHARD(1), 0);
    uint64_t group = t->fence.group_no;
    CHECK(asked(t, after, FAULT_OP_claim, 0));
    CHECK_NUMBER(t->fence.group_no, group + 1);
    adopt(t);
    CHECK_NUMBER(t->fence.shards, PAWL_SHARDS_ALL);
    CHECK(asked(t, after, FAULT_OP_give, b.fence.epoch));
    CHECK_NUMBER(t->fence.group_no, group + 2);
    CHECK_NUMBER(t->fence.shards, ~SHARD(5));
    CHECK_TEXT(owners(t), "0123467 5 -");
}

static void e14_o2_what_did_not_happen_is_repeated(struct probe *t)
{
    pawl_row a = make_in(t, "a", 5);
    struct side b = beside(t);
    uint64_t group = t->fence.group_no;
    CHECK(!asked(t, before, FAULT_OP_give, b.fence.epoch));
    CHECK_NUMBER(t->fence.group_no, group);
    CHECK_NUMBER(t->fence.shards, PAWL_SHARDS_ALL);
    append(t, &a, "x");
    hand_over(t, &b, SHARD(5));
    CHECK_TEXT(owners(t), "0123467 5 -");
}

static void e13_o4_the_outcome_is_not_for_the_buried(struct probe *t)
{
    struct side b = beside(t);
    hand_over(t, &b, SHARD(5));
    speak_for(t, &b);
    enum fault_op op = FAULT_OP_commit;
    t->store = fault_store(t->store, after, &op);
    pawl_status status = commit(free_round(t));
    t->store = fault_store_release(t->store);
    CHECK_STATUS(status, PAWL_UNKNOWN);
    speak_for(t, &b);
    bury(t, b.fence.epoch);
    speak_for(t, &b);
    bool committed;
    CHECK_STATUS(t->store->ops->outcome(t->store, &t->fence, NULL, 0, t->now, &committed, NULL),
                 PAWL_FENCED);
}

const struct probe_case cases_lanes[] = {
    CASE(e1_a_lane_joins_without_shards_and_the_other_goes_on),
    CASE(e1_e12_who_joins_again_is_another_lane),
    CASE(e1_a_fence_is_of_its_handle),
    CASE(e2_only_free_shards_are_claimed),
    CASE(e2_what_is_claimed_is_used_after_an_adopt),
    CASE(e18_every_shard_is_in_one_place),
    CASE(e3_what_the_giver_had_taken_is_free),
    CASE(e3_what_others_have_taken_stays_theirs_when_a_lane_ends),
    CASE(e3_a_lease_stays_with_its_token),
    CASE(e3_times_come_with_the_shard),
    CASE(e3_shards_that_come_back_are_as_the_other_left_them),
    CASE(e4_no_id_is_given_to_two_lanes),
    CASE(e4_after_an_adopt_ids_are_above_all_in_the_shard),
    CASE(e4_a_lane_alone_counts_without_a_gap),
    CASE(e4_new_ids_of_several_lanes_differ),
    CASE(e14_what_is_given_is_not_ours_any_more),
    CASE(e16_what_was_not_adopted_yet_leaves_too),
    CASE(e15_an_heir_that_does_not_live_gets_nothing),
    CASE(e16_who_left_is_over),
    CASE(e12_a_buried_lane_commits_nothing),
    CASE(e13_all_that_the_dead_had_committed_is_seen),
    CASE(e13_a_lane_without_a_handle_is_buried_by_any),
    CASE(e17_shards_of_the_dead_go_to_who_has_fewest),
    CASE(e17_nobody_lives_and_shards_are_free),
    CASE(e13_e4_after_the_death_of_all_a_lane_that_joins_has_everything),
    CASE(t6_who_takes_is_alone),
    CASE(t6_t4_lanes_beside_are_fenced_by_a_take),
    CASE(e2_e14_o1_a_lost_reply_to_claim_and_give_is_asked_for),
    CASE(e14_o2_what_did_not_happen_is_repeated),
    CASE(e13_o4_the_outcome_is_not_for_the_buried),
    CASES_END,
};
