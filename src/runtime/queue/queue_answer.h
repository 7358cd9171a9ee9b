/* SPDX-License-Identifier: MIT */
/* runtime/queue/queue_answer.h -- answers to requests on queues, now, after the commit, or in the next pass. [engine] */
#ifndef PAWL_RUNTIME_QUEUE_ANSWER_H
#define PAWL_RUNTIME_QUEUE_ANSWER_H

#include "runtime/queue/queue_cache.h"

void queue_finish(struct queue_req *req, const pawl_queue_reply *reply); /* call back, free */
void queue_refuse(struct queue_req *req, pawl_status status, const char *text);
/* Answer now, or after the commit when the group changed this queue. */
void queue_answer(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req);
void queue_put_off(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req);
/* A read failed, or needs the commit first (BUSY): put the request off; refuse it for damage. */
void queue_unread(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req, pawl_status why);

#endif
