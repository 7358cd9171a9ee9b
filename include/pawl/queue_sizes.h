/* SPDX-License-Identifier: MIT */
/*
 * pawl/queue_sizes.h -- the calls of pawl/queue.h that are marked PAWL_SIZED (pawl/types.h).
 *
 * C and C++ programs get this with pawl/queue.h and need not read it.  Code in other
 * languages calls the functions below: each is the call of that name, with the sizes of the
 * structs as the caller has declared them.  `ret`, the arrays and the items of a push are laid
 * out by them.
 */
#ifndef PAWL_QUEUE_SIZES_H
#define PAWL_QUEUE_SIZES_H

#include "pawl/queue.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_queue_sizes {
    size_t size; /* of this table; an array whose size it lacks is not handed out */
    size_t item, reply, pushed, message, outcome, config;
    size_t stats, level, page, messages, locks, lock_info;
} pawl_queue_sizes;

static const pawl_queue_sizes pawl_queue_sizes_here = {
    sizeof(pawl_queue_sizes),    sizeof(pawl_queue_item),     sizeof(pawl_queue_reply),
    sizeof(pawl_queue_pushed),   sizeof(pawl_queue_message),  sizeof(pawl_queue_outcome),
    sizeof(pawl_queue_config),   sizeof(pawl_queue_stats),    sizeof(pawl_queue_level),
    sizeof(pawl_queue_page),     sizeof(pawl_queue_messages), sizeof(pawl_queue_locks),
    sizeof(pawl_queue_lock_info)};

PAWL_API pawl_status pawl_queue_submit_sized(pawl_client *c, const pawl_queue_request *request,
                                             pawl_queue_reply_fn *fn, void *arg, pawl_error *reterr,
                                             const pawl_queue_sizes *sizes) PAWL_MUST_USE;
PAWL_API pawl_status pawl_queue_call_sized(pawl_client *c, const pawl_queue_request *request,
                                           pawl_mem *mem, pawl_queue_reply *ret,
                                           const pawl_queue_sizes *sizes) PAWL_MUST_USE;
PAWL_API pawl_status pawl_client_push_sized(pawl_client *c, const char *queue, pawl_str data,
                                            const pawl_queue_item *opts, uint64_t *retid,
                                            pawl_error *reterr,
                                            const pawl_queue_sizes *sizes) PAWL_MUST_USE;
PAWL_API pawl_status pawl_client_pop_sized(pawl_client *c, const char *queue, int64_t wait_ms,
                                           pawl_mem *mem, pawl_queue_message *ret,
                                           pawl_error *reterr,
                                           const pawl_queue_sizes *sizes) PAWL_MUST_USE;
PAWL_API pawl_status pawl_client_pop_locked_sized(pawl_client *c, const char *queue, int64_t ttl_ms,
                                                  int64_t wait_ms, pawl_mem *mem,
                                                  pawl_queue_message *ret, pawl_error *reterr,
                                                  const pawl_queue_sizes *sizes) PAWL_MUST_USE;
PAWL_API pawl_status pawl_queue_get_stats_sized(pawl_client *c, const char *queue, pawl_mem *mem,
                                                pawl_queue_stats *ret, pawl_error *reterr,
                                                const pawl_queue_sizes *sizes) PAWL_MUST_USE;
PAWL_API pawl_status pawl_queue_get_config_sized(pawl_client *c, const char *queue, pawl_mem *mem,
                                                 pawl_queue_config *ret, pawl_error *reterr,
                                                 const pawl_queue_sizes *sizes) PAWL_MUST_USE;
PAWL_API pawl_status pawl_queue_list_sized(pawl_client *c, const char *prefix, const char *after,
                                           uint32_t limit, pawl_mem *mem, pawl_queue_page *ret,
                                           pawl_error *reterr,
                                           const pawl_queue_sizes *sizes) PAWL_MUST_USE;
PAWL_API pawl_status pawl_queue_browse_messages_sized(pawl_client *c, const char *queue,
                                                      const pawl_queue_browse *query, pawl_mem *mem,
                                                      pawl_queue_messages *ret, pawl_error *reterr,
                                                      const pawl_queue_sizes *sizes) PAWL_MUST_USE;
PAWL_API pawl_status pawl_queue_get_message_sized(pawl_client *c, const char *queue, uint64_t id,
                                                  pawl_mem *mem, pawl_queue_message *ret,
                                                  pawl_error *reterr,
                                                  const pawl_queue_sizes *sizes) PAWL_MUST_USE;
PAWL_API pawl_status pawl_queue_get_locks_sized(pawl_client *c, const char *queue, pawl_mem *mem,
                                                pawl_queue_locks *ret, pawl_error *reterr,
                                                const pawl_queue_sizes *sizes) PAWL_MUST_USE;
PAWL_API void pawl_queue_config_default_sized(pawl_queue_config *ret,
                                              const pawl_queue_sizes *sizes);

#ifndef PAWL_PLAIN

static inline pawl_status pawl_queue_submit(pawl_client *c, const pawl_queue_request *request,
                                            pawl_queue_reply_fn *fn, void *arg, pawl_error *reterr)
{
    return pawl_queue_submit_sized(c, request, fn, arg, reterr, &pawl_queue_sizes_here);
}

static inline pawl_status pawl_queue_call(pawl_client *c, const pawl_queue_request *request,
                                          pawl_mem *mem, pawl_queue_reply *ret)
{
    return pawl_queue_call_sized(c, request, mem, ret, &pawl_queue_sizes_here);
}

static inline pawl_status pawl_client_push(pawl_client *c, const char *queue, pawl_str data,
                                           const pawl_queue_item *opts, uint64_t *retid,
                                           pawl_error *reterr)
{
    return pawl_client_push_sized(c, queue, data, opts, retid, reterr, &pawl_queue_sizes_here);
}

static inline pawl_status pawl_client_pop(pawl_client *c, const char *queue, int64_t wait_ms,
                                          pawl_mem *mem, pawl_queue_message *ret,
                                          pawl_error *reterr)
{
    return pawl_client_pop_sized(c, queue, wait_ms, mem, ret, reterr, &pawl_queue_sizes_here);
}

static inline pawl_status pawl_client_pop_locked(pawl_client *c, const char *queue, int64_t ttl_ms,
                                                 int64_t wait_ms, pawl_mem *mem,
                                                 pawl_queue_message *ret, pawl_error *reterr)
{
    return pawl_client_pop_locked_sized(c, queue, ttl_ms, wait_ms, mem, ret, reterr,
                                        &pawl_queue_sizes_here);
}

static inline pawl_status pawl_queue_get_stats(pawl_client *c, const char *queue, pawl_mem *mem,
                                               pawl_queue_stats *ret, pawl_error *reterr)
{
    return pawl_queue_get_stats_sized(c, queue, mem, ret, reterr, &pawl_queue_sizes_here);
}

static inline pawl_status pawl_queue_get_config(pawl_client *c, const char *queue, pawl_mem *mem,
                                                pawl_queue_config *ret, pawl_error *reterr)
{
    return pawl_queue_get_config_sized(c, queue, mem, ret, reterr, &pawl_queue_sizes_here);
}

static inline pawl_status pawl_queue_list(pawl_client *c, const char *prefix, const char *after,
                                          uint32_t limit, pawl_mem *mem, pawl_queue_page *ret,
                                          pawl_error *reterr)
{
    return pawl_queue_list_sized(c, prefix, after, limit, mem, ret, reterr, &pawl_queue_sizes_here);
}

static inline pawl_status pawl_queue_browse_messages(pawl_client *c, const char *queue,
                                                     const pawl_queue_browse *query, pawl_mem *mem,
                                                     pawl_queue_messages *ret, pawl_error *reterr)
{
    return pawl_queue_browse_messages_sized(c, queue, query, mem, ret, reterr,
                                            &pawl_queue_sizes_here);
}

static inline pawl_status pawl_queue_get_message(pawl_client *c, const char *queue, uint64_t id,
                                                 pawl_mem *mem, pawl_queue_message *ret,
                                                 pawl_error *reterr)
{
    return pawl_queue_get_message_sized(c, queue, id, mem, ret, reterr, &pawl_queue_sizes_here);
}

static inline pawl_status pawl_queue_get_locks(pawl_client *c, const char *queue, pawl_mem *mem,
                                               pawl_queue_locks *ret, pawl_error *reterr)
{
    return pawl_queue_get_locks_sized(c, queue, mem, ret, reterr, &pawl_queue_sizes_here);
}

static inline pawl_queue_config pawl_queue_config_default(void)
{
    pawl_queue_config config;
    pawl_queue_config_default_sized(&config, &pawl_queue_sizes_here);
    return config;
}

#endif

#ifdef __cplusplus
}
#endif
#endif
