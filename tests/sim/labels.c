/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/labels.c -- every row has the label that a second lane would look for it under.
 *
 *   I39  a root has the shard of its id, a child that of its parent, a queue that of its name;
 *        mail by uid and work have that of their instance
 *
 * Only stores that lanes can share have labels: the memory store, whose tables are read here.
 */
#include "sim.h"

#include "store/memory/memory.h"

static void check_label(struct sim *s, const char *what, uint64_t id, uint32_t is, uint32_t should)
{
    CHECKED(s, I39);
    if (is != should)
        sim_fail(s, "I39", "%s %llu is in shard %u, not in %u", what, (unsigned long long)id, is,
                 should);
}

static void check_instances(struct sim *s, const struct memory *m)
{
    for (struct order_node *n = order_first(&m->by_uid); n; n = order_next(n)) {
        const pawl_row *row = &CONTAINER_OF(n, struct memory_instance, by_uid)->row;
        const struct memory_instance *parent = memory_instance(m, row->parent_uid);
        if (parent)
            check_label(s, "child", row->uid, row->shard, parent->row.shard);
        else if (!row->parent_uid)
            check_label(s, "instance", row->uid, row->shard, pawl_shard_of(row->id));
    }
}

static void check_queues(struct sim *s, const struct memory *m)
{
    for (struct order_node *n = order_first(&m->queues.by_qid); n; n = order_next(n)) {
        const pawl_queue_row *row = &CONTAINER_OF(n, struct memory_queue, by_qid)->row;
        check_label(s, "queue", row->qid, row->shard, pawl_shard_of_queue(row->name));
    }
}

void labels_check(struct sim *s)
{
    if (!sim_in_memory(s->plan.store))
        return;
    struct memory *m = memory_lock(s->inner);
    check_instances(s, m);
    check_queues(s, m);
    for (struct order_node *n = order_first(&m->messages_by_id); n; n = order_next(n)) {
        const pawl_message *msg = &CONTAINER_OF(n, struct memory_message, by_id)->message;
        const struct memory_instance *i = msg->uid ? memory_instance(m, msg->uid) : NULL;
        if (i)
            check_label(s, "message", msg->id, msg->shard, i->row.shard);
    }
    for (struct order_node *n = order_first(&m->work_by_id); n; n = order_next(n)) {
        const pawl_work *w = &CONTAINER_OF(n, struct memory_work, by_id)->work;
        const struct memory_instance *i = memory_instance(m, w->uid);
        if (i)
            check_label(s, "work", w->id, w->shard, i->row.shard);
    }
    memory_unlock(m);
}
