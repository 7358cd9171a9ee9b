/* SPDX-License-Identifier: MIT */
/* runtime/queue/queue_activities.c -- see queue_activities.h. */
#include "runtime/queue/queue_activities.h"

#include "runtime/core/registry.h"
#include "runtime/queue/queue_client.h"
#include "runtime/work/activity.h"
#include "runtime/work/jobs.h"

static void put_item(pawl_json *w, pawl_str data)
{
    if (pawl_json_valid(data, NULL))
        pawl_json_raw(w, data);
    else
        pawl_json_str(w, data);
}

static pawl_str popped_json(pawl_mem *mem, const pawl_queue_reply *r)
{
    const pawl_queue_message *m = &r->messages[0];
    pawl_json *w = pawl_json_new(mem);
    pawl_json_object(w);
    pawl_json_key(w, "item");
    put_item(w, m->data);
    pawl_json_key(w, "lock_id");
    pawl_json_str(w, r->lock_id);
    pawl_json_key(w, "id");
    pawl_json_num(w, (int64_t)m->id);
    pawl_json_key(w, "priority");
    pawl_json_num(w, m->priority);
    pawl_json_end(w);
    return pawl_json_done(w);
}

/* An answer of the queue is a result.  Trouble of the process is none: the call is made again. */
static bool is_answer(pawl_status status)
{
    return status == PAWL_OK || status == PAWL_CONFLICT || status == PAWL_LOST ||
           status == PAWL_INVALID || status == PAWL_NOT_FOUND || status == PAWL_LIMIT ||
           status == PAWL_UNSUPPORTED || status == PAWL_CORRUPT;
}

/* Called after the commit, or when the runtime ends: then the next process makes the call again. */
static void answered(void *arg, const pawl_queue_reply *r)
{
    struct job *job = arg;
    pawl_mem mem;
    arena_init(&mem);
    if (r->status == PAWL_SHUTDOWN || r->status == PAWL_UNKNOWN)
        job_free(job);
    else if (!is_answer(r->status))
        activity_answer(job->rt, job, JOB_SKIPPED, (pawl_str){0});
    else if (r->status == PAWL_CONFLICT && r->locked_until_ms) /* others have the lock */
        activity_answer(job->rt, job, JOB_OK, pawl_s("null"));
    else if (r->status != PAWL_OK)
        activity_answer(job->rt, job, JOB_ERR, pawl_s(r->error.text));
    else if (r->outcome_count)
        activity_answer(job->rt, job, JOB_OK, pawl_s("true"));
    else
        activity_answer(job->rt, job, JOB_OK,
                        r->message_count ? popped_json(&mem, r) : pawl_s("null"));
    arena_deinit(&mem);
}

static pawl_result hand_in(pawl_activity *act, pawl_queue_request *request, pawl_str input)
{
    pawl_mem *mem = pawl_activity_mem(act);
    pawl_error err;
    request->size = sizeof(*request);
    request->queue = pawl_json_text(mem, input, "/queue", "").ptr;
    pawl_status rc =
        queue_submit_job(pawl_activity_client(act), request, answered, activity_job(act), &err);
    if (rc == PAWL_OK)
        return activity_away(act);
    return is_answer(rc) ? pawl_err(act, err.text) : activity_skip(act);
}

static pawl_result pop_activity(pawl_activity *act, pawl_str input)
{
    pawl_queue_request request = {.op = PAWL_QUEUE_POP,
                                  .require_ack = true,
                                  .key = pawl_activity_key(act),
                                  .ttl_ms = pawl_json_int(input, "/ttl_ms", 0),
                                  .wait_ms = pawl_json_int(input, "/wait_ms", 0)};
    return hand_in(act, &request, input);
}

static pawl_result ack_activity(pawl_activity *act, pawl_str input)
{
    const char *lock = pawl_json_text(pawl_activity_mem(act), input, "/lock_id", "").ptr;
    pawl_queue_request request = {
        .op = PAWL_QUEUE_ACK, .lock_ids = &lock, .lock_count = 1, .key = pawl_activity_key(act)};
    return hand_in(act, &request, input);
}

bool queue_register_activities(pawl_app *app)
{
    return pawl_app_has_activity(app, ENGINE_QUEUE_ACK) ||
           (registry_add_activity(app, ENGINE_QUEUE_POP, pop_activity, NULL) != PAWL_NO_MEMORY &&
            registry_add_activity(app, ENGINE_QUEUE_ACK, ack_activity, NULL) != PAWL_NO_MEMORY);
}
