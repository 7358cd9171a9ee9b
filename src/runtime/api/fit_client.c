/* SPDX-License-Identifier: MIT */
/*
 * runtime/api/fit_client.c -- pawl/client_sizes.h: the calls of programs with a header of any age.
 *
 * Each is the call of its name; the answer is fitted to the caller's structs (base/fit.h).
 * pawl_client_feed_sized() is in core/audience.c.  Called by the inline functions of the header.
 */
#include "base/fit.h"
#include "pawl/client.h"
#include "runtime/core/gate.h"

#include <stdlib.h>

static bool is_ours(const pawl_client_sizes *sizes)
{
    return FIT_IS_OURS(sizes, pawl_client_sizes_here);
}

/* ---- Replies ------------------------------------------------------------------------ */

pawl_status pawl_client_call_sized(pawl_client *c, const pawl_request *request, pawl_reply *ret,
                                   const pawl_client_sizes *sizes)
{
    pawl_client_sizes known;
    if (is_ours(sizes))
        return pawl_client_call(c, request, ret);
    if (!FIT_SIZES(&known, sizes, NULL))
        return PAWL_MISUSE;
    pawl_reply own;
    pawl_status rc = pawl_client_call(c, request, &own);
    if (ret)
        fit_struct(ret, known.reply, &own, sizeof(own));
    return rc;
}

pawl_status pawl_client_start_sized(pawl_client *c, const char *orchestration, pawl_str input,
                                    const pawl_start_opts *opts, pawl_reply *ret,
                                    const pawl_client_sizes *sizes)
{
    pawl_client_sizes known;
    if (is_ours(sizes))
        return pawl_client_start(c, orchestration, input, opts, ret);
    if (!FIT_SIZES(&known, sizes, NULL))
        return PAWL_MISUSE;
    pawl_reply own;
    pawl_status rc = pawl_client_start(c, orchestration, input, opts, &own);
    if (ret)
        fit_struct(ret, known.reply, &own, sizeof(own));
    return rc;
}

pawl_status pawl_client_remove_sized(pawl_client *c, const char *instance, bool force,
                                     pawl_reply *ret, const pawl_client_sizes *sizes)
{
    return pawl_client_call_sized(
        c, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = instance, .force = force), ret, sizes);
}

pawl_status pawl_client_prune_sized(pawl_client *c, int64_t before_ms, uint32_t limit,
                                    pawl_reply *ret, const pawl_client_sizes *sizes)
{
    return pawl_client_call_sized(
        c, PAWL_REQUEST(.op = PAWL_OP_PRUNE, .before_ms = before_ms, .limit = limit), ret, sizes);
}

/* For a callback whose reply struct is longer than ours: a copy with zeroes behind it. */
struct longer_reply {
    pawl_reply_fn *fn;
    void *arg;
    size_t size;
    uint64_t room[];
};

static void pass_on(void *arg, const pawl_reply *reply)
{
    struct longer_reply *l = arg;
    fit_struct(l->room, l->size, reply, sizeof(*reply));
    l->fn(l->arg, (const pawl_reply *)l->room);
    free(l);
}

pawl_status pawl_client_submit_sized(pawl_client *c, const pawl_request *request, pawl_reply_fn *fn,
                                     void *arg, pawl_error *reterr, const pawl_client_sizes *sizes)
{
    pawl_client_sizes known;
    if (is_ours(sizes))
        return pawl_client_submit(c, request, fn, arg, reterr);
    if (!FIT_SIZES(&known, sizes, reterr))
        return PAWL_MISUSE;
    if (!fn || known.reply <= sizeof(pawl_reply))
        return pawl_client_submit(c, request, fn, arg, reterr);
    struct longer_reply *l = malloc(sizeof(*l) + known.reply);
    if (!l)
        return gate_no_memory(reterr);
    *l = (struct longer_reply){.fn = fn, .arg = arg, .size = known.reply};
    pawl_status rc = pawl_client_submit(c, request, pass_on, l, reterr);
    if (rc != PAWL_OK)
        free(l);
    return rc;
}

/* ---- Instances ------------------------------------------------------------------------ */

static void give_info(pawl_mem *mem, pawl_info *ret, pawl_info *own, const pawl_client_sizes *known)
{
    own->waiting = FIT_ITEMS(mem, own->waiting, own->waiting_count, known->waiting);
    fit_struct(ret, known->info, own, sizeof(*own));
}

pawl_status pawl_client_get_sized(pawl_client *c, const char *instance, uint64_t execution_no,
                                  pawl_mem *mem, pawl_info *ret, pawl_error *reterr,
                                  const pawl_client_sizes *sizes)
{
    pawl_client_sizes known;
    if (!ret || is_ours(sizes))
        return pawl_client_get(c, instance, execution_no, mem, ret, reterr);
    if (!FIT_SIZES(&known, sizes, reterr))
        return PAWL_MISUSE;
    pawl_info own = {0};
    pawl_status rc = pawl_client_get(c, instance, execution_no, mem, &own, reterr);
    give_info(mem, ret, &own, &known);
    return rc;
}

pawl_status pawl_client_wait_sized(pawl_client *c, const char *instance, uint64_t execution_no,
                                   int64_t timeout_ms, pawl_mem *mem, pawl_info *ret,
                                   pawl_error *reterr, const pawl_client_sizes *sizes)
{
    pawl_client_sizes known;
    if (!ret || is_ours(sizes))
        return pawl_client_wait(c, instance, execution_no, timeout_ms, mem, ret, reterr);
    if (!FIT_SIZES(&known, sizes, reterr))
        return PAWL_MISUSE;
    pawl_info own = {0};
    pawl_status rc = pawl_client_wait(c, instance, execution_no, timeout_ms, mem, &own, reterr);
    give_info(mem, ret, &own, &known);
    return rc;
}

/* ---- Lists and histories ------------------------------------------------------------------ */

pawl_status pawl_client_list_sized(pawl_client *c, const pawl_filter *filter, pawl_mem *mem,
                                   pawl_page *ret, pawl_error *reterr,
                                   const pawl_client_sizes *sizes)
{
    pawl_client_sizes known;
    if (!ret || is_ours(sizes))
        return pawl_client_list(c, filter, mem, ret, reterr);
    if (!FIT_SIZES(&known, sizes, reterr))
        return PAWL_MISUSE;
    pawl_page own = {0};
    pawl_status rc = pawl_client_list(c, filter, mem, &own, reterr);
    own.items = FIT_ITEMS(mem, own.items, own.count, known.info);
    fit_struct(ret, known.page, &own, sizeof(own));
    return rc;
}

pawl_status pawl_client_history_sized(pawl_client *c, const char *instance, uint64_t execution_no,
                                      uint64_t after_seq, uint32_t limit, pawl_mem *mem,
                                      pawl_history *ret, pawl_error *reterr,
                                      const pawl_client_sizes *sizes)
{
    pawl_client_sizes known;
    if (!ret || is_ours(sizes))
        return pawl_client_history(c, instance, execution_no, after_seq, limit, mem, ret, reterr);
    if (!FIT_SIZES(&known, sizes, reterr))
        return PAWL_MISUSE;
    pawl_history own = {0};
    pawl_status rc =
        pawl_client_history(c, instance, execution_no, after_seq, limit, mem, &own, reterr);
    fit_struct(ret, known.history, &own, sizeof(own));
    return rc;
}
