/* SPDX-License-Identifier: MIT */
/* runtime/life/env.c -- see env.h. */
#include "runtime/life/env.h"

#include "base/clock.h"
#include "base/rand.h"

static int64_t real_now(void *user)
{
    (void)user;
    return clock_wall_ms();
}

static int64_t real_mono(void *user)
{
    (void)user;
    return clock_mono_ms();
}

static void real_random(void *user, void *to, size_t n)
{
    (void)user;
    random_ids(to, n);
}

void env_open(pawl_runtime *rt)
{
    if (rt->opts.env)
        rt->env = *rt->opts.env;
    if (!rt->env.now_ms)
        rt->env.now_ms = real_now;
    rt->clock.of_caller = rt->env.now_ms != real_now;
    if (!rt->env.mono_ms)
        rt->env.mono_ms = real_mono;
    if (!rt->env.random)
        rt->env.random = real_random;
}

bool env_has_real_clock(const pawl_runtime *rt)
{
    return rt->env.now_ms == real_now;
}

bool env_has_real_mono(const pawl_runtime *rt)
{
    return rt->env.mono_ms == real_mono;
}
