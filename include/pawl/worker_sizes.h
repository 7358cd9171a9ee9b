/* SPDX-License-Identifier: MIT */
/*
 * pawl/worker_sizes.h -- the calls of pawl/worker.h that are marked PAWL_SIZED (pawl/types.h).
 *
 * C and C++ programs get this with pawl/worker.h and need not read it.  Code in other
 * languages calls the functions below: each is the call of that name, with the sizes of the
 * structs as the caller has declared them.  `ret` and the arrays are laid out by them.
 */
#ifndef PAWL_WORKER_SIZES_H
#define PAWL_WORKER_SIZES_H

#include "pawl/worker.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_worker_sizes {
    size_t size; /* of this table; an array whose size it lacks is not handed out */
    size_t reply, lease, page, info, held;
} pawl_worker_sizes;

static const pawl_worker_sizes pawl_worker_sizes_here = {
    sizeof(pawl_worker_sizes), sizeof(pawl_worker_reply), sizeof(pawl_lease),
    sizeof(pawl_worker_page),  sizeof(pawl_worker_info),  sizeof(pawl_held)};

PAWL_API pawl_status pawl_worker_poll_sized(pawl_client *c, const pawl_poll *poll,
                                            pawl_worker_fn *fn, void *arg, pawl_error *reterr,
                                            const pawl_worker_sizes *sizes) PAWL_MUST_USE;
PAWL_API pawl_status pawl_worker_extend_sized(pawl_client *c, const char *token, int64_t lock_ms,
                                              pawl_worker_fn *fn, void *arg, pawl_error *reterr,
                                              const pawl_worker_sizes *sizes) PAWL_MUST_USE;
PAWL_API pawl_status pawl_worker_beat_sized(pawl_client *c, const char *token, int64_t lock_ms,
                                            pawl_str details, pawl_worker_fn *fn, void *arg,
                                            pawl_error *reterr,
                                            const pawl_worker_sizes *sizes) PAWL_MUST_USE;
PAWL_API pawl_status pawl_worker_abandon_sized(pawl_client *c, const char *token, int64_t delay_ms,
                                               pawl_worker_fn *fn, void *arg, pawl_error *reterr,
                                               const pawl_worker_sizes *sizes) PAWL_MUST_USE;
PAWL_API pawl_status pawl_worker_list_sized(pawl_client *c, pawl_mem *mem, pawl_worker_page *ret,
                                            pawl_error *reterr,
                                            const pawl_worker_sizes *sizes) PAWL_MUST_USE;

#ifndef PAWL_PLAIN

static inline pawl_status pawl_worker_poll(pawl_client *c, const pawl_poll *poll,
                                           pawl_worker_fn *fn, void *arg, pawl_error *reterr)
{
    return pawl_worker_poll_sized(c, poll, fn, arg, reterr, &pawl_worker_sizes_here);
}

static inline pawl_status pawl_worker_extend(pawl_client *c, const char *token, int64_t lock_ms,
                                             pawl_worker_fn *fn, void *arg, pawl_error *reterr)
{
    return pawl_worker_extend_sized(c, token, lock_ms, fn, arg, reterr, &pawl_worker_sizes_here);
}

static inline pawl_status pawl_worker_beat(pawl_client *c, const char *token, int64_t lock_ms,
                                           pawl_str details, pawl_worker_fn *fn, void *arg,
                                           pawl_error *reterr)
{
    return pawl_worker_beat_sized(c, token, lock_ms, details, fn, arg, reterr,
                                  &pawl_worker_sizes_here);
}

static inline pawl_status pawl_worker_abandon(pawl_client *c, const char *token, int64_t delay_ms,
                                              pawl_worker_fn *fn, void *arg, pawl_error *reterr)
{
    return pawl_worker_abandon_sized(c, token, delay_ms, fn, arg, reterr, &pawl_worker_sizes_here);
}

static inline pawl_status pawl_worker_list(pawl_client *c, pawl_mem *mem, pawl_worker_page *ret,
                                           pawl_error *reterr)
{
    return pawl_worker_list_sized(c, mem, ret, reterr, &pawl_worker_sizes_here);
}

#endif

#ifdef __cplusplus
}
#endif
#endif
