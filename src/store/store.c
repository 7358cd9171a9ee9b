/* SPDX-License-Identifier: MIT */
/* store/store.c -- see the header. */
#include "store/store.h"

#include "base/arena.h"
#include "base/attr.h"
#include "base/limits.h"
#include "base/str.h"
#include "store/search.h"
#include "store/store_object.h"

static __thread const pawl_store *engine_of;

const pawl_store *store_engine_set(const pawl_store *s)
{
    const pawl_store *before = engine_of;
    engine_of = s;
    return before;
}

bool store_engine_is(const pawl_store *s)
{
    return engine_of == s;
}

/* The row of a round: INSERT, LAST and ALL have one, and it agrees with the events. */
static void check_row(const pawl_round *r)
{
    bool has_row = r->change != PAWL_ROW_NONE && r->change != PAWL_ROW_REMOVE;
    assert_that(r->uid != 0 || r->change == PAWL_ROW_NONE);
    assert_that(r->uid != 0 || r->key_count == 0);
    assert_that(has_row || r->event_count == 0);
    assert_that((r->base_seq == 0) == (r->base_rid == 0));
    if (!has_row)
        return;
    const pawl_row *row = r->row;
    assert_that(row && row->uid == r->uid && row->id.len > 0);
    assert_that(row->state != PAWL_CONTINUED_AS_NEW && row->shard < PAWL_SHARDS);
    assert_that(row->execution == r->execution || row->execution == r->execution + 1);
    assert_that(row->execution == r->execution || r->change != PAWL_ROW_LAST);
    if (r->event_count > 0) {
        assert_that(r->base_seq > 0 || r->change != PAWL_ROW_LAST);
        const pawl_event *last = &r->events[r->event_count - 1];
        assert_that(row->execution == last->execution);
        assert_that(row->last_seq == last->seq && row->last_rid == last->rid);
    } else {
        assert_that(row->last_seq == r->base_seq && row->last_rid == r->base_rid);
    }
}

/* Ids are taken from the fence before they are committed (T2). */
static void check_ids(const pawl_round *r, const pawl_fence *fence)
{
    for (size_t i = 0; i < r->event_count; i++) {
        assert_that(r->events[i].rid != 0 && r->events[i].rid < fence->next_id);
        assert_that(i == 0 || r->events[i - 1].rid < r->events[i].rid);
        assert_that(r->events[i].rid > r->base_rid);
    }
    for (size_t i = 0; i < r->message_count; i++) {
        assert_that(r->messages[i].id != 0 && r->messages[i].id < fence->next_id);
        assert_that(r->messages[i].uid != 0 || r->messages[i].instance.len > 0);
        assert_that(r->messages[i].shard < PAWL_SHARDS || r->messages[i].shard == PAWL_SHARD_LOOK);
    }
    for (size_t i = 0; i < r->work_count; i++) {
        assert_that(r->work[i].id != 0 && r->work[i].id < fence->next_id);
        assert_that(r->work[i].uid != 0 && r->work[i].name.len > 0);
        assert_that(r->work[i].shard < PAWL_SHARDS);
        assert_that(r->work[i].lock_epoch == 0 || r->work[i].lock_epoch == fence->epoch);
    }
    assert_that(r->uid < fence->next_id);
}

/* By one; without atomic rounds a commit that failed may have moved it too (K1). */
static void check_fence_moved(pawl_store *s, const pawl_fence *before, const pawl_fence *after,
                              pawl_status status)
{
    assert_that(after->epoch == before->epoch && after->next_id == before->next_id);
    assert_that(after->end_id == before->end_id && !(after->mail & after->shards));
    if (status != PAWL_OK)
        assert_that(after->group_no == before->group_no);
    else if (store_caps(s).atomic_rounds)
        assert_that(after->group_no == before->group_no + 1);
    else
        assert_that(after->group_no > before->group_no);
}

/* Slots from here on came later in this edition, or may be missing in any store. */
#define OPS_LEAST offsetof(pawl_store_ops, figures)

pawl_status store_check(const pawl_store *s, pawl_error *reterr)
{
    const pawl_store_ops *ops = s->ops;
    if (ops && ops->abi == PAWL_STORE_ABI && ops->size >= OPS_LEAST)
        return PAWL_OK;
    if (!ops || ops->size < OPS_LEAST)
        error_set(reterr, PAWL_MISUSE,
                  "the store has no operations, or was built for an older library; build it "
                  "with the header of this one");
    else
        error_set(reterr, PAWL_MISUSE,
                  "the store was built for edition %u of pawl/provider.h, this library has "
                  "edition %d; build it with the header of this one",
                  ops->abi, PAWL_STORE_ABI);
    return PAWL_MISUSE;
}

pawl_status store_take(pawl_store *s, int64_t now_ms, pawl_fence *ret, pawl_error *reterr)
{
    pawl_status status = s->ops->take(s, now_ms, ret, reterr);
    if (status == PAWL_OK) {
        assert_that(ret->epoch > 0 && ret->next_id > 0);
        assert_that(ret->shards == (store_caps(s).shared ? PAWL_SHARDS_ALL : 0));
    }
    return status;
}

/* It is built on rows with ids that this process has not given out: another process has, or
 * the row is damaged. */
static bool is_foreign(const pawl_round *r, const pawl_fence *fence)
{
    return r->uid >= fence->next_id || r->base_rid >= fence->next_id ||
           (r->event_count > 0 && r->events[0].rid <= r->base_rid);
}

/* Stands for a round that is not handed on.  The store says whose rows they are: when
 * another process owns it now, the group is FENCED; else one damaged row is refused. */
static const pawl_row nobodys;

static void check_results(pawl_round *rounds, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_that(rounds[i].result == PAWL_OK || rounds[i].result == PAWL_CONFLICT);
        if (rounds[i].row == &nobodys)
            rounds[i].result = PAWL_CONFLICT;
    }
}

pawl_status store_commit(pawl_store *s, pawl_fence *fence, pawl_round *rounds, size_t count,
                         int64_t now_ms, pawl_error *reterr)
{
    assert_that(!fence->end_id || fence->next_id <= fence->end_id);
    for (size_t i = 0; i < count; i++) {
        if (is_foreign(&rounds[i], fence))
            rounds[i] = (pawl_round){.change = PAWL_ROW_NONE, .row = &nobodys};
        rounds[i].why = PAWL_WHY_UNKNOWN;
        check_row(&rounds[i]);
        check_ids(&rounds[i], fence);
        if (UNLIKELY(rounds[i].extra))
            round_check_objects(s, &rounds[i]), round_check_entries(&rounds[i]);
    }
    pawl_fence before = *fence;
    pawl_status status = s->ops->commit(s, fence, rounds, count, now_ms, reterr);
    check_fence_moved(s, &before, fence, status);
    if (status == PAWL_OK)
        check_results(rounds, count);
    return status;
}

pawl_status store_outcome(pawl_store *s, pawl_fence *fence, pawl_round *rounds, size_t count,
                          int64_t now_ms, bool *retcommitted, pawl_error *reterr)
{
    *retcommitted = false;
    if (!STORE_HAS(s, outcome)) {
        error_set(reterr, PAWL_UNKNOWN, "the store %s cannot tell what became of a commit",
                  s->ops->name);
        return PAWL_UNKNOWN;
    }
    pawl_fence before = *fence;
    pawl_status status = s->ops->outcome(s, fence, rounds, count, now_ms, retcommitted, reterr);
    assert_that(status == PAWL_OK || !*retcommitted);
    check_fence_moved(s, &before, fence, *retcommitted ? PAWL_OK : PAWL_UNKNOWN);
    if (*retcommitted)
        check_results(rounds, count);
    return status;
}

/* What was read cannot be true (a damaged index, a store that breaks its contract).  It
 * concerns this caller, not the process: other rows may be sound. */
pawl_status store_unbelievable(const char *what, pawl_error *reterr)
{
    error_set(reterr, PAWL_CORRUPT,
              "the store answered with %s: it is damaged; run pawl doctor, restore a backup", what);
    return PAWL_CORRUPT;
}

/* M3, W3; without delayed visibility the runtime holds back what is early (K4). */
static bool is_due(pawl_store *s, int64_t visible_ms, int64_t now_ms)
{
    return visible_ms <= now_ms || !store_caps(s).delayed_visibility;
}

static bool message_order(const pawl_message *a, const pawl_message *b)
{
    return a->visible_ms != b->visible_ms ? a->visible_ms < b->visible_ms : a->id < b->id;
}

pawl_status store_fetch_messages(pawl_store *s, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                                 pawl_message_list *ret, pawl_error *reterr)
{
    assert_that(limit > 0);
    pawl_status status = s->ops->fetch_messages(s, now_ms, limit, mem, ret, reterr);
    if (status != PAWL_OK)
        return status;
    assert_that(ret->count <= limit);
    for (size_t i = 0; i < ret->count; i++) {
        const pawl_message *m = &ret->items[i];
        if (!is_due(s, m->visible_ms, now_ms) || m->mailbox || (i && !message_order(m - 1, m)))
            return store_unbelievable("messages that are not due, or out of order", reterr);
    }
    return status;
}

pawl_status store_fetch_work(pawl_store *s, int64_t now_ms, const pawl_str *names,
                             size_t name_count, uint32_t limit, pawl_mem *mem, pawl_work_list *ret,
                             pawl_error *reterr)
{
    assert_that(limit > 0);
    pawl_status status = s->ops->fetch_work(s, now_ms, names, name_count, limit, mem, ret, reterr);
    if (status != PAWL_OK)
        return status;
    assert_that(ret->count <= limit);
    for (size_t i = 0; i < ret->count; i++) {
        const pawl_work *w = &ret->items[i];
        bool is_free = w->lock_token.len == 0 || w->lock_until_ms <= now_ms;
        if (!is_due(s, w->visible_ms, now_ms) || !is_free || (i && w[-1].id >= w->id))
            return store_unbelievable("work that is not free, or out of order", reterr);
    }
    return status;
}

pawl_status store_list_work_names(pawl_store *s, pawl_str after, uint32_t limit, pawl_mem *mem,
                                  pawl_text_list *ret, pawl_error *reterr)
{
    assert_that(limit > 0);
    pawl_status status = s->ops->list_work_names(s, after, limit, mem, ret, reterr);
    if (status != PAWL_OK)
        return status;
    assert_that(ret->count <= limit);
    for (size_t i = 0; i < ret->count; i++)
        if (str_compare(i ? ret->items[i - 1] : after, ret->items[i]) >= 0)
            return store_unbelievable("names of work out of order", reterr);
    return status;
}

pawl_status store_count_values(pawl_store *s, pawl_str name, uint32_t max_values,
                               uint64_t max_entries, pawl_mem *mem, pawl_value_counts *ret,
                               pawl_error *reterr)
{
    assert_that(max_values > 0 && max_entries > 0);
    *ret = (pawl_value_counts){.size = sizeof(*ret)};
    if (!STORE_HAS(s, count_values))
        return PAWL_UNSUPPORTED;
    pawl_status status = s->ops->count_values(s, name, max_values, max_entries, mem, ret, reterr);
    if (status != PAWL_OK)
        return status;
    assert_that(ret->count <= max_values);
    for (size_t i = 1; i < ret->count; i++)
        if (str_compare(ret->items[i - 1].key, ret->items[i].key) >= 0)
            return store_unbelievable("values of an attribute out of order", reterr);
    return status;
}

pawl_status store_read_named_work(pawl_store *s, pawl_str name, int64_t now_ms, uint32_t limit,
                                  pawl_mem *mem, pawl_work_list *ret, pawl_error *reterr)
{
    assert_that(limit > 0);
    pawl_status status = s->ops->read_named_work(s, name, now_ms, limit, mem, ret, reterr);
    if (status != PAWL_OK)
        return status;
    assert_that(ret->count <= limit);
    for (size_t i = 0; i < ret->count; i++)
        if (!pawl_str_eq(ret->items[i].name, name))
            return store_unbelievable("work of another name", reterr);
    return status;
}

pawl_status store_fetch_deadlines(pawl_store *s, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                                  pawl_work_list *ret, pawl_error *reterr)
{
    assert_that(limit > 0);
    pawl_status status = s->ops->fetch_deadlines(s, now_ms, limit, mem, ret, reterr);
    if (status != PAWL_OK)
        return status;
    assert_that(ret->count <= limit);
    for (size_t i = 0; i < ret->count; i++) {
        const pawl_work *w = &ret->items[i];
        if (w->deadline_ms <= 0 || w->deadline_ms > now_ms ||
            (i && w[-1].deadline_ms > w->deadline_ms))
            return store_unbelievable("deadlines that are not due, or out of order", reterr);
    }
    return status;
}

pawl_status store_next_due(pawl_store *s, int64_t after_ms, int64_t *ret, pawl_error *reterr)
{
    pawl_status status = s->ops->next_due(s, after_ms, ret, reterr);
    if (status == PAWL_OK && *ret <= after_ms)
        return store_unbelievable("a due time that is past", reterr);
    return status;
}

pawl_status store_clock(pawl_store *s, int64_t *ret, pawl_error *reterr)
{
    pawl_status status = s->ops->clock(s, ret, reterr);
    if (status == PAWL_OK && *ret <= 0)
        return store_unbelievable("a time before 1970", reterr);
    return status;
}

/* A row that a round could have written: what check_row() asks of ours. */
static bool is_instance(const pawl_row *row)
{
    return row->uid && row->id.len > 0 && row->execution > 0 &&
           (row->last_seq == 0) == (row->last_rid == 0) && row->state < PAWL_CONTINUED_AS_NEW;
}

pawl_status store_find(pawl_store *s, pawl_str id, pawl_mem *mem, pawl_row *ret, pawl_error *reterr)
{
    pawl_status status = s->ops->find(s, id, mem, ret, reterr);
    if (status == PAWL_OK && !pawl_str_eq(ret->id, id))
        return store_unbelievable("another instance", reterr);
    if (status == PAWL_OK && !is_instance(ret))
        return store_unbelievable("an instance that cannot be", reterr);
    return status;
}

pawl_status store_find_uid(pawl_store *s, uint64_t uid, pawl_mem *mem, pawl_row *ret,
                           pawl_error *reterr)
{
    pawl_status status = s->ops->find_uid(s, uid, mem, ret, reterr);
    if (status == PAWL_OK && ret->uid != uid)
        return store_unbelievable("another instance", reterr);
    if (status == PAWL_OK && !is_instance(ret))
        return store_unbelievable("an instance that cannot be", reterr);
    return status;
}

/* The question as the single calls answer it. */
static void answer_alone(pawl_store *s, pawl_wanted *w, pawl_mem *mem, pawl_error *reterr)
{
    if (w->work) {
        pawl_work_list list = {0};
        w->status = store_read_work(s, &w->work, 1, mem, &list, reterr);
        if (w->status == PAWL_OK && !list.count)
            w->status = PAWL_NOT_FOUND;
        else if (w->status == PAWL_OK)
            w->item = list.items;
        return;
    }
    if (w->key_only) {
        w->key_status = store_has_key(s, w->uid, w->key, reterr);
        w->status = w->key_status == PAWL_EMPTY ? PAWL_OK : w->key_status;
        return;
    }
    pawl_row found;
    w->status = w->uid ? store_find_uid(s, w->uid, mem, &found, reterr)
                       : store_find(s, w->id, mem, &found, reterr);
    if (w->status != PAWL_OK)
        return;
    pawl_row *row = pawl_mem_alloc(mem, sizeof(*row));
    *row = found;
    w->row = row;
    if (w->key.len)
        w->key_status = store_has_key(s, row->uid, w->key, reterr);
}

static bool is_answer(const pawl_wanted *w)
{
    if (w->work)
        return w->item && w->item->id == w->work;
    if (w->key_only)
        return true;
    return w->row && is_instance(w->row) &&
           (w->uid ? w->row->uid == w->uid : pawl_str_eq(w->row->id, w->id));
}

/* It does not answer now: the next question would wait as long. */
static bool is_trouble(pawl_status status)
{
    return status != PAWL_OK && status != PAWL_NOT_FOUND && status != PAWL_CORRUPT;
}

pawl_status store_load(pawl_store *s, pawl_wanted *wanted, size_t count, size_t max_bytes,
                       pawl_mem *mem, pawl_error *reterr)
{
    for (size_t i = 0; i < count; i++)
        wanted[i].status = wanted[i].key_status = PAWL_UNAVAILABLE;
    if (STORE_HAS(s, load)) {
        pawl_status status = s->ops->load(s, wanted, count, max_bytes, mem, reterr);
        for (size_t i = 0; status == PAWL_OK && i < count; i++)
            if (wanted[i].status == PAWL_OK && !is_answer(&wanted[i]))
                wanted[i].status = store_unbelievable("another row", reterr);
        return status;
    }
    size_t most = arena_bytes(mem) + max_bytes;
    for (size_t i = 0; i < count && arena_bytes(mem) <= most; i++) {
        answer_alone(s, &wanted[i], mem, reterr);
        if (is_trouble(wanted[i].status))
            break;
    }
    return PAWL_OK;
}

pawl_status store_find_execution(pawl_store *s, uint64_t uid, uint64_t execution, pawl_mem *mem,
                                 pawl_row *ret, pawl_error *reterr)
{
    pawl_status status = s->ops->find_execution(s, uid, execution, mem, ret, reterr);
    if (status == PAWL_OK && (ret->uid != uid || ret->execution != execution))
        return store_unbelievable("another execution", reterr);
    return status;
}

static pawl_status check_history(const pawl_event_list *list, uint64_t execution,
                                 uint64_t after_seq, pawl_error *reterr)
{
    for (size_t i = 0; i < list->count; i++) {
        const pawl_event *e = &list->items[i];
        if (e->seq != after_seq + i + 1 || e->execution != execution || (i && e[-1].rid >= e->rid))
            return store_unbelievable("a history with a gap", reterr);
    }
    return PAWL_OK;
}

pawl_status store_read_history(pawl_store *s, uint64_t uid, uint64_t execution, uint64_t after_seq,
                               uint32_t limit, pawl_mem *mem, pawl_event_list *ret,
                               pawl_error *reterr)
{
    pawl_status status =
        s->ops->read_history(s, uid, execution, after_seq, limit, mem, ret, reterr);
    assert_that(status != PAWL_OK || limit == 0 || ret->count <= limit);
    return status != PAWL_OK ? status : check_history(ret, execution, after_seq, reterr);
}

static pawl_status check_messages(const pawl_message_list *list, uint64_t uid, pawl_error *reterr)
{
    for (size_t i = 0; i < list->count; i++) {
        const pawl_message *m = &list->items[i];
        if (m->uid != uid || (i && !message_order(m - 1, m)))
            return store_unbelievable("messages of another instance, or out of order", reterr);
    }
    return PAWL_OK;
}

pawl_status store_read_messages(pawl_store *s, uint64_t uid, pawl_str instance, pawl_mem *mem,
                                pawl_message_list *ret, pawl_error *reterr)
{
    pawl_status status = s->ops->read_messages(s, uid, instance, mem, ret, reterr);
    return status != PAWL_OK ? status : check_messages(ret, uid, reterr);
}

pawl_status store_load_histories(pawl_store *s, pawl_wanted_history *wanted, size_t count,
                                 size_t max_bytes, pawl_mem *mem, pawl_error *reterr)
{
    for (size_t i = 0; i < count; i++)
        wanted[i].status = PAWL_UNAVAILABLE;
    pawl_status status = s->ops->load_histories(s, wanted, count, max_bytes, mem, reterr);
    for (size_t i = 0; status == PAWL_OK && i < count; i++) {
        pawl_wanted_history *w = &wanted[i];
        if (w->status == PAWL_OK)
            w->status = check_history(&w->events, w->execution, 0, reterr);
        if (w->status == PAWL_OK)
            w->status = check_messages(&w->messages, w->uid, reterr);
    }
    return status;
}

static pawl_status check_page(const pawl_row_query *query, const pawl_row_list *page,
                              pawl_error *reterr)
{
    assert_that(page->count <= query->limit);
    for (size_t i = 0; i < page->count; i++) {
        uint64_t above = i ? page->items[i - 1].uid : query->before_uid;
        if (above && page->items[i].uid >= above)
            return store_unbelievable("instances out of order", reterr);
    }
    if (page->next_uid && query->before_uid && page->next_uid >= query->before_uid)
        return store_unbelievable("a page that does not end", reterr);
    return PAWL_OK;
}

pawl_status store_list(pawl_store *s, const pawl_row_query *query, pawl_mem *mem,
                       pawl_row_list *ret, pawl_error *reterr)
{
    assert_that(query->limit > 0);
    pawl_status status = s->ops->list(s, query, mem, ret, reterr);
    return status == PAWL_OK ? check_page(query, ret, reterr) : status;
}

/* A store that lists and does not search: its rows are compared here. */
static pawl_status sift(pawl_store *s, const pawl_search *search, pawl_mem *mem, pawl_found *ret,
                        pawl_error *reterr)
{
    pawl_row_list page;
    pawl_status status = store_list(s, &search->query, mem, &page, reterr);
    if (status != PAWL_OK)
        return status;
    pawl_row *items = arena_array(mem, pawl_row, page.count + 1);
    *ret = (pawl_found){
        .rows = {.items = items, .next_uid = page.next_uid},
          .examined = page.count
    };
    for (size_t i = 0; i < page.count; i++)
        if (search_matches(search, &page.items[i]))
            items[ret->rows.count++] = page.items[i];
    return status;
}

pawl_status store_search(pawl_store *s, const pawl_search *search, pawl_mem *mem, pawl_found *ret,
                         pawl_error *reterr)
{
    assert_that(search->query.limit > 0);
    if (!STORE_HAS(s, search))
        return sift(s, search, mem, ret, reterr);
    *ret = (pawl_found){.size = sizeof(*ret)};
    pawl_status status = s->ops->search(s, search, mem, ret, reterr);
    return status == PAWL_OK ? check_page(&search->query, &ret->rows, reterr) : status;
}

pawl_status store_purge(pawl_store *s, pawl_fence *fence, uint32_t limit, bool *retleft,
                        pawl_error *reterr)
{
    assert_that(limit > 0);
    pawl_fence before = *fence;
    pawl_status status = s->ops->purge(s, fence, limit, retleft, reterr);
    check_fence_moved(s, &before, fence, status);
    return status;
}

pawl_status store_prune_executions(pawl_store *s, pawl_fence *fence, uint64_t uid,
                                   uint64_t before_execution, uint64_t *retcount,
                                   pawl_error *reterr)
{
    pawl_fence before = *fence;
    pawl_status status =
        s->ops->prune_executions(s, fence, uid, before_execution, retcount, reterr);
    check_fence_moved(s, &before, fence, status);
    return status;
}
