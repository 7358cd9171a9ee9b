/* SPDX-License-Identifier: MIT */
/* runtime/queue/queue_handle.h -- one request on a queue. [engine] */
#ifndef PAWL_RUNTIME_QUEUE_HANDLE_H
#define PAWL_RUNTIME_QUEUE_HANDLE_H

#include "runtime/core/runtime.h"
#include "runtime/queue/queue_desk.h"

void queue_handle(pawl_runtime *rt, struct queue_req *req);
void queue_put_off(pawl_runtime *rt, struct seat *s, struct queue_req *req);
/* A read failed, or waits for the commit (BUSY): put off, unless that cannot help. */
void queue_unread(pawl_runtime *rt, struct seat *s, struct queue_req *req, pawl_status why);
/* Try a pop.  *retwhy is OK and there is a verdict, BUSY: after the commit, or a failed read. */
enum queue_verdict queue_try_pop(pawl_runtime *rt, struct seat *s, struct queue_req *req,
                                 pawl_status *retwhy);
/* Answer now, or after the commit when the group changed this queue. */
void queue_answer(pawl_runtime *rt, struct seat *s, struct queue_req *req);
void queue_finish(struct queue_req *req, const pawl_queue_reply *reply); /* call back, free */
void queue_refuse(struct queue_req *req, pawl_status status, const char *text);

#endif
