/* SPDX-License-Identifier: MIT */
/* suite/case_nodes.c -- processes that share a store, and their leases: E19 to E24. */
#include "suite.h"

#define SHARD(n) (UINT64_C(1) << (n))
#define LONG_MS  60000
#define SHORT_MS 40

static pawl_status try_node(struct probe *t, const char *name, int64_t lease_ms, bool again,
                            uint64_t *retid)
{
    needs_nodes(t);
    return shared(t)->node_join(t->store, pawl_s(name), pawl_s("about"), lease_ms, again, t->now,
                                retid, NULL);
}

static uint64_t node(struct probe *t, const char *name, int64_t lease_ms)
{
    uint64_t id = 0;
    CHECK_STATUS(try_node(t, name, lease_ms, false, &id), PAWL_OK);
    CHECK(id > 0);
    return id;
}

static pawl_status beat(struct probe *t, uint64_t id, const char *about, int64_t lease_ms,
                        pawl_beat *ret)
{
    *ret = (pawl_beat){.size = sizeof(*ret)};
    return shared(t)->node_beat(t->store, id, about ? pawl_s(about) : (pawl_str){0}, lease_ms,
                                t->now, ret, NULL);
}

/* A lane of that node, beside. */
static struct side lane_of(struct probe *t, uint64_t id)
{
    struct side b = another(t);
    CHECK_STATUS(shared(t)->join(b.store, id, t->now, &b.fence, NULL), PAWL_OK);
    return b;
}

static uint32_t bury_over(struct probe *t)
{
    uint32_t count = 99;
    CHECK_STATUS(shared(t)->bury_over(t->store, t->now, &count, NULL), PAWL_OK);
    return count;
}

/* "name:about:asked" of those that live. */
static const char *nodes(struct probe *t)
{
    pawl_node_list list = {0};
    pawl_str text = {"", 0};
    CHECK_STATUS(shared(t)->nodes(t->store, t->mem, &list, NULL), PAWL_OK);
    for (size_t i = 0; i < list.count; i++) {
        const pawl_node *n = &list.items[i];
        CHECK(i == 0 || n[-1].id < n->id);
        CHECK(n->joined_ms > 0 && n->lease_until_ms > n->joined_ms);
        text = pawl_mem_printf(t->mem, "%s%s%.*s:%.*s:%u", text.ptr, i ? " " : "",
                               PAWL_FMT(n->name), PAWL_FMT(n->about), n->asked);
    }
    return text.ptr;
}

static void e19_e23_nodes_have_ids_and_are_listed(struct probe *t)
{
    uint64_t a = node(t, "a", LONG_MS), b = node(t, "b", LONG_MS);
    CHECK(a < b);
    CHECK_TEXT(nodes(t), "a:about:0 b:about:0");
    CHECK_STATUS(shared(t)->node_leave(t->store, b, t->now, NULL), PAWL_OK);
    CHECK_STATUS(shared(t)->node_leave(t->store, b, t->now, NULL), PAWL_NOT_FOUND);
    CHECK_TEXT(nodes(t), "a:about:0");
    CHECK(node(t, "b", LONG_MS) > b);
}

static void e18_e22_the_view_tells_the_node_of_a_lane(struct probe *t)
{
    uint64_t a = node(t, "a", LONG_MS);
    struct side b = lane_of(t, a), c = beside(t);
    pawl_lane_view view = lanes(t);
    CHECK_NUMBER(view.lane_count, 3);
    CHECK_NUMBER(view.lanes[0].node, 0);
    CHECK_NUMBER(view.lanes[1].node, a);
    CHECK_NUMBER(view.lanes[1].epoch, b.fence.epoch);
    CHECK_NUMBER(view.lanes[2].epoch, c.fence.epoch);
    CHECK_NUMBER(view.lanes[2].node, 0);
}

static void e19_a_name_that_lives_is_taken(struct probe *t)
{
    uint64_t a = node(t, "a", LONG_MS), other = 0;
    struct side b = lane_of(t, a);
    hand_over(t, &b, SHARD(5));
    CHECK_STATUS(try_node(t, "a", LONG_MS, false, &other), PAWL_EXISTS);
    CHECK_TEXT(owners(t), "0123467 5 -");
    CHECK_STATUS(try_node(t, "a", LONG_MS, true, &other), PAWL_OK);
    CHECK(other > a);
    CHECK_TEXT(nodes(t), "a:about:0");
    CHECK_TEXT(owners(t), "01234567 -");
    speak_for(t, &b);
    CHECK_STATUS(commit(free_round(t)), PAWL_FENCED);
}

static void e19_a_name_whose_lease_is_over_is_free(struct probe *t)
{
    uint64_t a = node(t, "a", SHORT_MS);
    struct side b = lane_of(t, a);
    hand_over(t, &b, SHARD(5));
    pass(t, SHORT_MS + 5);
    CHECK(node(t, "a", LONG_MS) > a);
    CHECK_TEXT(owners(t), "01234567 -");
    pawl_beat got;
    CHECK_STATUS(beat(t, a, NULL, LONG_MS, &got), PAWL_FENCED);
}

static void e20_e21_a_beat_keeps_a_node_alive(struct probe *t)
{
    uint64_t a = node(t, "a", SHORT_MS);
    pawl_beat got, later;
    CHECK_STATUS(beat(t, a, "more", LONG_MS, &got), PAWL_OK);
    CHECK_NUMBER(got.lease_until_ms, got.now_ms + LONG_MS);
    pass(t, SHORT_MS + 5);
    CHECK_NUMBER(bury_over(t), 0);
    CHECK_TEXT(nodes(t), "a:more:0");
    CHECK_STATUS(beat(t, a, NULL, SHORT_MS, &later), PAWL_OK);
    CHECK(later.now_ms >= got.now_ms + SHORT_MS);
    CHECK_TEXT(nodes(t), "a:more:0");
    pass(t, SHORT_MS + 5); /* over, and not buried: it lives on */
    CHECK_STATUS(beat(t, a, "", LONG_MS, &later), PAWL_OK);
    CHECK_NUMBER(bury_over(t), 0);
    CHECK_TEXT(nodes(t), "a::0");
}

static void e20_a_beat_tells_what_others_want(struct probe *t)
{
    uint64_t a = node(t, "a", LONG_MS);
    pawl_beat got, later;
    CHECK_STATUS(beat(t, a, NULL, LONG_MS, &got), PAWL_OK);
    CHECK_NUMBER(got.asked, 0);
    CHECK_STATUS(shared(t)->node_ask(t->store, a, 7, NULL), PAWL_OK);
    CHECK_STATUS(shared(t)->node_ask(t->store, a + 1, 7, NULL), PAWL_NOT_FOUND);
    CHECK_STATUS(beat(t, a, NULL, LONG_MS, &later), PAWL_OK);
    CHECK_NUMBER(later.asked, 7);
    CHECK_TEXT(nodes(t), "a:about:7");
    CHECK_NUMBER(later.moves, lanes(t).moves);
    struct side b = lane_of(t, a);
    CHECK_STATUS(shared(t)->give(t->store, &t->fence, SHARD(1), b.fence.epoch, NULL), PAWL_OK);
    CHECK_STATUS(beat(t, a, NULL, LONG_MS, &got), PAWL_OK);
    CHECK(got.moves > later.moves);
}

static void e22_who_does_not_beat_is_buried_with_its_lanes(struct probe *t)
{
    uint64_t a = node(t, "a", SHORT_MS), z = node(t, "z", LONG_MS);
    struct side b = lane_of(t, a), c = lane_of(t, a), d = lane_of(t, z);
    hand_over(t, &b, 0x0f);
    hand_over(t, &c, 0x30);
    speak_for(t, &b);
    pawl_row i = make_in(t, "i", 3);
    deliver(t, &i, "m");
    CHECK_TEXT(fetch(t, 10), "m");
    speak_for(t, &b);
    pass(t, SHORT_MS + 5);
    CHECK_TEXT(owners(t), "67 0123 45 - -"); /* nothing happens by itself */
    CHECK_NUMBER(bury_over(t), 1);
    CHECK_NUMBER(bury_over(t), 0);
    CHECK_TEXT(nodes(t), "z:about:0");
    CHECK_TEXT(owners(t), "67 012345 -"); /* d has fewest until the end */
    for (int n = 0; n < 2; n++) {
        speak_for(t, n ? &c : &b);
        CHECK_STATUS(commit(free_round(t)), PAWL_FENCED);
        speak_for(t, n ? &c : &b);
    }
    struct side late = another(t);
    CHECK_STATUS(shared(t)->join(late.store, a, t->now, &late.fence, NULL), PAWL_FENCED);
    speak_for(t, &d);
    adopt(t);
    CHECK_TEXT(fetch(t, 10), "m");
    append(t, &i, "x");
}

static void e22_a_node_that_leaves_takes_its_lanes_along(struct probe *t)
{
    uint64_t a = node(t, "a", LONG_MS);
    struct side b = lane_of(t, a);
    hand_over(t, &b, SHARD(5));
    CHECK_STATUS(shared(t)->node_leave(t->store, a, t->now, NULL), PAWL_OK);
    CHECK_TEXT(owners(t), "01234567 -");
    speak_for(t, &b);
    CHECK_STATUS(commit(free_round(t)), PAWL_FENCED);
}

static void e24_nobody_takes_alone_while_a_node_lives(struct probe *t)
{
    pawl_row i = make_in(t, "i", 5);
    uint64_t a = node(t, "a", SHORT_MS);
    pawl_fence fence = t->fence;
    CHECK_STATUS(t->store->ops->take(t->store, t->now, &t->fence, NULL), PAWL_UNAVAILABLE);
    t->fence = fence;
    append(t, &i, "x");
    pass(t, SHORT_MS + 5);
    take(t);
    append(t, &i, "y");
    (void)a;
}

static void e19_nodes_last(struct probe *t)
{
    uint64_t a = node(t, "a", LONG_MS);
    die(t);
    if (!caps_of(t).durable)
        probe_skip(t);
    CHECK_TEXT(nodes(t), "a:about:0");
    CHECK(node(t, "b", LONG_MS) > a);
}

const struct probe_case cases_nodes[] = {
    CASE(e19_e23_nodes_have_ids_and_are_listed),
    CASE(e18_e22_the_view_tells_the_node_of_a_lane),
    CASE(e19_a_name_that_lives_is_taken),
    CASE(e19_a_name_whose_lease_is_over_is_free),
    CASE(e20_e21_a_beat_keeps_a_node_alive),
    CASE(e20_a_beat_tells_what_others_want),
    CASE(e22_who_does_not_beat_is_buried_with_its_lanes),
    CASE(e22_a_node_that_leaves_takes_its_lanes_along),
    CASE(e24_nobody_takes_alone_while_a_node_lives),
    CASE(e19_nodes_last),
    CASES_END,
};
