/* SPDX-License-Identifier: MIT */
/* tests/scenario/queue_verbs.h -- short words for queues, on a scene. */
#ifndef PAWL_TESTS_QUEUE_VERBS_H
#define PAWL_TESTS_QUEUE_VERBS_H

#include "scene.h"

#include "pawl/queue.h"

/* As SCENARIO, on the stores that have queues. */
#define QUEUE_SCENARIO(name)                                                                       \
    static void scene_##name(struct scene *s);                                                     \
    SCENE_TEST(name, memory, SCENE_MEMORY)                                                         \
    SCENE_TEST(name, sqlite, SCENE_SQLITE)                                                         \
    SCENE_TEST(name, postgres, SCENE_POSTGRES)                                                     \
    static void scene_##name(struct scene *s)

/* Any request; the reply lives as long as the scene. */
pawl_queue_reply *queue_do(struct scene *s, const pawl_queue_request *request);
void q_push(struct scene *s, const char *queue, const char *data, int64_t priority);
void q_push_item(struct scene *s, const char *queue, pawl_queue_item item);
/* Data of what came, "a b c"; "" when empty; "locked" on CONFLICT. */
const char *q_pop(struct scene *s, const char *queue, uint32_t count);
/* Under a lock; its id, NULL when none was made; *retdata as q_pop. */
const char *q_lock(struct scene *s, const char *queue, uint32_t count, int64_t ttl_ms,
                   const char **retdata);
pawl_status q_settle(struct scene *s, pawl_queue_op op, const char *queue, const char *lock);
#define q_ack(s, queue, lock) q_settle((s), PAWL_QUEUE_ACK, (queue), (lock))
void q_config(struct scene *s, const char *queue, pawl_queue_config config);
pawl_queue_stats q_stats(struct scene *s, const char *queue);
/* "ready delayed locked locks" */
const char *q_counts(struct scene *s, const char *queue);
/* Everything in it in the order of delivery, as "data:state"; nothing is touched. */
const char *q_all(struct scene *s, const char *queue);
/* A pop handed in, not waited for. */
struct q_poll {
    bool done;
    pawl_status status;
    char data[64];
    char lock[16];
};
void q_poll(struct scene *s, const char *queue, int64_t wait_ms, bool ack, struct q_poll *p);

#define expect_str(a, b) ck_assert_str_eq((a), (b))

#endif
