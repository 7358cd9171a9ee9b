/* SPDX-License-Identifier: MIT */
/* runtime/core/store_clock.c -- see store_clock.h. */
#include "runtime/core/store_clock.h"

#include "runtime/core/health.h"
#include "store/store.h"

struct bounds {
    int64_t low, high; /* of the store's time minus the monotonic clock */
};

/* Both clocks count whole milliseconds: hence the one more. */
static pawl_status ask(pawl_runtime *rt, struct bounds *ret, pawl_error *reterr)
{
    int64_t told = 0, before = rt_mono(rt);
    pawl_status rc = store_clock(rt->store, &told, reterr);
    rt->clock.asked_ms = rt_mono(rt);
    *ret = (struct bounds){told - rt->clock.asked_ms, told - before + 1};
    return rc;
}

pawl_status store_clock_open(pawl_runtime *rt, pawl_error *reterr)
{
    struct bounds b;
    if (!store_has_clock(rt->store) || rt->clock.of_caller)
        return PAWL_OK;
    pawl_status rc = ask(rt, &b, reterr);
    if (rc != PAWL_OK)
        return rc;
    atomic_store_explicit(&rt->clock.lead_ms, b.low, memory_order_relaxed);
    rt->clock.is = true;
    return PAWL_OK;
}

static void ask_again(pawl_runtime *rt)
{
    struct bounds b;
    int64_t lead = atomic_load_explicit(&rt->clock.lead_ms, memory_order_relaxed);
    if (ask(rt, &b, NULL) != PAWL_OK) /* what the engine does next finds out why */
        return;
    assert_that(b.low < b.high);
    if (lead < b.low)
        lead = b.low;
    else if (lead > b.high)
        lead = b.high;
    atomic_store_explicit(&rt->clock.lead_ms, lead, memory_order_relaxed);
}

void store_clock_look(pawl_runtime *rt)
{
    if (UNLIKELY(rt->clock.is) && rt_mono(rt) - rt->clock.asked_ms >= STORE_CLOCK_EVERY_MS &&
        health_is_good(rt))
        ask_again(rt);
}

int64_t store_clock_here(pawl_runtime *rt, int64_t store_ms)
{
    return rt->clock.is ? store_ms - (rt_now(rt) - rt->env.now_ms(rt->env.user)) : store_ms;
}
