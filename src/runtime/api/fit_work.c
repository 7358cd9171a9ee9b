/* SPDX-License-Identifier: MIT */
/*
 * runtime/api/fit_work.c -- pawl/runtime_sizes.h, and the list of pawl/worker_sizes.h: the calls of
 * programs with a header of any age.
 *
 * Each is the call of its name; the answer is fitted to the caller's structs (base/fit.h).  The
 * other calls of pawl/worker_sizes.h are in lease_client.c.  Called by the inline functions of
 * the headers.
 */
#include "base/fit.h"
#include "base/misuse.h"
#include "pawl/runtime.h"
#include "pawl/worker.h"

#define NEEDS "the sizes of the caller's structs"

static bool is_ours(const pawl_runtime_sizes *sizes)
{
    return FIT_IS_OURS(sizes, pawl_runtime_sizes_here);
}

size_t pawl_app_code_sized(pawl_app *app, pawl_mem *mem, const pawl_code **ret,
                           const pawl_runtime_sizes *sizes)
{
    pawl_runtime_sizes known;
    if (is_ours(sizes))
        return pawl_app_code(app, mem, ret);
    MUST_HAVE(NEEDS, FIT_SIZES(&known, sizes, NULL));
    size_t count = pawl_app_code(app, mem, ret);
    *ret = FIT_ITEMS(mem, *ret, count, known.code);
    return count;
}

size_t pawl_runtime_tallies_sized(pawl_runtime *rt, pawl_mem *mem, const pawl_tally **ret,
                                  const pawl_runtime_sizes *sizes)
{
    pawl_runtime_sizes known;
    if (is_ours(sizes))
        return pawl_runtime_tallies(rt, mem, ret);
    MUST_HAVE(NEEDS, FIT_SIZES(&known, sizes, NULL));
    size_t count = pawl_runtime_tallies(rt, mem, ret);
    *ret = FIT_ITEMS(mem, *ret, count, known.tally);
    return count;
}

static void stats_sized(pawl_runtime *rt, pawl_stats *ret, const pawl_runtime_sizes *sizes,
                        void (*fill)(pawl_runtime *rt, pawl_stats *ret))
{
    pawl_runtime_sizes known;
    pawl_stats own;
    if (is_ours(sizes)) {
        fill(rt, ret);
        return;
    }
    MUST_HAVE(NEEDS, FIT_SIZES(&known, sizes, NULL));
    fill(rt, &own);
    fit_struct(ret, known.stats, &own, sizeof(own));
}

void pawl_runtime_stats_sized(pawl_runtime *rt, pawl_stats *ret, const pawl_runtime_sizes *sizes)
{
    stats_sized(rt, ret, sizes, pawl_runtime_stats);
}

void pawl_runtime_counters_sized(pawl_runtime *rt, pawl_stats *ret, const pawl_runtime_sizes *sizes)
{
    stats_sized(rt, ret, sizes, pawl_runtime_counters);
}

pawl_status pawl_worker_list_sized(pawl_client *c, pawl_mem *mem, pawl_worker_page *ret,
                                   pawl_error *reterr, const pawl_worker_sizes *sizes)
{
    pawl_worker_sizes known;
    if (!ret || FIT_IS_OURS(sizes, pawl_worker_sizes_here))
        return pawl_worker_list(c, mem, ret, reterr);
    if (!FIT_SIZES(&known, sizes, reterr))
        return PAWL_MISUSE;
    pawl_worker_page own = {0};
    pawl_status rc = pawl_worker_list(c, mem, &own, reterr);
    pawl_worker_info *infos = own.count ? arena_array(mem, pawl_worker_info, own.count) : NULL;
    for (size_t i = 0; i < own.count; i++) {
        infos[i] = own.items[i];
        infos[i].held = FIT_ITEMS(mem, infos[i].held, infos[i].held_count, known.held);
    }
    own.items = FIT_ITEMS(mem, infos, own.count, known.info);
    fit_struct(ret, known.page, &own, sizeof(own));
    return rc;
}
