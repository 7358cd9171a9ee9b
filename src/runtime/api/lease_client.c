/* SPDX-License-Identifier: MIT */
/*
 * runtime/api/lease_client.c -- pawl/worker.h: polls, extensions, returns, from any thread.
 *
 * Whatever can be refused without the store is refused here, on the caller's thread; times
 * are clamped to their limits.  Any other call is copied into a struct lease_call and goes
 * through the inbox to lease_handle().
 *
 * Called by users with a client; in this tree by server/worker_calls.c.
 */
#include "base/fit.h"
#include "base/limits.h"
#include "base/misuse.h"
#include "runtime/core/gate.h"
#include "runtime/core/tray.h"
#include "runtime/work/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_MS 30000

static int64_t clamp(int64_t ms, int64_t otherwise, int64_t min, int64_t max)
{
    ms = ms ? ms : otherwise;
    return ms < min ? min : ms > max ? max : ms;
}

static pawl_status post(pawl_client *c, const struct lease_call *given,
                        const pawl_worker_sizes *sizes, struct lease_call **ret, pawl_error *err)
{
    pawl_worker_sizes known;
    *ret = NULL;
    if (!FIT_SIZES(&known, sizes, err))
        return PAWL_MISUSE;
    if (!gate_pass(c, GATE_WRITES, err))
        return err->status;
    *ret = calloc(1, sizeof(**ret));
    if (!*ret)
        return gate_no_memory(err);
    **ret = *given;
    (*ret)->item.kind = ITEM_LEASE;
    (*ret)->reply_bytes = known.reply;
    (*ret)->lease_bytes = known.lease;
    arena_init(&(*ret)->mem);
    return PAWL_OK;
}

static pawl_status send(pawl_client *c, struct lease_call *q, pawl_error *err)
{
    pawl_status rc = gate_post(c, &q->item, err);
    if (rc == PAWL_OK)
        return rc;
    arena_deinit(&q->mem);
    free(q);
    return rc;
}

static pawl_str *copy_words(struct lease_call *q, const char *const *words, size_t count)
{
    pawl_str *list = arena_array(&q->mem, pawl_str, count + 1);
    for (size_t i = 0; i < count; i++)
        list[i] = arena_dup(&q->mem, pawl_s(words[i]));
    return list;
}

static bool check_poll(const pawl_poll *poll, pawl_error *err)
{
    if (!poll->activity_count || poll->activity_count > PAWL_POLL_NAMES_MAX ||
        poll->tag_count > PAWL_POLL_NAMES_MAX || poll->max > PAWL_POLL_MAX) {
        error_set(err, PAWL_INVALID,
                  "a poll names 1 to %d activities, at most %d tags, and takes at most %d items",
                  PAWL_POLL_NAMES_MAX, PAWL_POLL_NAMES_MAX, PAWL_POLL_MAX);
        return false;
    }
    if (!poll->activities || (poll->tag_count && !poll->tags)) {
        error_set(err, PAWL_MISUSE, "a poll has a count of names and no names");
        return false;
    }
    for (size_t i = 0; i < poll->activity_count; i++) {
        if (!check_name("activity name", pawl_s(poll->activities[i]), err))
            return false;
        if (strcmp(poll->activities[i], ENGINE_INLINE) == 0) {
            error_set(err, PAWL_INVALID,
                      "'" ENGINE_INLINE "' is reserved: these steps go to the worker "
                      "that has their turn (pawl/turns.h)");
            return false;
        }
    }
    for (size_t i = 0; i < poll->tag_count; i++)
        if (!check_name("tag", pawl_s(poll->tags[i]), err))
            return false;
    if (poll->worker && strlen(poll->worker) > LIMIT_NAME_BYTES) {
        error_set(err, PAWL_LIMIT, "worker name is longer than %d bytes", LIMIT_NAME_BYTES);
        return false;
    }
    return true;
}

pawl_status pawl_worker_poll_sized(pawl_client *c, const pawl_poll *poll, pawl_worker_fn *fn,
                                   void *arg, pawl_error *reterr, const pawl_worker_sizes *sizes)
{
    pawl_error local = {0};
    pawl_error *err = reterr ? reterr : &local;
    struct lease_call *q = NULL, given = {.op = LEASE_POLL, .fn = fn, .arg = arg};
    pawl_poll room;
    if (!is_there(poll, "pawl_worker_poll", "a poll", err) ||
        !(poll = OPTIONS_OF(&room, poll, "pawl_poll", err)) || !check_poll(poll, err))
        return err->status;
    given.max = poll->max ? poll->max : 1;
    given.lock_ms = clamp(poll->lock_ms, DEFAULT_MS, PAWL_LEASE_MIN, PAWL_LEASE_MAX);
    given.wait_ms = clamp(poll->wait_ms, 0, 0, PAWL_POLL_WAIT_MAX);
    pawl_status rc = post(c, &given, sizes, &q, err);
    if (rc != PAWL_OK)
        return rc;
    assert_that(q);
    q->names = copy_words(q, poll->activities, poll->activity_count);
    q->name_count = poll->activity_count;
    q->tags = copy_words(q, poll->tags, poll->tag_count);
    q->tag_count = poll->tag_count;
    q->tray_count =
        tray_product(&q->mem, q->names, q->name_count, q->tags, q->tag_count, &q->trays);
    q->worker = arena_dup(&q->mem, pawl_s(poll->worker));
    return send(c, q, err);
}

pawl_status pawl_worker_poll(pawl_client *c, const pawl_poll *poll, pawl_worker_fn *fn, void *arg,
                             pawl_error *reterr)
{
    return pawl_worker_poll_sized(c, poll, fn, arg, reterr, &pawl_worker_sizes_here);
}

static pawl_status by_token(pawl_client *c, const char *token, const struct lease_call *given,
                            const pawl_worker_sizes *sizes, pawl_error *reterr)
{
    pawl_error local = {0};
    pawl_error *err = reterr ? reterr : &local;
    struct lease_call *q;
    pawl_status rc = post(c, given, sizes, &q, err);
    if (rc != PAWL_OK)
        return rc;
    assert_that(q);
    (void)snprintf(q->token, sizeof(q->token), "%s", token ? token : "");
    q->details = arena_dup(&q->mem, given->details);
    return send(c, q, err);
}

pawl_status pawl_worker_extend_sized(pawl_client *c, const char *token, int64_t lock_ms,
                                     pawl_worker_fn *fn, void *arg, pawl_error *reterr,
                                     const pawl_worker_sizes *sizes)
{
    struct lease_call q = {.op = LEASE_EXTEND, .fn = fn, .arg = arg};
    q.lock_ms = clamp(lock_ms, DEFAULT_MS, PAWL_LEASE_MIN, PAWL_LEASE_MAX);
    return by_token(c, token, &q, sizes, reterr);
}

pawl_status pawl_worker_extend(pawl_client *c, const char *token, int64_t lock_ms,
                               pawl_worker_fn *fn, void *arg, pawl_error *reterr)
{
    return pawl_worker_extend_sized(c, token, lock_ms, fn, arg, reterr, &pawl_worker_sizes_here);
}

pawl_status pawl_worker_beat_sized(pawl_client *c, const char *token, int64_t lock_ms,
                                   pawl_str details, pawl_worker_fn *fn, void *arg,
                                   pawl_error *reterr, const pawl_worker_sizes *sizes)
{
    struct lease_call q = {.op = LEASE_EXTEND, .fn = fn, .arg = arg, .details = details};
    q.lock_ms = clamp(lock_ms, DEFAULT_MS, PAWL_LEASE_MIN, PAWL_LEASE_MAX);
    pawl_error local = {0};
    pawl_error *err = reterr ? reterr : &local;
    if (is_odd(details)) {
        error_set(err, PAWL_MISUSE, "details have a length and no bytes");
        return PAWL_MISUSE;
    }
    if (!check_details(details, err))
        return err->status;
    return by_token(c, token, &q, sizes, reterr);
}

pawl_status pawl_worker_beat(pawl_client *c, const char *token, int64_t lock_ms, pawl_str details,
                             pawl_worker_fn *fn, void *arg, pawl_error *reterr)
{
    return pawl_worker_beat_sized(c, token, lock_ms, details, fn, arg, reterr,
                                  &pawl_worker_sizes_here);
}

pawl_status pawl_worker_abandon_sized(pawl_client *c, const char *token, int64_t delay_ms,
                                      pawl_worker_fn *fn, void *arg, pawl_error *reterr,
                                      const pawl_worker_sizes *sizes)
{
    struct lease_call q = {.op = LEASE_ABANDON, .fn = fn, .arg = arg};
    q.delay_ms = clamp(delay_ms, 0, 0, LIMIT_DELAY_MS);
    return by_token(c, token, &q, sizes, reterr);
}

pawl_status pawl_worker_abandon(pawl_client *c, const char *token, int64_t delay_ms,
                                pawl_worker_fn *fn, void *arg, pawl_error *reterr)
{
    return pawl_worker_abandon_sized(c, token, delay_ms, fn, arg, reterr, &pawl_worker_sizes_here);
}
