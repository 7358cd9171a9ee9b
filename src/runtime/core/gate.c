/* SPDX-License-Identifier: MIT */
/* runtime/core/gate.c -- see gate.h. */
#include "runtime/core/gate.h"

#include "base/limits.h"
#include "base/misuse.h"
#include "runtime/core/health.h"
#include "runtime/core/here.h"
#include "runtime/core/inbox.h"
#include "store/store.h"

/* clang-format off */
static const struct {
    const char *call;
    const char *on_fiber; /* what an orchestration uses instead */
} gates[] = {
    [GATE_READS] = {"a client call", "client calls are not for orchestrations: use an activity"},
    [GATE_WRITES] = {"a client call", "client calls are not for orchestrations: use an activity, a "
                                      "child or a detached start"},
    [GATE_QUEUE_READS] = {"a queue call", "queue calls of clients are not for orchestrations"},
    [GATE_QUEUE_WRITES] = {"a queue call", "queue calls of clients are not for orchestrations: use "
                                           "pawl_queue_push() or pawl_queue_pop()"},
};
/* clang-format on */

static bool refuse(pawl_error *err, const char *text)
{
    error_set(err, PAWL_MISUSE, "%s", text);
    return false;
}

bool gate_pass(pawl_client *c, enum gate gate, pawl_error *err)
{
    if (!is_there(c, gates[gate].call, "a client", err))
        return false;
    pawl_runtime *rt = c->rt;
    if (engine_on_fiber())
        return refuse(err, gates[gate].on_fiber);
    if (here_is_forked(rt, err))
        return false;
    if ((gate & GATE_WRITES) && rt->opts.read_only)
        return refuse(err, "this runtime was opened to look only");
    if ((gate & GATE_QUEUE_READS) && !rt->caps.queues) {
        error_set(err, PAWL_UNSUPPORTED,
                  "the %s store has no queues: use sqlite, postgres or memory",
                  store_name(rt->store));
        return false;
    }
    if ((gate & GATE_WRITES) && health_is_dead(rt)) {
        error_set(err, health_dead(rt), "the runtime has stopped: %s",
                  pawl_status_text(health_dead(rt)));
        return false;
    }
    return true;
}

bool gate_may_wait(pawl_client *c, pawl_error *err)
{
    if (engine_on_fiber())
        return true;
    if (!is_there(c, gates[GATE_READS].call, "a client", err) || here_is_forked(c->rt, err))
        return false;
    if (!here_is_engine(c->rt))
        return true;
    return refuse(err, "a blocking call inside a callback would wait for itself: submit it with a "
                       "callback of its own, or call from another thread");
}

pawl_status gate_post(pawl_client *c, struct item *item, pawl_error *err)
{
    if (inbox_post(c->rt, item))
        return PAWL_OK;
    error_set(err, PAWL_SHUTDOWN, "the runtime is closing");
    return PAWL_SHUTDOWN;
}

pawl_status gate_no_memory(pawl_error *err)
{
    error_set(err, PAWL_NO_MEMORY, "out of memory");
    return PAWL_NO_MEMORY;
}
