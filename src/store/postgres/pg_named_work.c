/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_named_work.c -- names that work is filed under (W4, W5).
 *
 * One search of an index per name; rows that an earlier epoch held are in no such index, and
 * memory knows them by name (loose).  Called through the table of pg_open.c.
 */
#include "base/str.h"
#include "store/postgres/pg_work_names.h"
#include "store/sql/columns.h"

#include <stdlib.h>

static int by_bytes(const void *a, const void *b)
{
    return str_compare(*(const pawl_str *)a, *(const pawl_str *)b);
}

/* Those of the database and of memory, in any order. */
static pawl_status all_names(struct pg_store *s, pawl_mem *mem, pawl_text_list *ret,
                             pawl_error *reterr)
{
    LIST(pawl_str) names = {0};
    const struct pg_name *n;
    pawl_status status;
    params_reset(&s->params);
    params_id(&s->params, s->fence.shards);
    PGresult *r = link_run(&s->writer, ST_PG_WORK_NAMES, &s->params, "list work", &status, reterr);
    if (!r)
        return status;
    for (int i = 0; i < pq.ntuples(r); i++)
        *list_add(mem, &names) = arena_dup(mem, value_view(r, i, 0));
    pq.clear(r);
    for (size_t at = 0; (n = map_next(&s->names->known.by_name, &at));)
        if (n->known.loose.count)
            *list_add(mem, &names) = arena_dup(mem, n->known.name);
    *ret = (pawl_text_list){.items = names.items, .count = names.count};
    return PAWL_OK;
}

pawl_status pg_list_work_names(pawl_store *base, pawl_str after, uint32_t limit, pawl_mem *mem,
                               pawl_text_list *ret, pawl_error *reterr)
{
    struct pg_store *s = pg_of(base);
    pawl_text_list all = {0};
    size_t count = 0;
    *ret = all;
    pawl_status status = pg_attach(s, reterr);
    if (status == PAWL_OK)
        status = pg_work_settle(s, INT64_MIN, mem, reterr);
    if (status == PAWL_OK)
        status = all_names(s, mem, &all, reterr);
    if (status != PAWL_OK || !all.count)
        return status;
    pawl_str *names = arena_array(mem, pawl_str, all.count);
    memcpy(names, all.items, all.count * sizeof(*names));
    qsort(names, all.count, sizeof(*names), by_bytes);
    for (size_t i = 0; i < all.count && count < limit; i++)
        if (str_compare(names[i], count ? names[count - 1] : after) > 0)
            names[count++] = names[i];
    *ret = (pawl_text_list){.items = names, .count = count};
    return PAWL_OK;
}

pawl_status pg_read_named_work(pawl_store *base, pawl_str name, int64_t now_ms, uint32_t limit,
                               pawl_mem *mem, pawl_work_list *ret, pawl_error *reterr)
{
    struct pg_store *s = pg_of(base);
    LIST(pawl_work) items = {0};
    *ret = (pawl_work_list){0};
    pawl_status status = pg_attach(s, reterr);
    if (status != PAWL_OK)
        return status;
    params_reset(&s->params);
    params_str(&s->params, name);
    params_i64(&s->params, now_ms);
    params_i64(&s->params, limit);
    params_id(&s->params, s->fence.shards);
    PGresult *r = link_run(&s->writer, ST_PG_WORK_NAMED, &s->params, "read work", &status, reterr);
    if (!r)
        return status;
    for (int i = 0; i < pq.ntuples(r); i++) {
        if (pg_decode_work(r, i, mem, list_room(mem, &items)) != SQL_SOUND)
            damage_note(&s->sql.base, "work", value_id(r, i, WORK_id));
        else if (!idset_has(&s->names->known.taken, items.items[items.count].id))
            items.count++;
    }
    pq.clear(r);
    *ret = (pawl_work_list){.items = items.items, .count = items.count};
    return PAWL_OK;
}
