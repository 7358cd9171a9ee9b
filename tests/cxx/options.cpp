// SPDX-License-Identifier: MIT
// Every option macro of the public headers, with no field, one, and several; tests/cxx/cxx
// fails when a header has one that is missing here.
#include <pawl.h>
#include <pawl/backup.h>
#include <pawl/conformance.h>
#include <pawl/event.h>
#include <pawl/provider.h>
#include <pawl/queue.h>
#include <pawl/queue_store.h>
#include <pawl/replay.h>
#include <pawl/server.h>
#include <pawl/sim.h>
#include <pawl/test.h>
#include <pawl/worker.h>

#include <cstdio>
#include <cstring>

static int bad;

template <typename T> static const T *sized(const T *opts)
{
    if (opts->size != sizeof(T)) {
        std::printf("size is %zu, not %zu\n", opts->size, sizeof(T));
        bad = 1;
    }
    return opts;
}

static void is(bool ok, const char *what)
{
    if (!ok) {
        std::printf("FAILED %s\n", what);
        bad = 1;
    }
}

int main()
{
    is(!sized(PAWL_OPTIONS())->data, "nothing given is zero");
    is(sized(PAWL_OPTIONS(.data = "x", .workers = 3))->workers == 3, "options");
    is(sized(PAWL_REGISTER_OPTS(.stack_bytes = 65536))->stack_bytes == 65536, "register");
    is(sized(PAWL_CALL_OPTS(.attempts = 2, .tag = "t"))->attempts == 2, "call");
    is(!std::strcmp(sized(PAWL_CHILD_OPTS(.instance = "c"))->instance, "c"), "child");
    is(!std::strcmp(sized(PAWL_START_OPTS(.instance = "i"))->instance, "i"), "start");
    is(sized(PAWL_RAISE_OPTS(.await_start = true))->await_start, "raise");
    is(!std::strcmp(sized(PAWL_UPDATE_OPTS(.idempotency_key = "k"))->idempotency_key, "k"), "update");
    is(sized(PAWL_REQUEST(.op = PAWL_OP_CANCEL, .reason = "r"))->op == PAWL_OP_CANCEL, "request");
    is(sized(PAWL_FILTER(.limit = 7))->limit == 7, "filter");
    is(sized(PAWL_ASK_FILTER(.limit = 7, .event = "E"))->limit == 7, "asks");
    is(sized(PAWL_PUSH_OPTS(.priority = 3))->priority == 3, "push");
    is(sized(PAWL_QUEUE_REQUEST(.queue = "q"))->queue != nullptr, "queue request");
    is(sized(PAWL_QUEUE_BROWSE(.limit = 9))->limit == 9, "browse");
    is(sized(PAWL_REPLAY_OPTS())->size > 0, "replay");
    is(sized(PAWL_SERVER_OPTS())->size > 0, "server");
    is(sized(PAWL_SIM_OPTS())->size > 0, "sim");
    is(sized(PAWL_POLL())->size > 0, "poll");
    is(sized(PAWL_LIMIT_SPEC(.concurrency = 5, .rate_count = 2))->concurrency == 5, "limit");
    is(sized(PAWL_SCHEDULE(.every_ms = 1000, .queue = "q"))->every_ms == 1000, "schedule");
    is(sized(PAWL_STORE_OPTS())->size > 0, "store");
    pawl_ignore(pawl_json_count(pawl_s("[]"), ""));
    return bad;
}
