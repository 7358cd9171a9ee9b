/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/tray.h -- the name a work row is filed under, and which names are ours.
 *
 * A call without a tag is filed under its activity, "Send"; one with a tag under both,
 * "Send/gpu" (no name may hold a '/').  A process asks the store for work of its own trays,
 * so calls with a tag that it does not serve are never read, and hide nothing behind them.
 *
 * A call with a key or a priority is filed under all four, "Send/gpu/050/acme/ann" or
 * "Send//100/acme"; the first two are its class.  Such trays are handed out in turn (handout.h).
 */
#ifndef PAWL_RUNTIME_TRAY_H
#define PAWL_RUNTIME_TRAY_H

#include "runtime/core/runtime.h"

#define TRAY_MARK '/'

/* The tray of a call without key or priority; `activity` itself when there is no tag. */
pawl_str tray_of(pawl_mem *mem, pawl_str activity, pawl_str tag);
/* The tray of any call, where trays are handed out in turn. */
pawl_str tray_of_call(pawl_mem *mem, pawl_str activity, const struct call_policy *p);

/* A tray's name, cut up. */
struct tray_parts {
    pawl_str class; /* activity, or activity and tag */
    pawl_str key;
    uint32_t priority;
};
/* False: it has neither key nor priority, and all of it is the class. */
bool tray_cut(pawl_str tray, struct tray_parts *ret);
/* The activity whose tray this is. */
pawl_str tray_activity(pawl_str tray);
/* Every activity, by itself and with every tag. */
size_t tray_product(pawl_mem *mem, const pawl_str *activities, size_t activity_count,
                    const pawl_str *tags, size_t tag_count, const pawl_str **ret);

/* The tags of opts.tags; false: one of them is no tag. */
bool tray_open(pawl_runtime *rt, pawl_error *reterr);
void tray_close(pawl_runtime *rt);
/* [engine] The entry of an activity, without a look into the registry where it is the one found
 * before; NULL: none has this name. */
const struct activity_entry *tray_entry(pawl_runtime *rt, pawl_str activity);
/* [engine] May a thread of this process run it?  NULL: no. */
const struct activity_entry *tray_is_ours(pawl_runtime *rt, pawl_str tray);
/* All trays it may run, in `mem`. */
size_t tray_ours(pawl_runtime *rt, pawl_mem *mem, const pawl_str **ret);

/* Are rows filed by trays?  Not in trials, where this process is the only worker. */
static inline bool tray_counts(const pawl_runtime *rt)
{
    return !rt->trays.none;
}

#endif
