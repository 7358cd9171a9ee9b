/* SPDX-License-Identifier: MIT */
/*
 * pawl/runtime_sizes.h -- the calls of pawl/runtime.h that are marked PAWL_SIZED (pawl/types.h).
 *
 * C and C++ programs get this with pawl/runtime.h and need not read it.  Code in other
 * languages calls the functions below: each is the call of that name, with the sizes of the
 * structs as the caller has declared them.  `ret` and the arrays are laid out by them.
 */
#ifndef PAWL_RUNTIME_SIZES_H
#define PAWL_RUNTIME_SIZES_H

#include "pawl/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_runtime_sizes {
    size_t size; /* of this table; an array whose size it lacks is not handed out */
    size_t code, stats, tally;
} pawl_runtime_sizes;

static const pawl_runtime_sizes pawl_runtime_sizes_here = {
    sizeof(pawl_runtime_sizes), sizeof(pawl_code), sizeof(pawl_stats), sizeof(pawl_tally)};

PAWL_API size_t pawl_app_code_sized(pawl_app *app, pawl_mem *mem, const pawl_code **ret,
                                    const pawl_runtime_sizes *sizes);
PAWL_API void pawl_runtime_stats_sized(pawl_runtime *rt, pawl_stats *ret,
                                       const pawl_runtime_sizes *sizes);
PAWL_API void pawl_runtime_counters_sized(pawl_runtime *rt, pawl_stats *ret,
                                          const pawl_runtime_sizes *sizes);
PAWL_API size_t pawl_runtime_tallies_sized(pawl_runtime *rt, pawl_mem *mem, const pawl_tally **ret,
                                           const pawl_runtime_sizes *sizes);

#ifndef PAWL_PLAIN

static inline size_t pawl_app_code(pawl_app *app, pawl_mem *mem, const pawl_code **ret)
{
    return pawl_app_code_sized(app, mem, ret, &pawl_runtime_sizes_here);
}

static inline void pawl_runtime_stats(pawl_runtime *rt, pawl_stats *ret)
{
    pawl_runtime_stats_sized(rt, ret, &pawl_runtime_sizes_here);
}

static inline void pawl_runtime_counters(pawl_runtime *rt, pawl_stats *ret)
{
    pawl_runtime_counters_sized(rt, ret, &pawl_runtime_sizes_here);
}

static inline size_t pawl_runtime_tallies(pawl_runtime *rt, pawl_mem *mem, const pawl_tally **ret)
{
    return pawl_runtime_tallies_sized(rt, mem, ret, &pawl_runtime_sizes_here);
}

#endif

#ifdef __cplusplus
}
#endif
#endif
