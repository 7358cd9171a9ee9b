/* SPDX-License-Identifier: MIT */
/* runtime/queue/queue_client.h -- a call on a queue, copied for the engine. */
#ifndef PAWL_RUNTIME_QUEUE_CLIENT_H
#define PAWL_RUNTIME_QUEUE_CLIENT_H

#include "runtime/core/runtime.h"
#include "runtime/queue/queue_cache.h"

/* pawl_queue_submit() of an orchestration's activity: `fn` is called with the job. */
pawl_status queue_submit_job(pawl_client *c, const pawl_queue_request *request,
                             pawl_queue_reply_fn *fn, struct job *job, pawl_error *reterr);

#endif
