/* SPDX-License-Identifier: MIT */
/* tests/postgres/chains.c -- see chains.h. */
#include "chains.h"

#include "../harness.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE  3000 /* tries */
#define PAUSE_US  20000
#define NOW       INT64_C(1700000000000)
#define DATA_SIZE 60

/* One step of one instance, and room for its parts. */
struct chain_step {
    pawl_row row;
    pawl_event events[2];
    pawl_work work;
    pawl_message message;
    char data[2][DATA_SIZE];
};

static pawl_event event(struct chains *c, struct chain_step *s, int n, pawl_event_kind kind,
                        uint64_t ref)
{
    uint64_t seq = ++s->row.last_seq;
    s->row.last_rid = c->fence.next_id++;
    snprintf(s->data[n], DATA_SIZE, "%s at %" PRIu64, s->row.id.ptr, seq);
    return (pawl_event){.rid = s->row.last_rid,
                        .execution = 1,
                        .seq = seq,
                        .kind = (int)kind,
                        .ref = ref,
                        .name = pawl_s("Activity"),
                        .data = pawl_s(s->data[n]),
                        .at_ms = NOW};
}

/* The first event starts the instance or completes what it waited for; the second schedules. */
static pawl_round fill(struct chains *c, struct chain *at, struct chain_step *s)
{
    bool first = at->row.last_seq == 0, mail = !c->no_mail;
    s->row = at->row;
    s->events[0] = event(
        c, s, 0, first ? PAWL_EV_ORCHESTRATION_STARTED : PAWL_EV_ACTIVITY_COMPLETED, c->steps);
    s->events[1] =
        event(c, s, 1, c->ending ? PAWL_EV_ORCHESTRATION_COMPLETED : PAWL_EV_ACTIVITY_SCHEDULED,
              c->ending ? 0 : c->steps + 1);
    if (c->ending) {
        s->row.state = PAWL_COMPLETED;
        s->row.output = s->events[1].data;
    }
    if (first)
        s->row.first_rid = s->events[0].rid;
    s->work = (pawl_work){.id = s->events[1].rid,
                          .uid = s->row.uid,
                          .execution = 1,
                          .ref = s->events[1].ref,
                          .instance = s->row.id,
                          .name = s->events[1].name,
                          .input = s->events[1].data,
                          .scheduled_ms = NOW,
                          .shard = c->shard,
                          .lock_epoch = c->fence.epoch};
    s->message = (pawl_message){.id = mail ? c->fence.next_id++ : 0,
                                .uid = s->row.uid,
                                .kind = PAWL_MSG_WAKE,
                                .shard = c->shard,
                                .data = s->events[1].data,
                                .created_ms = NOW};
    return (pawl_round){.uid = s->row.uid,
                        .execution = 1,
                        .base_seq = at->row.last_seq,
                        .base_rid = at->row.last_rid,
                        .change = first       ? PAWL_ROW_INSERT
                                  : c->ending ? PAWL_ROW_ALL
                                              : PAWL_ROW_LAST,
                        .row = &s->row,
                        .events = s->events,
                        .event_count = 2,
                        .need_work = &at->work,
                        .need_work_count = !first,
                        .work = &s->work,
                        .work_count = !c->ending,
                        .drop_messages = &at->message,
                        .drop_message_count = !first && mail,
                        .messages = &s->message,
                        .message_count = mail,
                        .result = PAWL_MISUSE};
}

/* What the server has; it may be down for a while. */
static uint64_t stored_group(struct chains *c)
{
    int64_t group = -1;
    for (int i = 0; i < PATIENCE && group < 0; i++) {
        group = scratch_number("SELECT coalesce((SELECT max(group_no) FROM %s.lane_log g"
                               " WHERE g.lane=l.lane),0) FROM %s.lane l WHERE epoch=%" PRIu64,
                               c->schema, c->schema, c->fence.epoch);
        if (group < 0)
            usleep(PAUSE_US);
    }
    return (uint64_t)group;
}

/* Ask until it is answered. */
static pawl_status ask(struct chains *c, pawl_round *rounds, bool *retcommitted)
{
    pawl_status status = PAWL_UNAVAILABLE;
    c->unknown++;
    if (c->in_doubt)
        c->in_doubt(c->user, false);
    for (int i = 0; i < PATIENCE; i++) {
        status = c->store->ops->outcome(c->store, &c->fence, rounds, (size_t)c->count, NOW,
                                        retcommitted, &c->error);
        if (status != PAWL_UNAVAILABLE && status != PAWL_BUSY && status != PAWL_DISK_FULL)
            break;
        usleep(PAUSE_US);
    }
    if (status == PAWL_OK && c->in_doubt)
        c->in_doubt(c->user, true);
    return status;
}

static void move_on(struct chains *c, const struct chain_step *steps, const pawl_round *rounds)
{
    for (int i = 0; i < c->count; i++) {
        struct chain *at = &c->all[i];
        ck_assert_int_eq(rounds[i].result, PAWL_OK);
        at->row = steps[i].row;
        at->row.id = pawl_s(at->id);
        at->work = steps[i].work.id;
        at->message = steps[i].message.id;
    }
    c->steps++;
    c->events += 2 * (uint64_t)c->count;
}

pawl_status chains_try(struct chains *c)
{
    static struct chain_step steps[CHAINS_MAX]; /* too large for a stack */
    static pawl_round rounds[CHAINS_MAX];
    pawl_fence before = c->fence;
    bool committed = true;
    for (int i = 0; i < c->count; i++)
        rounds[i] = fill(c, &c->all[i], &steps[i]);
    pawl_status status =
        c->store->ops->commit(c->store, &c->fence, rounds, (size_t)c->count, NOW, &c->error);
    bool doubt = status == PAWL_UNKNOWN;
    if (doubt)
        status = ask(c, rounds, &committed);
    if (doubt && status == PAWL_OK) {
        c->committed += committed;
        c->not_committed += !committed;
    }
    if (status == PAWL_OK && committed) {
        c->wrong +=
            stored_group(c) != before.group_no + 1 || c->fence.group_no != before.group_no + 1;
        move_on(c, steps, rounds);
        return PAWL_OK;
    }
    c->fence = before; /* the same step again, with the same numbers */
    if (status == PAWL_FENCED || status == PAWL_UNKNOWN)
        return status;
    c->refused++;
    c->wrong += stored_group(c) != before.group_no;
    return status == PAWL_OK ? PAWL_BUSY : status;
}

pawl_status chains_step(struct chains *c)
{
    pawl_status status = PAWL_BUSY;
    for (int i = 0; i < PATIENCE && status != PAWL_OK; i++) {
        status = chains_try(c);
        if (status == PAWL_FENCED || status == PAWL_UNKNOWN)
            break;
        if (status == PAWL_UNAVAILABLE || status == PAWL_DISK_FULL)
            usleep(PAUSE_US);
    }
    return status;
}

void chains_renew(struct chains *c, int count)
{
    c->count = count;
    c->ending = false;
    for (int i = 0; i < count; i++) {
        struct chain *at = &c->all[i];
        *at = (struct chain){0};
        snprintf(at->id, sizeof(at->id), "i%u-%d", c->shard, c->started++);
        at->row = (pawl_row){.uid = c->fence.next_id++,
                             .id = pawl_s(at->id),
                             .orchestration = pawl_s("Chain"),
                             .version = pawl_s("1.0.0"),
                             .state = PAWL_RUNNING,
                             .shard = c->shard,
                             .execution = 1,
                             .created_ms = NOW,
                             .updated_ms = NOW};
    }
}

static void open_chains(struct chains *c, const struct scratch *schema, const char *url,
                        uint32_t shard)
{
    *c = (struct chains){.schema = schema->schema, .shard = shard, .mem = pawl_mem_new()};
    c->store = pawl_postgres_store(url, PAWL_STORE_OPTS(.now_ms = NOW), &c->error);
    ck_assert_msg(c->store != NULL, "%s", c->error.text);
}

void chains_join(struct chains *c, const struct scratch *schema, const char *url, uint32_t shard)
{
    open_chains(c, schema, url, shard);
    const pawl_shared_ops *ops = c->store->ops->shared;
    ck_assert_msg(ops->join(c->store, 0, NOW, &c->fence, &c->error) == PAWL_OK &&
                      ops->claim(c->store, &c->fence, UINT64_C(1) << shard, &c->error) == PAWL_OK &&
                      ops->adopt(c->store, &c->fence, &c->error) == PAWL_OK,
                  "%s", c->error.text);
    ck_assert_uint_eq(c->fence.shards, UINT64_C(1) << shard);
    chains_renew(c, 4);
    ck_assert_msg(chains_step(c) == PAWL_OK, "%s", c->error.text);
}

void chains_begin(struct chains *c, const struct scratch *schema, const char *url)
{
    open_chains(c, schema, url, 0);
    ck_assert_msg(c->store->ops->take(c->store, NOW, &c->fence, &c->error) == PAWL_OK, "%s",
                  c->error.text);
    chains_renew(c, 4);
    ck_assert_msg(chains_step(c) == PAWL_OK, "%s", c->error.text);
}

/* A server that was away leaves connections behind that fail once each. */
static void wake_readers(struct chains *c)
{
    pawl_row row;
    for (int i = 0; i < PATIENCE; i++) {
        if (c->store->ops->find_uid(c->store, c->all[0].row.uid, c->mem, &row, &c->error) ==
            PAWL_OK)
            return;
        usleep(PAUSE_US);
    }
}

static void check_history(struct chains *c, const struct chain *at)
{
    pawl_event_list list = {0};
    ck_assert_msg(c->store->ops->read_history(c->store, at->row.uid, 1, 0, 0, c->mem, &list,
                                              &c->error) == PAWL_OK,
                  "%s", c->error.text);
    ck_assert_uint_eq(list.count, at->row.last_seq);
    for (size_t i = 0; i < list.count; i++) {
        char data[DATA_SIZE];
        snprintf(data, sizeof(data), "%s at %zu", at->id, i + 1);
        ck_assert_uint_eq(list.items[i].seq, i + 1);
        ck_assert(pawl_str_is(list.items[i].data, data));
    }
    ck_assert_uint_eq(list.items[list.count - 1].rid, at->row.last_rid);
}

static void check_rows(struct chains *c, const struct chain *at)
{
    pawl_message_list mail = {0};
    pawl_work_list work = {0};
    pawl_row row;
    const pawl_store_ops *ops = c->store->ops;
    ck_assert_int_eq(
        ops->read_messages(c->store, at->row.uid, pawl_s(""), c->mem, &mail, &c->error), PAWL_OK);
    ck_assert_uint_eq(mail.count, 1);
    ck_assert_uint_eq(mail.items[0].id, at->message);
    ck_assert_int_eq(ops->read_work(c->store, &at->work, 1, c->mem, &work, &c->error), PAWL_OK);
    ck_assert_uint_eq(work.count, 1);
    ck_assert_int_eq(ops->find_uid(c->store, at->row.uid, c->mem, &row, &c->error), PAWL_OK);
    ck_assert_uint_eq(row.last_seq, at->row.last_seq);
    ck_assert_uint_eq(row.last_rid, at->row.last_rid);
}

void chains_check(struct chains *c)
{
    wake_readers(c);
    for (int i = 0; i < c->count; i++) {
        check_history(c, &c->all[i]);
        check_rows(c, &c->all[i]);
    }
    ck_assert_int_eq(c->wrong, 0);
    ck_assert_uint_eq(stored_group(c), c->fence.group_no);
    ck_assert_int_eq(
        scratch_number("SELECT max(group_no)-min(group_no)+1-count(*) FROM %s.lane_log g"
                       " JOIN %s.lane l ON l.lane=g.lane WHERE epoch=%" PRIu64,
                       c->schema, c->schema, c->fence.epoch),
        0);
    ck_assert_int_eq(scratch_number("SELECT count(*) FROM %s.event e JOIN %s.head h ON h.uid=e.uid"
                                    " WHERE h.shard=%u",
                                    c->schema, c->schema, c->shard),
                     (int64_t)c->events);
    ck_assert_int_eq(
        scratch_number("SELECT count(*) FROM %s.message WHERE shard=%u", c->schema, c->shard),
        c->count);
    pawl_mem_reset(c->mem);
}

void chains_end(struct chains *c)
{
    c->store->ops->close(c->store);
    pawl_mem_free(c->mem);
}
