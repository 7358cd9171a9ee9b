/* SPDX-License-Identifier: MIT */
/*
 * server/queues.h -- the routes of the queues.
 *
 *   queue_submit.c   the way to the engine and back, and other things they share
 *   queues.c         push, pop, acknowledge: exactly the seed's bodies
 *   queue_admin.c    the other writing calls: extend, release, dead letter, purge, pause
 *   queue_manage.c   look, browse
 *   queue_config.c   configure
 */
#ifndef PAWL_SERVER_QUEUES_H
#define PAWL_SERVER_QUEUES_H

#include "pawl/queue.h"
#include "server/server.h"

void handle_push(struct call *c); /* queues.c */
void handle_pop(struct call *c);
void handle_ack(struct call *c);

void handle_extend(struct call *c); /* queue_admin.c */
void handle_release(struct call *c);
void handle_deadletter(struct call *c);
void handle_redrive(struct call *c);
void handle_purge(struct call *c);
void handle_pause(struct call *c);
void handle_unpause(struct call *c);
void handle_revoke(struct call *c);
void handle_remove_queue(struct call *c);

void handle_queues(struct call *c); /* queue_manage.c */
void handle_queue(struct call *c);
void handle_messages(struct call *c);
void handle_message(struct call *c);
void handle_locks(struct call *c);
/* Inside an array: the queues that the caller may see, at most `most`.  False: answered. */
bool queues_write(struct call *c, pawl_json *w, uint32_t most);

void handle_get_config(struct call *c); /* queue_config.c */
void handle_put_config(struct call *c);
void handle_patch_config(struct call *c);

/* ---- Shared: queue_submit.c, where nothing else is said ---------------------------- */

/* Submit; `write` makes the answer of a PAWL_OK reply on the engine thread, everything else
 * is answered as the seed does.  The queue is args[0]. */
void queue_submit(struct call *c, pawl_queue_request *request,
                  void (*write)(struct call *c, const pawl_queue_reply *reply), bool lingers);
/* The lock_id of the body; NULL: 400 was answered.  queues.c */
const char *queue_lock_id(struct call *c);
/* The message id in args[1]; false: 404 was answered.  queue_admin.c */
bool queue_message_id(struct call *c, uint64_t *ret);
/* Lock words of a status: HTTP status and message. */
void answer_lock_trouble(struct call *c, const pawl_queue_reply *reply);
/* The id of a message: its digits as a text. */
void write_id(pawl_json *w, uint64_t id);
/* `"key":1709139275.123`: seconds with a fraction, or null for 0. */
void write_seconds(pawl_json *w, const char *key, int64_t ms);
/* A number of seconds in the body, as milliseconds; -1: not given.  False: answered 400. */
bool read_seconds(struct call *c, pawl_str object, const char *key, int64_t min, int64_t max,
                  int64_t *retms);
/* `"key":n` */
void write_count(pawl_json *w, const char *key, uint64_t n);
/* {"success":true,"message":…} and an optional count. */
void answer_done(struct call *c, const char *message, const char *key, uint64_t count);
/* The members of a message, for pop with meta and for browsing. */
void write_message_members(pawl_json *w, const pawl_queue_message *m);
/* All settings of `queue`, as an object, with a warning if there is one.  queue_config.c */
void write_config(struct call *c, pawl_json *w, const char *queue, const pawl_queue_config *k,
                  pawl_str warning);
void write_warning(pawl_json *w, pawl_str warning);

/* clang-format off */
#define QUEUE_ROW(method, path, handler, scope, where, body, query, statuses, summary)            \
    ROUTE(method, path, handler, scope, where, body, FAMILY_QUEUE, query, statuses, summary)

#define QUEUE_ROUTES                                                                              \
    QUEUE_ROW("GET", "/queue", handle_queues, SCOPE_READ, ON_READER, BODY_NONE,                   \
              "prefix after limit", "200", "queues by name, with counts"),                        \
    QUEUE_ROW("GET", Q, handle_queue, SCOPE_READ, ON_READER, BODY_NONE, "", "200 404",            \
              "counts and configuration"),                                                        \
    QUEUE_ROW("DELETE", Q, handle_remove_queue, SCOPE_ADMIN, ON_LOOP, BODY_NONE, "force",         \
              "200 404 409", "remove an empty queue, or with force one that has messages"),       \
    QUEUE_ROW("POST", Q "/push", handle_push, SCOPE_OPERATE, ON_LOOP, &takes_push, "",              \
              "200 409 429 507", "push an item, or up to 1,000"),                                     \
    QUEUE_ROW("POST", Q "/pop", handle_pop, SCOPE_OPERATE, ON_LOOP, BODY_NONE,                    \
              "require_ack ttl_seconds count wait_seconds meta max_priority", "200 423",          \
              "pop items for good, or under a lock"),                                             \
    QUEUE_ROW("POST", Q "/acknowledge", handle_ack, SCOPE_OPERATE, ON_LOOP, &takes_ack, "",        \
              "200 207 404 410", "the items of a lock are done"),                                 \
    QUEUE_ROW("POST", Q "/extend-lock", handle_extend, SCOPE_OPERATE, ON_LOOP, &takes_extend, "",     \
              "200 404 410", "a later end for a lock"),                                           \
    QUEUE_ROW("POST", Q "/release", handle_release, SCOPE_OPERATE, ON_LOOP, &takes_release, "",        \
              "200 404 410", "give the items of a lock back"),                                    \
    QUEUE_ROW("POST", Q "/deadletter", handle_deadletter, SCOPE_OPERATE, ON_LOOP, &takes_deadletter, "",  \
              "200 404 410", "move the items of a lock to the dead letter queue"),                \
    QUEUE_ROW("POST", Q "/redrive", handle_redrive, SCOPE_OPERATE, ON_LOOP, &takes_redrive, "",    \
              "200", "move dead letters back where they came from"),                              \
    QUEUE_ROW("GET", Q "/messages", handle_messages, SCOPE_READ, ON_READER, BODY_NONE,            \
              "limit after priority state", "200 404", "browse without touching"),                    \
    QUEUE_ROW("GET", Q "/messages/{message}", handle_message, SCOPE_READ, ON_READER, BODY_NONE,   \
              "", "200 404", "one message"),                                                      \
    QUEUE_ROW("DELETE", Q "/messages/{message}", handle_revoke, SCOPE_OPERATE, ON_LOOP,           \
              BODY_NONE, "", "200 404 409", "revoke a message"),                                  \
    QUEUE_ROW("GET", Q "/locks", handle_locks, SCOPE_READ, ON_READER, BODY_NONE, "", "200 404",       \
              "live locks, their ids masked"),                                                    \
    QUEUE_ROW("POST", Q "/purge", handle_purge, SCOPE_ADMIN, ON_LOOP, &takes_purge, "", "200",   \
              "drop what is ready or delayed"),                                                   \
    QUEUE_ROW("POST", Q "/pause", handle_pause, SCOPE_OPERATE, ON_LOOP, &takes_nothing, "", "200", \
              "pops find nothing; pushes go on"),                                                 \
    QUEUE_ROW("POST", Q "/resume", handle_unpause, SCOPE_OPERATE, ON_LOOP, &takes_nothing, "",     \
              "200", "pops go on"),                                                               \
    QUEUE_ROW("GET", Q "/config", handle_get_config, SCOPE_READ, ON_READER, BODY_NONE, "", "200", \
              "the configuration"),                                                               \
    QUEUE_ROW("PUT", Q "/config", handle_put_config, SCOPE_ADMIN, ON_LOOP, &takes_config, "", "200",  \
              "replace the configuration"),                                                       \
    QUEUE_ROW("PATCH", Q "/config", handle_patch_config, SCOPE_ADMIN, ON_LOOP, &takes_config, "", "200", \
              "change some settings"),
/* clang-format on */

#endif
