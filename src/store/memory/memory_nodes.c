/* SPDX-License-Identifier: MIT */
/*
 * store/memory/memory_nodes.c -- nodes and their leases.
 *
 * A node that lives is in `nodes`; one that left or was buried is not.  The end of a lease does
 * nothing by itself.  Times are the caller's.  Called through the table of memory_lanes.c.
 */
#include "base/attr.h"
#include "base/limits.h"
#include "store/memory/copy.h"
#include "store/memory/memory.h"

#include <stdlib.h>

static const struct row_shape shape_node = {
    sizeof(pawl_node), 2, {offsetof(pawl_node, name), offsetof(pawl_node, about)}
};

static pawl_node *node_of(const struct memory *m, uint64_t id)
{
    for (size_t i = 0; i < m->nodes.count; i++)
        if (m->nodes.items[i]->node.id == id)
            return &m->nodes.items[i]->node;
    return NULL;
}

bool memory_node_lives(const struct memory *m, uint64_t id)
{
    return node_of(m, id) != NULL;
}

bool memory_node_leased(const struct memory *m, int64_t now_ms)
{
    for (size_t i = 0; i < m->nodes.count; i++)
        if (m->nodes.items[i]->node.lease_until_ms > now_ms)
            return true;
    return false;
}

static void drop_node(struct memory *m, size_t at)
{
    struct memory_node *gone = m->nodes.items[at];
    for (m->nodes.count--; at < m->nodes.count; at++)
        m->nodes.items[at] = m->nodes.items[at + 1];
    copy_drop(&shape_node, &gone->node);
    free(gone);
}

static bool is_of_nobody(const struct memory_lane *lane, void *user)
{
    return lane->node && !memory_node_lives(user, lane->node);
}

/* Nodes went: their lanes end together (E22). */
static void end_lanes(struct memory *m)
{
    memory_end_lanes(m, is_of_nobody, m);
    m->moves++;
}

void memory_nodes_deinit(struct memory *m)
{
    while (m->nodes.count)
        drop_node(m, m->nodes.count - 1);
    vec_deinit(&m->nodes);
}

static bool find(const struct memory *m, pawl_str name, uint64_t id, size_t *retat)
{
    for (size_t i = 0; i < m->nodes.count; i++) {
        const pawl_node *n = &m->nodes.items[i]->node;
        *retat = i;
        if (id ? n->id == id : pawl_str_eq(n->name, name))
            return true;
    }
    return false;
}

pawl_status memory_node_join(pawl_store *s, pawl_str name, pawl_str about, int64_t lease_ms,
                             bool again, int64_t now_ms, uint64_t *retid, pawl_error *reterr)
{
    struct memory *m = memory_lock(s);
    size_t at;
    if (find(m, name, 0, &at)) {
        if (!again && m->nodes.items[at]->node.lease_until_ms > now_ms) {
            memory_unlock(m);
            error_set(reterr, PAWL_EXISTS, "a node of the name '%.*s' lives", PAWL_FMT(name));
            return PAWL_EXISTS;
        }
        drop_node(m, at);
        end_lanes(m);
    }
    struct memory_node **slot = vec_push(&m->nodes);
    need_memory(slot != NULL);
    *slot = copy_alloc(sizeof(**slot));
    pawl_node node = {.id = *retid = ++m->last_node,
                      .name = name,
                      .about = about,
                      .joined_ms = now_ms,
                      .lease_until_ms = now_ms + lease_ms};
    copy_keep(&shape_node, &(*slot)->node, &node);
    memory_unlock(m);
    return PAWL_OK;
}

static pawl_status not_found(uint64_t id, pawl_error *reterr)
{
    error_set(reterr, PAWL_NOT_FOUND, "there is no node %llu", (unsigned long long)id);
    return PAWL_NOT_FOUND;
}

pawl_status memory_node_beat(pawl_store *s, uint64_t id, pawl_str about, int64_t lease_ms,
                             int64_t now_ms, pawl_beat *ret, pawl_error *reterr)
{
    struct memory *m = memory_lock(s);
    pawl_node *node = node_of(m, id);
    pawl_beat beat = {.now_ms = now_ms, .moves = m->moves};
    if (node) {
        beat.lease_until_ms = node->lease_until_ms = now_ms + lease_ms;
        beat.asked = node->asked;
        if (about.ptr)
            copy_set(&node->about, about);
    }
    memory_unlock(m);
    if (node) {
        pawl_fill(ret, &beat, sizeof(beat));
        return PAWL_OK;
    }
    error_set(reterr, PAWL_FENCED, "node %llu left, or was buried", (unsigned long long)id);
    return PAWL_FENCED;
}

pawl_status memory_node_leave(pawl_store *s, uint64_t id, int64_t now_ms UNUSED, pawl_error *reterr)
{
    struct memory *m = memory_lock(s);
    size_t at;
    bool was = find(m, (pawl_str){0}, id, &at);
    if (was) {
        drop_node(m, at);
        end_lanes(m);
    }
    memory_unlock(m);
    return was ? PAWL_OK : not_found(id, reterr);
}

pawl_status memory_node_ask(pawl_store *s, uint64_t id, uint32_t asked, pawl_error *reterr)
{
    struct memory *m = memory_lock(s);
    pawl_node *node = node_of(m, id);
    if (node)
        node->asked = asked;
    memory_unlock(m);
    return node ? PAWL_OK : not_found(id, reterr);
}

pawl_status memory_bury_over(pawl_store *s, int64_t now_ms, uint32_t *retcount,
                             pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    *retcount = 0;
    for (size_t i = m->nodes.count; i > 0; i--) {
        if (m->nodes.items[i - 1]->node.lease_until_ms > now_ms)
            continue;
        drop_node(m, i - 1);
        ++*retcount;
    }
    if (*retcount)
        end_lanes(m);
    memory_unlock(m);
    return PAWL_OK;
}

pawl_status memory_nodes(pawl_store *s, pawl_mem *mem, pawl_node_list *ret,
                         pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    size_t count = m->nodes.count;
    pawl_node *items = pawl_mem_alloc(mem, (count + 1) * sizeof(*items));
    for (size_t i = 0; i < count; i++)
        copy_give(&shape_node, &items[i], &m->nodes.items[i]->node, mem);
    memory_unlock(m);
    *ret = (pawl_node_list){.items = items, .count = count};
    return PAWL_OK;
}
