/* SPDX-License-Identifier: MIT */
/* runtime/schedule/schedule_zones.c -- see the header. */
#include "runtime/schedule/schedule_zones.h"

#include "runtime/core/due.h"
#include "runtime/core/health.h"
#include "runtime/core/letter.h"
#include "runtime/schedule/schedule_mail.h"
#include "schedule/schedule_state.h"
#include "schedule/zone.h"
#include "store/store_object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 200

/* A zone whose object has this hash; in the map under its name. */
struct known_zone {
    uint64_t hash;
    bool changed; /* its file has another hash: its schedules must be looked at */
    size_t len;
    char name[];
};

static struct known_zone *find(pawl_runtime *rt, pawl_str zone)
{
    return map_gets(&due_zones(rt)->known, zone);
}

static struct known_zone *remember(pawl_runtime *rt, pawl_str zone, uint64_t hash)
{
    struct known_zone *z = find(rt, zone);
    if (!z) {
        z = calloc(1, sizeof(*z) + zone.len + 1);
        need_memory(z);
        z->len = zone.len;
        memcpy(z->name, zone.ptr, zone.len);
        need_memory(map_puts(&due_zones(rt)->known, (pawl_str){z->name, z->len}, z));
    }
    z->hash = hash;
    return z;
}

static uint64_t hash_of(pawl_mem *mem, const pawl_object *o)
{
    return strtoull(pawl_json_text(mem, o->data, "/hash", "0").ptr, NULL, 16);
}

static void put_object(pawl_runtime *rt, struct stage *s, pawl_str zone, uint64_t hash)
{
    *list_add(&rt->group_mem, &s->objects) =
        (pawl_object){.kind = PAWL_OBJECT_ZONE,
                      .name = zone,
                      .version = PAWL_VERSION_ANY,
                      .data = pawl_mem_printf(&rt->group_mem, "{\"hash\":\"%016llx\"}",
                                              (unsigned long long)hash)};
}

/* Occurrences were computed from another version of the file: look at all its schedules. */
static void begin_walk(pawl_runtime *rt, struct known_zone *z)
{
    struct zones *zones = due_zones(rt);
    z->changed = zones->walking = true;
    zones->walked = false;
    zones->cursor[0] = '\0';
    log_info(&rt->log, "schedule", "a zone file changed; its schedules are looked at", "zone=%s",
             z->name);
}

/* The store is read once per zone.  What this stage writes counts after it was read back. */
void zones_note(pawl_runtime *rt, struct stage *s, pawl_str zone, uint64_t hash)
{
    const struct known_zone *known = find(rt, zone);
    pawl_object o;
    pawl_error err;
    if (known && (known->hash == hash || known->changed)) /* changed: written when all are done */
        return;
    pawl_status rc = store_read_object(rt->store, PAWL_OBJECT_ZONE, zone, &rt->group_mem, &o, &err);
    if (rc == PAWL_OK) {
        struct known_zone *z = remember(rt, zone, hash_of(&rt->group_mem, &o));
        if (z->hash != hash)
            begin_walk(rt, z);
    }
    if (rc == PAWL_NOT_FOUND)
        put_object(rt, s, arena_dup(&rt->group_mem, zone), hash);
}

/* The hash of the file as it is now; false: it could not be read. */
static bool file_hash(pawl_mem *mem, const char *name, uint64_t *ret)
{
    const struct zone *zone = NULL;
    pawl_error err;
    pawl_status rc = zone_load(name, mem, &zone, &err);
    *ret = zone ? zone->hash : 0;
    return rc == PAWL_OK || rc == PAWL_NOT_FOUND || rc == PAWL_INVALID;
}

pawl_status zones_recover(pawl_runtime *rt, pawl_error *reterr)
{
    pawl_object_list list;
    pawl_str after = {0};
    if (!schedule_works(rt))
        return PAWL_OK;
    do {
        pawl_status rc = store_list_objects(rt->store, PAWL_OBJECT_ZONE, (pawl_str){0}, after,
                                            STORE_OBJECTS_PAGE, &rt->group_mem, &list, reterr);
        if (rc != PAWL_OK)
            return rc;
        for (size_t i = 0; i < list.count; i++) {
            struct known_zone *z =
                remember(rt, list.items[i].name, hash_of(&rt->group_mem, &list.items[i]));
            uint64_t now;
            after = list.items[i].name;
            if (file_hash(&rt->group_mem, z->name, &now) && now != z->hash)
                begin_walk(rt, z);
        }
    } while (list.count == STORE_OBJECTS_PAGE);
    return PAWL_OK;
}

/* Look at a schedule, by a message without a row. */
static void wake(pawl_runtime *rt, pawl_str name)
{
    struct mail mail = {.kind = PAWL_MSG_SCHEDULE, .name = name};
    struct letter *l = letter_create(&mail, SCHEDULE_UID, (pawl_str){0}, (pawl_str){0});
    need_memory(l);
    letter_todo(rt, l);
}

static bool is_of_changed(pawl_runtime *rt, pawl_str data)
{
    const struct known_zone *z = find(rt, pawl_json_text(&rt->group_mem, data, "/spec/zone", ""));
    return z && z->changed;
}

/* All schedules were looked at, in earlier commits: store the hashes of the files. */
static void end_walk(pawl_runtime *rt)
{
    struct stage *s = stage_bare(rt);
    struct known_zone *z;
    for (size_t cursor = 0; (z = map_next(&due_zones(rt)->known, &cursor));) {
        uint64_t now;
        if (!z->changed || !file_hash(&rt->group_mem, z->name, &now))
            continue;
        z->changed = false;
        z->hash = now;
        put_object(rt, s, arena_dup(&rt->group_mem, (pawl_str){z->name, z->len}), now);
    }
    due_zones(rt)->walking = due_zones(rt)->walked = false;
}

void zones_look(pawl_runtime *rt)
{
    pawl_object_list list = {0};
    pawl_error err;
    if (LIKELY(!due_zones(rt)->walking))
        return;
    if (due_zones(rt)->walked) {
        end_walk(rt);
        return;
    }
    pawl_status rc =
        store_list_objects(rt->store, PAWL_OBJECT_SCHEDULE, (pawl_str){0},
                           pawl_s(due_zones(rt)->cursor), PAGE, &rt->group_mem, &list, &err);
    if (rc != PAWL_OK && rc != PAWL_CORRUPT) {
        health_unread(rt, &err);
        return;
    }
    for (size_t i = 0; i < list.count; i++)
        if (is_of_changed(rt, list.items[i].data))
            wake(rt, list.items[i].name);
    if (list.count)
        (void)snprintf(due_zones(rt)->cursor, sizeof(due_zones(rt)->cursor), "%.*s",
                       PAWL_FMT(list.items[list.count - 1].name));
    due_zones(rt)->walked = list.count < PAGE; /* this pass looks at the last ones */
}

void zones_open(pawl_runtime *rt)
{
    map_init(&due_zones(rt)->known);
}

void zones_close(pawl_runtime *rt)
{
    struct known_zone *z;
    for (size_t cursor = 0; (z = map_next(&due_zones(rt)->known, &cursor));)
        free(z);
    map_deinit(&due_zones(rt)->known);
}
