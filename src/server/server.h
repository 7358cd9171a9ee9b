/* SPDX-License-Identifier: MIT */
/*
 * server/server.h -- the parts of the HTTP server and their owners.
 *
 *   LOOP THREAD (server_loop.c)                        READER THREADS (reader.c)
 *   src/http, one epoll ──────▶ routes ─▶ handler ──── slow reads ───▶ same handler
 *        ▲                                │ submit                        │
 *        │ eventfd, list of calls         ▼                               │
 *        └──────────────── engine thread: reply after the commit ◀─────── ┘
 *
 * A *call* is one HTTP request and its answer.  It is with exactly one thread at
 * a time: with the loop, or *away* (its connection not read) with a reader,
 * the engine, or a list of waiting calls.  call_done() brings it back; only the
 * loop touches connections.  A 2xx is sent after the commit it reports.
 */
#ifndef PAWL_SERVER_SERVER_H
#define PAWL_SERVER_SERVER_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/map.h"
#include "http/httpd.h"
#include "pawl.h"
#include "pawl/server.h"
#include "server/call.h"
#include "server/shape.h"

#include <pthread.h>
#include <stdatomic.h>

struct census;
struct series;
struct shared_text;

#define METRICS_BUCKETS 15 /* of the time that answers take */

#define READERS         3                 /* threads */
#define PAGE_BYTES      ((size_t)4 << 20) /* of data in one answer: then it ends with a `next` */

/* Calls that wait for a reader. */
struct reader_line {
    struct call *first, *last;
};

/* See recent.c. */
struct recents {
    struct map map; /* id -> struct recent */
    struct recent *oldest, *newest;
    size_t count, bytes; /* entries; of the bodies kept */
};

struct pawl_server {
    pawl_runtime *rt;
    pawl_client *client;
    pawl_server_opts opts; /* defaults filled in; strings owned by mem */
    pawl_mem *mem;
    struct logger log;
    bool needs_token, has_tls;
    uint32_t per_address; /* connections of one address; 0: no limit */
    const char *host;     /* listened on, as in a Host header, without port */
    unsigned port;
    const char *url;
    int64_t started_ms; /* wall clock */

    /* loop */
    struct httpd *httpd;
    int listen_fd; /* until httpd has it */
    pthread_t thread;
    struct heap times;
    uint64_t tie;
    size_t away, parked, lingering; /* calls away; of these, parked, lingering */
    struct call *spare;             /* to be used again */
    size_t spare_count;
    atomic_bool draining;
    atomic_bool reload;             /* look at the tokens again */
    atomic_ullong rounds;           /* of the loop */
    unsigned long long rounds_seen; /* by pawl_server_healthy(), which */
    bool was_asked;

    /* which thread runs the loop, and the engine: stand_in.c */
    pthread_mutex_t loop_lock; /* held by the thread that runs the loop */
    bool may_work;             /* under `lock`: the runtime is there, and lends */
    bool at_engine;            /* under `lock`: the loop works for it */
    bool stands_in;            /* under `loop_lock`: it is the other thread */
    atomic_bool has_work;      /* requests on queues were handed in, or wait for the loop */
    atomic_ullong visit;       /* to the engine, counted; odd: it is there now */
    pthread_t stand_in;
    bool has_stand_in;
    pthread_cond_t watch_wake;
    atomic_bool watch_asleep;
    bool watch_stop; /* under `lock` */

    /* coming back, and waiting for an instance: any thread */
    pthread_mutex_t lock;
    struct call *back, **back_end;
    bool sleeps;               /* the loop: a call that comes back wakes it */
    struct map waiting;        /* instance id -> struct call, linked by wait.next */
    struct map state_waiting;  /* the same, for a change of its published state */
    struct map update_waiting; /* the same, for the answer of an update */
    struct map begin_waiting;  /* the same, until there is such an instance */
    struct recents recents;
    pawl_mem *feed_mem; /* [engine] scratch of the feed */
    uint64_t feed;
    pthread_cond_t quiet; /* nothing is under way any more */
    bool is_quiet;

    bool has_thread;

    /* readers */
    pthread_t readers[READERS];
    unsigned reader_count;
    pthread_mutex_t read_lock; /* guards the five below */
    pthread_cond_t read_wake;
    struct reader_line reads,
        late; /* `late`: clients that may be gone; served last, by one reader */
    bool late_busy;
    bool read_stop;
    size_t untaken;          /* bytes of large answers that the loop has not taken yet */
    atomic_ullong n_dropped; /* requests of clients that were gone before anything was done */

    struct streams *streams;              /* stream.c */
    struct census *census;                /* census.c */
    struct series *series;                /* series.c */
    struct shared_text *overview, *waits; /* overview.c */
    atomic_ullong changes; /* commits that were told, after everything else knows them */
    struct tokens *tokens; /* tokens.c */
    atomic_ullong n_requests, n_status[6];
    atomic_ullong n_took[METRICS_BUCKETS], took_us; /* how long answers took; see metrics.c */
};

/* ---- server_loop.c ------------------------------------------------------------------ */

/* The HTTP server, listening; then its thread. */
bool loop_open(pawl_server *s, pawl_error *reterr);
bool loop_start(pawl_server *s);
void loop_stop(pawl_server *s);
/* [loop]  It waits, without a thread, until the tokens are read, for a limited time. */
void call_await_tokens(struct call *c, void (*on_back)(struct call *c));
/* Any thread: the call has its answer, or its on_back can make it. */
void call_done(struct call *c);
/* The same; `more`: this thread calls it again at once for another call, of any server. */
void call_done_more(struct call *c, bool more);
/* The same under srv->lock; true: loop_wake() afterwards. */
bool call_back(struct call *c);
/* [loop] The call belongs to another thread from now on. */
void call_away(struct call *c);
/* [loop] The same, and no thread works on it: until call_done() or the end of its time. */
void call_park(struct call *c, int64_t until_mono_ms);
/* [loop] As call_away(), and it may take long: stopping does not wait for it. */
void call_linger(struct call *c);
/* [loop] A parked call comes back now, as if its time were over. */
void call_unpark(struct call *c);
/* [loop] Its client is lost: no answer is made.  (The status is for the metrics.) */
void call_drop(struct call *c);
/* [loop] The token of a call that waits or listens is void: it ends. */
void call_revoke(struct call *c);
/* Any thread: let the loop look around. */
void loop_wake(pawl_server *s);

/* ---- stand_in.c --------------------------------------------------------------- */

bool stand_in_start(pawl_server *s);
/* The runtime is about to go: the loop does not work for it any more. */
void stand_in_rest(pawl_server *s);
void stand_in_stop(pawl_server *s);
/* [loop] Hand in what was batched, and commit it here if that is allowed; true: call it again. */
bool stand_in_work(pawl_server *s);

/* ---- metrics.c -------------------------------------------------------------- */

/* [loop] The answer goes out. */
void metrics_answered(struct call *c);

/* ---- reader.c ---------------------------------------------------------------- */

bool reader_start(pawl_server *s);
void reader_stop(pawl_server *s);
/* [loop] Let a reader do this, then the call comes back; or it is answered: stopping. */
void reader_post(struct call *c, void (*read)(struct call *c));
/* [loop] Its client is lost; true: no reader has or will have it. */
bool reader_drop(struct call *c);
/* [loop] Its client may be gone: others first. */
void reader_put_off(struct call *c);
/* [loop] The call is back: its answer counts as taken. */
void reader_taken(struct call *c);
/* [reader] The call was given to another thread, which brings it back: it may be gone already. */
void reader_keep(void);

/* ---- routes.c ------------------------------------------------------------------ */

enum family { FAMILY_API, FAMILY_QUEUE };
enum where { ON_LOOP, ON_READER };

struct route {
    const char *method;
    const char *path; /* "/api/v1/instances/{id}" */
    const char *name; /* of the handler: "handle_get" */
    void (*handle)(struct call *c);
    enum token_scope scope;
    enum where where;
    const struct shape *body; /* BODY_NONE: it takes none */
    enum family family;
    const char *query;    /* names of its parameters, space-separated */
    const char *statuses; /* that it may answer, beside the general ones */
    const char *summary;
    pawl_op op; /* of handle_steer() */
};

#define ROUTE(method, path, handler, scope, where, body, family, query, statuses, summary)         \
    {                                                                                              \
        method, path, #handler, handler, scope, where, body, family, query, statuses, summary, 0   \
    }

extern const struct route server_routes[]; /* ends with a row without a method */
/* Find the route of the head's method and target, fill in args; false: the answer is there. */
bool route_find(struct call *c);
/* Is it a parameter of the route? */
bool route_takes(const struct route *r, pawl_str name);

/* ---- guard.c -------------------------------------------------------------------- */

/* Host, framing, origin, token: false, and the answer is there.  With `unjudged` set the tokens are
 * being read, and guard_judge() looks at it again; it may still be set then. */
bool guard_check(struct call *c);
bool guard_judge(struct call *c);
/* May the token of this call see the queue? */
bool guard_sees(const struct call *c, pawl_str queue);
bool guard_sees_all(const struct call *c); /* every queue */
/* The same; false, and the answer is there. */
bool guard_queue(struct call *c, const char *queue);
bool guard_is_loopback(const char *host);
/* Is the Origin of the request ours? */
bool guard_is_our_origin(const struct call *c);
/* 503: tokens cannot be read. */
void guard_refuse_unreadable(struct call *c);
/* Does a load balancer or supervisor ask whether we are alive?  It knows no names and has habits
 * of its own: any Host, or none, and any query. */
bool guard_is_probe(const struct call *c);

/* ---- tokens.c --------------------------------------------------------------------- */

struct tokens *tokens_open(const char *file, const struct logger *log, pawl_server *s);
void tokens_close(struct tokens *t);
/* Is there any?  False, and *reterr is set: they cannot be read.  Waits for a store. */
bool tokens_exist(struct tokens *t, pawl_error *reterr);
enum tokens_answer {
    TOKENS_READ,
    TOKENS_UNREADABLE,
    TOKENS_COMING /* they are being read: ask again later */
};
/* The scope of a token, SCOPE_PUBLIC: not valid; and the call knows what else it may. */
enum tokens_answer tokens_check(struct tokens *t, const char *token, struct call *c,
                                enum token_scope *ret);
/* A call that is parked goes on when they are read; it does not wait for that any more.  Only for
 * server_loop.c. */
void tokens_await(struct call *c);
void tokens_await_no_more(struct call *c);
void tokens_go_on(struct tokens *t);
/* The next look reads the file, whether it seems to have changed or not. */
void tokens_look_again(struct tokens *t);
/* A call with a token begins to wait or listen; it ends.  In any order, any number of times. */
void tokens_hold(struct call *c);
void tokens_let_go(struct call *c);
/* Ends open calls whose token was revoked (call_revoke); returns the time of the next look. */
int64_t tokens_tick(struct tokens *t, int64_t now_ms);
void sha256(const void *data, size_t n, uint8_t out[32]);

/* ---- recent.c: instances started here lately; under srv->lock ------------------------- */

enum recent_state { RECENT_UNKNOWN, RECENT_ALIVE, RECENT_ENDED };
/* It was started: from now on its end will be told. */
void recent_started(struct recents *t, pawl_str id);
/* It ended like this, and no call waits yet. */
void recent_ended(struct recents *t, pawl_str id, pawl_str body);
/* With ENDED its body is copied to mem. */
enum recent_state recent_look(struct recents *t, pawl_str id, pawl_mem *mem, pawl_str *retbody);
bool recent_is_alive(const struct recents *t, pawl_str id);
void recent_forget(struct recents *t, pawl_str id);
void recents_init(struct recents *t);
void recents_reset(struct recents *t);
void recents_deinit(struct recents *t);

/* ---- instance_wait.c ------------------------------------------------------------------------ */

/* [engine] A start was answered: a wait for it need not look. */
void wait_started(pawl_server *s, const char *instance);
/* [engine] Instances were removed, and that is about to be answered. */
void wait_removed(pawl_server *s);
/* The commit feed: calls that wait for one of these come back. */
void wait_feed(void *arg, const pawl_change *changes, size_t count);
/* No thread will bring it back: out of the list of its instance. */
void wait_leave(struct call *c);
/* Into the list of its instance, under the lock. */
void wait_hang(struct call *c, struct map *list);
/* [loop] A reader found nothing to answer: sleep until the feed or the end of its time calls
 * `again`; at once when the feed came meanwhile. */
void wait_sleep(struct call *c, void (*again)(struct call *c));

/* ---- long_poll.c ---------------------------------------------------------------------------- */

/* Look, and sleep until a commit or the end of its time.  A reader's `look` that has an answer calls
 * wait_leave(), sets on_back to NULL and answers. */
void poll_until(struct call *c, struct long_poll poll, int64_t until_mono_ms);
/* Under the lock: calls that wait for this instance look again.  True: the loop must be woken. */
bool poll_tell(struct map *list, const pawl_change *change);

#endif
