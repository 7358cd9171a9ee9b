/* SPDX-License-Identifier: MIT */
/* tests/conformance/dump.c -- see the header. */
#include "dump.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void dump_row(struct buf *out, const pawl_row *r)
{
    buf_printf(out,
               "row %" PRIu64 " '%.*s' %.*s %.*s state %d x%" PRIu64 " seq %" PRIu64 " rid %" PRIu64
               " first %" PRIu64 " at %" PRId64 " %" PRId64,
               r->uid, PAWL_FMT(r->id), PAWL_FMT(r->orchestration), PAWL_FMT(r->version),
               (int)r->state, r->execution, r->last_seq, r->last_rid, r->first_rid, r->created_ms,
               r->updated_ms);
    buf_printf(out,
               " shard %u parent %" PRIu64 "/%" PRIu64 "/%" PRIu64
               " '%.*s' out '%.*s' status '%.*s' finding '%.*s'\n",
               r->shard, r->parent_uid, r->parent_execution, r->parent_ref, PAWL_FMT(r->parent_id),
               PAWL_FMT(r->output), PAWL_FMT(r->custom_status), PAWL_FMT(r->finding));
}

/* Of a closed execution only what R2 promises. */
static void dump_execution(struct buf *out, const pawl_row *r)
{
    buf_printf(
        out,
        "execution %" PRIu64 " state %d seq %" PRIu64 " rid %" PRIu64 " first %" PRIu64 " %.*s\n",
        r->execution, (int)r->state, r->last_seq, r->last_rid, r->first_rid, PAWL_FMT(r->version));
}

void dump_messages(struct buf *out, const pawl_message_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const pawl_message *m = &list->items[i];
        buf_printf(out,
                   "message %" PRIu64 " to %" PRIu64 " '%.*s' kind %d x%" PRIu64 " ref %" PRIu64
                   " '%.*s' '%.*s' %.*s visible %" PRId64 " created %" PRId64
                   " attempt %u shard %u%s\n",
                   m->id, m->uid, PAWL_FMT(m->instance), m->kind, m->execution, m->ref,
                   PAWL_FMT(m->name), PAWL_FMT(m->data), PAWL_FMT(m->attrs), m->visible_ms,
                   m->created_ms, m->attempt, m->shard, m->mailbox ? " mailbox" : "");
    }
}

void dump_work(struct buf *out, const pawl_work_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const pawl_work *w = &list->items[i];
        buf_printf(out,
                   "work %" PRIu64 " of %" PRIu64 " '%.*s' x%" PRIu64 " ref %" PRIu64
                   " %.*s '%.*s' %.*s attempt %u crashes %u shard %u",
                   w->id, w->uid, PAWL_FMT(w->instance), w->execution, w->ref, PAWL_FMT(w->name),
                   PAWL_FMT(w->input), PAWL_FMT(w->attrs), w->attempt, w->crashes, w->shard);
        buf_printf(out,
                   " visible %" PRId64 " scheduled %" PRId64 " deadline %" PRId64
                   " error '%.*s' epoch %" PRIu64 " token '%.*s' until %" PRId64 "\n",
                   w->visible_ms, w->scheduled_ms, w->deadline_ms, PAWL_FMT(w->last_error),
                   w->lock_epoch, PAWL_FMT(w->lock_token), w->lock_until_ms);
    }
}

void dump_events(struct buf *out, const pawl_event_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const pawl_event *e = &list->items[i];
        buf_printf(out,
                   "event %" PRIu64 " x%" PRIu64 " seq %" PRIu64 " ref %" PRIu64
                   " kind %d '%.*s' '%.*s' %.*s at %" PRId64 "\n",
                   e->rid, e->execution, e->seq, e->ref, e->kind, PAWL_FMT(e->name),
                   PAWL_FMT(e->data), PAWL_FMT(e->attrs), e->at_ms);
    }
}

static void dump_mail(struct buf *out, pawl_store *s, uint64_t uid, pawl_str id, pawl_mem *mem)
{
    pawl_message_list list = {0};
    pawl_status status = s->ops->read_messages(s, uid, id, mem, &list, NULL);
    buf_printf(out, "messages %s\n", pawl_status_code(status));
    dump_messages(out, &list);
}

void dump_instance(struct buf *out, pawl_store *s, uint64_t uid, pawl_mem *mem)
{
    pawl_row row = {0};
    pawl_status status = s->ops->find_uid(s, uid, mem, &row, NULL);
    buf_printf(out, "instance %" PRIu64 " %s\n", uid, pawl_status_code(status));
    if (status == PAWL_OK)
        dump_row(out, &row);
    for (uint64_t x = 1; x <= row.execution + 1; x++) {
        pawl_event_list events = {0};
        pawl_row closed = {0};
        status = s->ops->find_execution(s, uid, x, mem, &closed, NULL);
        if (status == PAWL_OK)
            dump_execution(out, &closed);
        status = s->ops->read_history(s, uid, x, 0, 0, mem, &events, NULL);
        buf_printf(out, "history %" PRIu64 " %s\n", x, pawl_status_code(status));
        dump_events(out, &events);
    }
    dump_mail(out, s, uid, row.id, mem);
    dump_mail(out, s, 0, row.id, mem);
}

static void dump_objects(struct buf *out, pawl_store *s, pawl_mem *mem)
{
    for (int kind = 1; kind <= 2; kind++) {
        pawl_object_list list = {0};
        if (s->ops->list_objects(s, kind, (pawl_str){0}, (pawl_str){0}, 1000, mem, &list, NULL) !=
            PAWL_OK)
            buf_puts(out, "objects failed\n");
        for (size_t i = 0; i < list.count; i++)
            buf_printf(out, "object %d '%.*s' %" PRIu64 " at %" PRId64 " '%.*s'\n",
                       list.items[i].kind, PAWL_FMT(list.items[i].name), list.items[i].version,
                       list.items[i].updated_ms, PAWL_FMT(list.items[i].data));
    }
}

void dump_store(struct buf *out, pawl_store *s, const uint64_t *ids, size_t count, int64_t now_ms,
                pawl_mem *mem)
{
    pawl_row_query q = {.limit = 7};
    do {
        pawl_row_list list = {0};
        if (s->ops->list(s, &q, mem, &list, NULL) != PAWL_OK)
            buf_puts(out, "list failed\n");
        for (size_t i = 0; i < list.count; i++)
            dump_instance(out, s, list.items[i].uid, mem);
        q.before_uid = list.next_uid;
    } while (q.before_uid != 0);

    dump_objects(out, s, mem);
    pawl_work_list work = {0};
    pawl_message_list aside = {0};
    pawl_depths d = {0};
    if (s->ops->read_work(s, ids, count, mem, &work, NULL) != PAWL_OK ||
        s->ops->read_quarantine(s, 1000, mem, &aside, NULL) != PAWL_OK ||
        s->ops->depths(s, now_ms, &d, NULL) != PAWL_OK)
        buf_puts(out, "reading failed\n");
    dump_work(out, &work);
    for (size_t i = 0; i < aside.count; i++)
        buf_printf(out, "aside %" PRIu64 " '%.*s' '%.*s' %.*s\n", aside.items[i].id,
                   PAWL_FMT(aside.items[i].name), PAWL_FMT(aside.items[i].data),
                   PAWL_FMT(aside.items[i].attrs));
    buf_printf(out, "depths %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
               d.messages, d.timers, d.work, d.quarantine, d.instances);
}

bool dump_differ(const struct buf *a, const struct buf *b, const char *names[2])
{
    pawl_str x = buf_slice(a), y = buf_slice(b);
    if (pawl_str_eq(x, y))
        return false;
    size_t at = 0, start = 0;
    while (at < x.len && at < y.len && x.ptr[at] == y.ptr[at]) {
        if (x.ptr[at++] == '\n')
            start = at;
    }
    printf("  %s: %.*s\n  %s: %.*s\n", names[0], (int)strcspn(x.ptr + start, "\n"), x.ptr + start,
           names[1], (int)strcspn(y.ptr + start, "\n"), y.ptr + start);
    return true;
}
