/* SPDX-License-Identifier: MIT */
/* runtime/core/resident.c -- see resident.h. */
#include "runtime/core/resident.h"

#include "fiber/fiber.h"
#include "tables/instance_texts.h"

#include <stdio.h>
#include <stdlib.h>

struct resident *resident_by_uid(pawl_runtime *rt, uint64_t uid)
{
    return map_get(&rt->residents.by_uid, uid);
}

struct resident *resident_by_id(pawl_runtime *rt, pawl_str id)
{
    return map_gets(&rt->residents.by_id, id);
}

static void copy_row(pawl_row *to, const pawl_row *from, pawl_mem *mem)
{
    *to = *from;
    to->id = arena_dup(mem, from->id);
    to->orchestration = arena_dup(mem, from->orchestration);
    to->version = arena_dup(mem, from->version);
    to->parent_id = arena_dup(mem, from->parent_id);
#define COPY(field, ...) to->field = arena_dup(mem, from->field);
    INSTANCE_TEXTS(COPY)
#undef COPY
    to->output = (pawl_str){0}; /* terminal rows are not kept; readers ask the store */
}

static void list_remove(pawl_runtime *rt, struct resident *r)
{
    *(r->newer ? &r->newer->older : &rt->residents.newest) = r->older;
    *(r->older ? &r->older->newer : &rt->residents.oldest) = r->newer;
    r->older = r->newer = NULL;
}

static void list_add_newest(pawl_runtime *rt, struct resident *r)
{
    r->newer = NULL;
    r->older = rt->residents.newest;
    *(rt->residents.newest ? &rt->residents.newest->newer : &rt->residents.oldest) = r;
    rt->residents.newest = r;
}

struct resident *resident_add(pawl_runtime *rt, const pawl_row *row)
{
    struct resident *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->rt = rt;
    arena_init(&r->row_mem);
    copy_row(&r->row, row, &r->row_mem);
    if (!map_put(&rt->residents.by_uid, r->row.uid, r))
        goto fail;
    if (!map_puts(&rt->residents.by_id, r->row.id, r)) {
        map_remove(&rt->residents.by_uid, r->row.uid);
        goto fail;
    }
    list_add_newest(rt, r);
    rt->residents.count++;
    COUNT_IS(rt, resident, rt->residents.count);
    resident_weigh(rt, r);
    return r;
fail:
    arena_deinit(&r->row_mem);
    free(r);
    return NULL;
}

void resident_set_row(struct resident *r, const pawl_row *row)
{
    pawl_runtime *rt = r->rt;
    pawl_mem fresh;
    arena_init(&fresh);
    pawl_row copy;
    copy_row(&copy, row, &fresh);
    map_removes(&rt->residents.by_id, r->row.id); /* its key lives in the old arena */
    arena_deinit(&r->row_mem);
    r->row_mem = fresh;
    r->row = copy;
    bool put = map_puts(&rt->residents.by_id, r->row.id, r);
    assert_that(put); /* into the slot that was just freed */
}

pawl_row *resident_row(struct resident *r)
{
    return r->stage ? &r->stage->row : &r->row;
}

void resident_touch(pawl_runtime *rt, struct resident *r)
{
    if (rt->residents.newest == r)
        return;
    list_remove(rt, r);
    list_add_newest(rt, r);
}

void resident_weigh(pawl_runtime *rt, struct resident *r)
{
    size_t bytes = sizeof(*r) + arena_bytes(&r->row_mem) + (r->x ? execution_bytes(r->x) : 0);
    rt->residents.bytes += bytes - r->bytes;
    r->bytes = bytes;
}

void resident_evict(pawl_runtime *rt, struct resident *r)
{
    assert_that(!r->stage);
    execution_destroy(r->x);
    map_remove(&rt->residents.by_uid, r->row.uid);
    map_removes(&rt->residents.by_id, r->row.id);
    list_remove(rt, r);
    rt->residents.bytes -= r->bytes;
    rt->residents.count--;
    COUNT_IS(rt, resident, rt->residents.count);
    COUNT(rt, evictions);
    map_deinit(&r->taken);
    arena_deinit(&r->row_mem);
    free(r);
}

void resident_trim(pawl_runtime *rt, bool all, const struct resident *keep)
{
    struct resident *r = rt->residents.oldest;
    while (r && (all || rt->residents.bytes > rt->opts.fiber_memory ||
                 rt->residents.count > rt->residents.max)) {
        struct resident *next = r->newer;
        if (!r->stage && r != keep)
            resident_evict(rt, r);
        r = next;
    }
}

void resident_check(pawl_runtime *rt)
{
    size_t count = 0, bytes = 0;
    for (struct resident *r = rt->residents.newest; r; r = r->older) {
        assert_that(map_get(&rt->residents.by_uid, r->row.uid) == r);
        assert_that(map_gets(&rt->residents.by_id, r->row.id) == r);
        assert_that(!r->stage || r->stage->r == r);
        count++;
        bytes += r->bytes;
    }
    assert_that(count == rt->residents.count && bytes == rt->residents.bytes);
}

/* Stacks cost two mappings each: stay under half of what the system allows. */
static size_t resident_limit(void)
{
    long maps = 65530;
    FILE *f = fopen("/proc/sys/vm/max_map_count", "re");
    if (f) {
        char line[32];
        if (fgets(line, sizeof(line), f))
            maps = strtol(line, NULL, 10);
        fclose(f);
    }
    return maps / 2 > 2100 ? (size_t)maps / 2 - 2000 : 100;
}

void resident_open(pawl_runtime *rt)
{
    map_init(&rt->residents.by_uid);
    map_init(&rt->residents.by_id);
    rt->residents.max = resident_limit();
}

bool resident_open_fibers(pawl_runtime *rt)
{
    rt->residents.fibers = fiber_pool_create(1024);
    return rt->residents.fibers != NULL;
}

void resident_close(pawl_runtime *rt)
{
    resident_trim(rt, true, NULL);
    map_deinit(&rt->residents.by_uid);
    map_deinit(&rt->residents.by_id);
    fiber_pool_destroy(rt->residents.fibers);
}
