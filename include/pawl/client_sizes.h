/* SPDX-License-Identifier: MIT */
/*
 * pawl/client_sizes.h -- the calls of pawl/client.h that are marked PAWL_SIZED (pawl/types.h).
 *
 * C and C++ programs get this with pawl/client.h and need not read it.  Code in other
 * languages calls the functions below: each is the call of that name, with the sizes of the
 * structs as the caller has declared them.  `ret` and the arrays are laid out by them.
 */
#ifndef PAWL_CLIENT_SIZES_H
#define PAWL_CLIENT_SIZES_H

#include "pawl/client.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_client_sizes {
    size_t size; /* of this table; an array whose size it lacks is not handed out */
    size_t reply, info, waiting, page, history, change;
} pawl_client_sizes;

static const pawl_client_sizes pawl_client_sizes_here = {
    sizeof(pawl_client_sizes), sizeof(pawl_reply),   sizeof(pawl_info),  sizeof(pawl_waiting),
    sizeof(pawl_page),         sizeof(pawl_history), sizeof(pawl_change)};

PAWL_API pawl_status pawl_client_start_sized(pawl_client *c, const char *orchestration,
                                             pawl_str input, const pawl_start_opts *opts,
                                             pawl_reply *ret,
                                             const pawl_client_sizes *sizes) PAWL_MUST_USE;
PAWL_API pawl_status pawl_client_remove_sized(pawl_client *c, const char *instance, bool force,
                                              pawl_reply *ret,
                                              const pawl_client_sizes *sizes) PAWL_MUST_USE;
PAWL_API pawl_status pawl_client_prune_sized(pawl_client *c, int64_t before_ms, uint32_t limit,
                                             pawl_reply *ret,
                                             const pawl_client_sizes *sizes) PAWL_MUST_USE;
PAWL_API pawl_status pawl_client_call_sized(pawl_client *c, const pawl_request *request,
                                            pawl_reply *ret,
                                            const pawl_client_sizes *sizes) PAWL_MUST_USE;
PAWL_API pawl_status pawl_client_submit_sized(pawl_client *c, const pawl_request *request,
                                              pawl_reply_fn *fn, void *arg, pawl_error *reterr,
                                              const pawl_client_sizes *sizes) PAWL_MUST_USE;
PAWL_API pawl_status pawl_client_get_sized(pawl_client *c, const char *instance,
                                           uint64_t execution_no, pawl_mem *mem, pawl_info *ret,
                                           pawl_error *reterr,
                                           const pawl_client_sizes *sizes) PAWL_MUST_USE;
PAWL_API pawl_status pawl_client_wait_sized(pawl_client *c, const char *instance,
                                            uint64_t execution_no, int64_t timeout_ms,
                                            pawl_mem *mem, pawl_info *ret, pawl_error *reterr,
                                            const pawl_client_sizes *sizes) PAWL_MUST_USE;
PAWL_API pawl_status pawl_client_list_sized(pawl_client *c, const pawl_filter *filter,
                                            pawl_mem *mem, pawl_page *ret, pawl_error *reterr,
                                            const pawl_client_sizes *sizes) PAWL_MUST_USE;
PAWL_API pawl_status pawl_client_history_sized(pawl_client *c, const char *instance,
                                               uint64_t execution_no, uint64_t after_seq,
                                               uint32_t limit, pawl_mem *mem, pawl_history *ret,
                                               pawl_error *reterr,
                                               const pawl_client_sizes *sizes) PAWL_MUST_USE;
PAWL_API uint64_t pawl_client_feed_sized(pawl_client *c, pawl_feed_fn *fn, void *arg,
                                         const pawl_client_sizes *sizes);

#ifndef PAWL_PLAIN

static inline pawl_status pawl_client_start(pawl_client *c, const char *orchestration,
                                            pawl_str input, const pawl_start_opts *opts,
                                            pawl_reply *ret)
{
    return pawl_client_start_sized(c, orchestration, input, opts, ret, &pawl_client_sizes_here);
}

static inline pawl_status pawl_client_remove(pawl_client *c, const char *instance, bool force,
                                             pawl_reply *ret)
{
    return pawl_client_remove_sized(c, instance, force, ret, &pawl_client_sizes_here);
}

static inline pawl_status pawl_client_prune(pawl_client *c, int64_t before_ms, uint32_t limit,
                                            pawl_reply *ret)
{
    return pawl_client_prune_sized(c, before_ms, limit, ret, &pawl_client_sizes_here);
}

static inline pawl_status pawl_client_call(pawl_client *c, const pawl_request *request,
                                           pawl_reply *ret)
{
    return pawl_client_call_sized(c, request, ret, &pawl_client_sizes_here);
}

static inline pawl_status pawl_client_submit(pawl_client *c, const pawl_request *request,
                                             pawl_reply_fn *fn, void *arg, pawl_error *reterr)
{
    return pawl_client_submit_sized(c, request, fn, arg, reterr, &pawl_client_sizes_here);
}

static inline pawl_status pawl_client_get(pawl_client *c, const char *instance,
                                          uint64_t execution_no, pawl_mem *mem, pawl_info *ret,
                                          pawl_error *reterr)
{
    return pawl_client_get_sized(c, instance, execution_no, mem, ret, reterr,
                                 &pawl_client_sizes_here);
}

static inline pawl_status pawl_client_wait(pawl_client *c, const char *instance,
                                           uint64_t execution_no, int64_t timeout_ms, pawl_mem *mem,
                                           pawl_info *ret, pawl_error *reterr)
{
    return pawl_client_wait_sized(c, instance, execution_no, timeout_ms, mem, ret, reterr,
                                  &pawl_client_sizes_here);
}

static inline pawl_status pawl_client_list(pawl_client *c, const pawl_filter *filter, pawl_mem *mem,
                                           pawl_page *ret, pawl_error *reterr)
{
    return pawl_client_list_sized(c, filter, mem, ret, reterr, &pawl_client_sizes_here);
}

static inline pawl_status pawl_client_history(pawl_client *c, const char *instance,
                                              uint64_t execution_no, uint64_t after_seq,
                                              uint32_t limit, pawl_mem *mem, pawl_history *ret,
                                              pawl_error *reterr)
{
    return pawl_client_history_sized(c, instance, execution_no, after_seq, limit, mem, ret, reterr,
                                     &pawl_client_sizes_here);
}

static inline uint64_t pawl_client_feed(pawl_client *c, pawl_feed_fn *fn, void *arg)
{
    return pawl_client_feed_sized(c, fn, arg, &pawl_client_sizes_here);
}

#endif

#ifdef __cplusplus
}
#endif
#endif
