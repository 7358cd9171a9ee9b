/* SPDX-License-Identifier: MIT */
/*
 * runtime/api/fit_queue.c -- pawl/queue_sizes.h: the calls of programs with a header of any age.
 *
 * Each is the call of its name; the answer is fitted to the caller's structs (base/fit.h).
 * pawl_queue_submit_sized() is in queue/queue_client.c.  Called by the inline functions of the
 * header.
 */
#include "base/fit.h"
#include "base/misuse.h"
#include "runtime/queue/queue_fit.h"

static bool is_ours(const pawl_queue_sizes *sizes)
{
    return FIT_IS_OURS(sizes, pawl_queue_sizes_here);
}

/* ---- Writing -------------------------------------------------------------------------- */

pawl_status pawl_queue_call_sized(pawl_client *c, const pawl_queue_request *request, pawl_mem *mem,
                                  pawl_queue_reply *ret, const pawl_queue_sizes *sizes)
{
    pawl_queue_sizes known;
    if (!ret || is_ours(sizes))
        return pawl_queue_call(c, request, mem, ret);
    if (!FIT_SIZES(&known, sizes, NULL))
        return PAWL_MISUSE;
    pawl_queue_reply own = {0};
    const pawl_queue_reply *reply = &own;
    const pawl_queue_request *ours = request;
    if (mem && request)
        ours = queue_fit_request(mem, request, known.item, &own.error);
    pawl_status rc = ours || !request ? pawl_queue_call(c, ours, mem, &own) : PAWL_MISUSE;
    own.status = rc;
    if (mem)
        reply = queue_fit_reply(mem, &own, &known);
    fit_struct(ret, known.reply, reply, sizeof(own));
    return rc;
}

pawl_status pawl_client_push_sized(pawl_client *c, const char *queue, pawl_str data,
                                   const pawl_queue_item *opts, uint64_t *retid, pawl_error *reterr,
                                   const pawl_queue_sizes *sizes)
{
    pawl_queue_sizes known;
    if (is_ours(sizes))
        return pawl_client_push(c, queue, data, opts, retid, reterr);
    if (!FIT_SIZES(&known, sizes, reterr))
        return PAWL_MISUSE;
    pawl_mem mem;
    arena_init(&mem);
    const pawl_queue_item *ours =
        opts ? fit_given(&mem, opts, 1, known.item, sizeof(*ours), "pawl_queue_item", reterr)
             : NULL;
    pawl_status rc =
        opts && !ours ? PAWL_MISUSE : pawl_client_push(c, queue, data, ours, retid, reterr);
    arena_deinit(&mem);
    return rc;
}

pawl_status pawl_client_pop_sized(pawl_client *c, const char *queue, int64_t wait_ms, pawl_mem *mem,
                                  pawl_queue_message *ret, pawl_error *reterr,
                                  const pawl_queue_sizes *sizes)
{
    pawl_queue_sizes known;
    if (!ret || is_ours(sizes))
        return pawl_client_pop(c, queue, wait_ms, mem, ret, reterr);
    if (!FIT_SIZES(&known, sizes, reterr))
        return PAWL_MISUSE;
    pawl_queue_message own = {0};
    pawl_status rc = pawl_client_pop(c, queue, wait_ms, mem, &own, reterr);
    fit_struct(ret, known.message, &own, sizeof(own));
    return rc;
}

pawl_status pawl_client_pop_locked_sized(pawl_client *c, const char *queue, int64_t ttl_ms,
                                         int64_t wait_ms, pawl_mem *mem, pawl_queue_message *ret,
                                         pawl_error *reterr, const pawl_queue_sizes *sizes)
{
    pawl_queue_sizes known;
    if (!ret || is_ours(sizes))
        return pawl_client_pop_locked(c, queue, ttl_ms, wait_ms, mem, ret, reterr);
    if (!FIT_SIZES(&known, sizes, reterr))
        return PAWL_MISUSE;
    pawl_queue_message own = {0};
    pawl_status rc = pawl_client_pop_locked(c, queue, ttl_ms, wait_ms, mem, &own, reterr);
    fit_struct(ret, known.message, &own, sizeof(own));
    return rc;
}

/* ---- Queues ---------------------------------------------------------------------------- */

void pawl_queue_config_default_sized(pawl_queue_config *ret, const pawl_queue_sizes *sizes)
{
    pawl_queue_sizes known;
    pawl_queue_config own = pawl_queue_config_default();
    MUST_HAVE("room and the sizes of the caller's structs", ret && FIT_SIZES(&known, sizes, NULL));
    queue_fit_config(ret, known.config, &own);
}

pawl_status pawl_queue_get_config_sized(pawl_client *c, const char *queue, pawl_mem *mem,
                                        pawl_queue_config *ret, pawl_error *reterr,
                                        const pawl_queue_sizes *sizes)
{
    pawl_queue_sizes known;
    if (!ret || is_ours(sizes))
        return pawl_queue_get_config(c, queue, mem, ret, reterr);
    if (!FIT_SIZES(&known, sizes, reterr))
        return PAWL_MISUSE;
    pawl_queue_config own = {0};
    pawl_status rc = pawl_queue_get_config(c, queue, mem, &own, reterr);
    queue_fit_config(ret, known.config, &own);
    return rc;
}

pawl_status pawl_queue_get_stats_sized(pawl_client *c, const char *queue, pawl_mem *mem,
                                       pawl_queue_stats *ret, pawl_error *reterr,
                                       const pawl_queue_sizes *sizes)
{
    pawl_queue_sizes known;
    if (!ret || is_ours(sizes))
        return pawl_queue_get_stats(c, queue, mem, ret, reterr);
    if (!FIT_SIZES(&known, sizes, reterr))
        return PAWL_MISUSE;
    pawl_queue_stats own = {0};
    pawl_status rc = pawl_queue_get_stats(c, queue, mem, &own, reterr);
    own.levels = FIT_ITEMS(mem, own.levels, own.level_count, known.level);
    queue_fit_stats(ret, &own, &known);
    return rc;
}

pawl_status pawl_queue_list_sized(pawl_client *c, const char *prefix, const char *after,
                                  uint32_t limit, pawl_mem *mem, pawl_queue_page *ret,
                                  pawl_error *reterr, const pawl_queue_sizes *sizes)
{
    pawl_queue_sizes known;
    if (!ret || is_ours(sizes))
        return pawl_queue_list(c, prefix, after, limit, mem, ret, reterr);
    if (!FIT_SIZES(&known, sizes, reterr))
        return PAWL_MISUSE;
    pawl_queue_page own = {0};
    pawl_status rc = pawl_queue_list(c, prefix, after, limit, mem, &own, reterr);
    if (own.items) {
        char *items = arena_alloc(mem, (own.count + 1) * known.stats);
        for (size_t i = 0; i < own.count; i++)
            queue_fit_stats(items + i * known.stats, &own.items[i], &known);
        own.items = (const pawl_queue_stats *)(void *)items;
    }
    fit_struct(ret, known.page, &own, sizeof(own));
    return rc;
}

/* ---- Messages and locks --------------------------------------------------------------------- */

pawl_status pawl_queue_browse_messages_sized(pawl_client *c, const char *queue,
                                             const pawl_queue_browse *query, pawl_mem *mem,
                                             pawl_queue_messages *ret, pawl_error *reterr,
                                             const pawl_queue_sizes *sizes)
{
    pawl_queue_sizes known;
    if (!ret || is_ours(sizes))
        return pawl_queue_browse_messages(c, queue, query, mem, ret, reterr);
    if (!FIT_SIZES(&known, sizes, reterr))
        return PAWL_MISUSE;
    pawl_queue_messages own = {0};
    pawl_status rc = pawl_queue_browse_messages(c, queue, query, mem, &own, reterr);
    own.items = FIT_ITEMS(mem, own.items, own.count, known.message);
    fit_struct(ret, known.messages, &own, sizeof(own));
    return rc;
}

pawl_status pawl_queue_get_message_sized(pawl_client *c, const char *queue, uint64_t id,
                                         pawl_mem *mem, pawl_queue_message *ret, pawl_error *reterr,
                                         const pawl_queue_sizes *sizes)
{
    pawl_queue_sizes known;
    if (!ret || is_ours(sizes))
        return pawl_queue_get_message(c, queue, id, mem, ret, reterr);
    if (!FIT_SIZES(&known, sizes, reterr))
        return PAWL_MISUSE;
    pawl_queue_message own = {0};
    pawl_status rc = pawl_queue_get_message(c, queue, id, mem, &own, reterr);
    fit_struct(ret, known.message, &own, sizeof(own));
    return rc;
}

pawl_status pawl_queue_get_locks_sized(pawl_client *c, const char *queue, pawl_mem *mem,
                                       pawl_queue_locks *ret, pawl_error *reterr,
                                       const pawl_queue_sizes *sizes)
{
    pawl_queue_sizes known;
    if (!ret || is_ours(sizes))
        return pawl_queue_get_locks(c, queue, mem, ret, reterr);
    if (!FIT_SIZES(&known, sizes, reterr))
        return PAWL_MISUSE;
    pawl_queue_locks own = {0};
    pawl_status rc = pawl_queue_get_locks(c, queue, mem, &own, reterr);
    own.items = FIT_ITEMS(mem, own.items, own.count, known.lock_info);
    fit_struct(ret, known.locks, &own, sizeof(own));
    return rc;
}
