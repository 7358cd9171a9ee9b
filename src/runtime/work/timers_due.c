/* SPDX-License-Identifier: MIT */
/* runtime/work/timers_due.c -- see timers_due.h. */
#include "runtime/work/timers_due.h"

#include "runtime/core/health.h"
#include "runtime/core/letter.h"
#include "runtime/core/timers.h"
#include "runtime/core/tray.h"
#include "runtime/work/handout.h"
#include "runtime/work/job.h"
#include "runtime/work/jobs.h"
#include "runtime/work/lease.h"
#include "store/store.h"

/* The row as it is now: it may have been withdrawn, or be in memory already.  False: it could not
 * be read, and is still due. */
static bool take_work(pawl_runtime *rt, uint64_t id, int64_t due_ms)
{
    pawl_work_list list;
    pawl_error err;
    if (job_find(rt, id))
        return true;
    if (store_read_work(rt->store, &id, 1, &rt->group_mem, &list, &err) != PAWL_OK) {
        health_unread(rt, &err);
        timers_put_work(rt, id, due_ms); /* not now: a clock set back would put it off */
        return false;
    }
    if (list.count && list.items[0].visible_ms > rt->now_ms)
        timers_put_work(rt, id, list.items[0].visible_ms);
    else if (list.count && list.items[0].lock_until_ms > rt->now_ms)
        return true; /* a worker outside has it */
    else if (list.count && handout_knows(rt, list.items[0].name)) {
        store_abandon_work(rt->store, &id, 1);
        handout_freed(rt, list.items[0].name);
    } else if (list.count && tray_is_ours(rt, list.items[0].name))
        job_take(rt, &list.items[0]);
    else if (list.count) { /* not for this process: a worker outside may have it now */
        store_abandon_work(rt->store, &id, 1);
        lease_may_find(rt);
    }
    return true;
}

void timers_due_look(pawl_runtime *rt)
{
    struct timer_due due;
    bool read = true;
    while (read && timers_take(rt, &due)) {
        if (due.letter)
            letter_todo(rt, due.letter);
        else
            read = take_work(rt, due.work_id, due.at_ms);
    }
}
