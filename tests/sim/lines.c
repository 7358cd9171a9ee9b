/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/lines.c -- groups of queues: one of a group is out, and it is the first (I38).
 *
 * With the site `group` most items have one of three groups, and queues are configured with
 * `groups` and without.
 *
 *   I38  while `groups` counts, no commit locks an item of a group of which another one is, and
 *        remains, locked, and no two of one group; nothing of a group leaves with a plain pop while
 *        another of it is locked; what is locked or taken is before all of its group that are ready
 *        and stay; what comes back with a delay rests under a lock; an item is given out with the
 *        group it was pushed with
 *
 * A commit that configures or binds the queue, too, is not judged.
 */
#include "queues.h"

#include <stdlib.h>
#include <string.h>

const char *line_group(const struct sim *s, const struct qitem *m)
{
    return m->data[0] == 'C' ? s->queues->tokens[strtol(m->data + 1, NULL, 10)].group : "";
}

void line_config(struct sim *s, const pawl_queue_row *row)
{
    int n = row->name.ptr[1] - '0';
    if (row->name.len != 2)
        return;
    s->queues->was_lined[n] = s->queues->lined[n];
    s->queues->lined[n] = pawl_json_int(row->config, "/groups", 0) &&
                          !pawl_json_text(s->mem, row->config, "/orchestration", "").len;
}

static bool is_changing(const struct sim *s, const char *queue)
{
    return queue_under_way(s, PAWL_QUEUE_CONFIGURE, queue) ||
           queue_under_way(s, PAWL_QUEUE_BIND, queue);
}

static bool counts(const struct sim *s, const char *queue)
{
    int n = queue[1] - '0';
    return !queue[2] && s->queues->lined[n] && s->queues->was_lined[n] && !is_changing(s, queue);
}

static bool is_same_line(const struct sim *s, const struct qitem *a, const struct qitem *b)
{
    return a != b && strcmp(a->queue, b->queue) == 0 && line_group(s, a)[0] &&
           strcmp(line_group(s, a), line_group(s, b)) == 0;
}

/* Something of its line is out, or was at the look before. */
bool line_waits(const struct sim *s, const struct qitem *m)
{
    for (size_t i = 0; i < s->queues->item_count; i++) {
        const struct qitem *o = s->queues->items[i];
        if ((o->lock || o->lock_before) && is_same_line(s, m, o))
            return true;
    }
    return false;
}

static bool is_before(const struct qitem *a, const struct qitem *b)
{
    return a->priority < b->priority || (a->priority == b->priority && a->place < b->place);
}

/* Another one of its line is out all the time, or was ready all the time and comes before. */
static void check_out(struct sim *s, const struct qitem *m, bool rests)
{
    for (size_t i = 0; i < s->queues->item_count; i++) {
        const struct qitem *o = s->queues->items[i];
        if (!o->there || !is_same_line(s, m, o))
            continue;
        if (o->lock && (o->lock == o->lock_before || m->lock))
            sim_fail(s, "I38", "%s: items %llu and %llu of group %s are out", m->queue,
                     (unsigned long long)m->id, (unsigned long long)o->id, line_group(s, m));
        if (!rests && o->state == PAWL_QUEUE_READY && o->ready_before && is_before(o, m))
            sim_fail(s, "I38", "%s: item %llu of group %s is out before %llu", m->queue,
                     (unsigned long long)m->id, line_group(s, m), (unsigned long long)o->id);
    }
}

void line_popped(struct sim *s, const struct qop *op, const struct qitem *m)
{
    if (op->locked || !line_group(s, m)[0] || !counts(s, op->queue))
        return;
    CHECKED(s, I38);
    check_out(s, m, false);
}

/* It comes back: its group waits for it, wherever its place is now (expire_to_back). */
static bool does_rest(const struct sim *s, const struct qitem *m)
{
    for (size_t i = 0; i < s->queues->lock_count; i++)
        if (s->queues->locks[i].number == m->lock && s->queues->locks[i].there)
            return s->queues->locks[i].rests;
    return false;
}

void lines_look(struct sim *s)
{
    for (size_t i = 0; i < s->queues->item_count; i++) {
        const struct qitem *m = s->queues->items[i];
        if (m->there && m->lock_before && m->state == PAWL_QUEUE_DELAYED && line_group(s, m)[0] &&
            counts(s, m->queue))
            sim_fail(s, "I38", "%s: item %llu comes back later, and its group %s does not wait",
                     m->queue, (unsigned long long)m->id, line_group(s, m));
        if (!m->there || !m->lock || m->lock == m->lock_before || !line_group(s, m)[0] ||
            !counts(s, m->queue))
            continue;
        CHECKED(s, I38);
        check_out(s, m, does_rest(s, m));
    }
}
