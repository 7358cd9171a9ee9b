/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/queues.h -- queues under simulation (I16).
 *
 *   queue_calls.c   random calls of clients, and what their answers promise
 *   queue_look.c    every item and lock of the store, after every commit
 *
 * Every item has data of its own: "C<n>" pushed by a client, of any size, "H…" by an orchestration.  An item may
 * leave the store only when somebody had asked for that, and one that a plain pop took has to be
 * in the answer of a plain pop, unless that answer was lost.
 */
#ifndef PAWL_TESTS_SIM_QUEUES_H
#define PAWL_TESTS_SIM_QUEUES_H

#include "sim.h"

#include "pawl/queue.h"

#define QUEUE_COUNT 3 /* q0, q1, q2; q2 is bound to an orchestration at times */
#define QUEUE_CHARS 32
#define ITEM_CHARS  128
#define PUSH_MOST   12

/* What clients pushed, or meant to. */
struct qtoken {
    char queue[QUEUE_CHARS];
    char data[ITEM_CHARS]; /* in short */
    char group[4];         /* "": none */
    size_t bytes;          /* more than its name: filled up to so many */
    bool dedup;            /* has a dedup id: may be pushed again */
    bool acked;            /* some push of it was acknowledged */
    bool refused;          /* a push of it was refused */
    int under_way;         /* pushes of it not answered */
    int lost;              /* pushes of it whose answer was lost */
    uint64_t id;           /* of the first item made; 0: none known */
    int64_t enqueued;      /* when that was */
};

/* An item, as of the last look. */
struct qitem {
    uint64_t id;
    char queue[QUEUE_CHARS]; /* where it is, or was */
    char data[ITEM_CHARS];   /* in short */
    int state;
    int64_t priority, visible_ms, expires_ms, enqueued_ms;
    uint64_t place, lock; /* lock: number; 0: none */
    uint64_t lock_before; /* at the look before */
    uint32_t deliveries;
    bool seen;         /* was in the store at some look */
    bool there;        /* is, at the last one */
    bool listed;       /* in this look */
    bool ready_before; /* was ready in the look before, in the same queue */
    bool gone;         /* for good, and we know why */
    bool soft;         /* gone for a reason, or with a plain pop of this very commit */
    bool owed;         /* left with a plain pop: its answer has to name it */
    bool starts;       /* a bound queue made a start of it */
    bool moved;        /* and that found its id taken: it is a dead letter, another item */
};

struct qlock {
    uint64_t number;
    char id[PAWL_QUEUE_LOCK_CHARS + 1];
    char queue[QUEUE_CHARS];
    int64_t until_ms;
    bool there, listed, ended_now; /* ended_now: between the last two looks */
    bool known;                    /* a client was told its id */
    bool rests;                    /* no caller has it: its item waits for its next attempt */
};

/* A call on a queue. */
struct qop {
    struct sim *sim;
    struct node *node;
    pawl_queue_op op;
    char queue[QUEUE_CHARS];
    char lock[40];         /* ack, extend, release, deadletter */
    int tokens[PUSH_MOST]; /* push */
    int count;             /* push: of them */
    bool locked;           /* pop: require_ack */
    uint64_t message;
    enum op_result result;
};

/* A push recorded by an orchestration, by its data. */
struct qpush {
    char queue[QUEUE_CHARS];
    char data[ITEM_CHARS];
    int events; /* QueuePushed with this data */
    int mails;  /* on their way, in this look */
    int made;   /* items made of it */
    int owed; /* so often recorded, and not all of it seen: a pop's answer has to name it; 0: no */
};

struct queues {
    struct qtoken *tokens;
    size_t token_count, token_cap;
    struct qitem **items;
    size_t item_count, item_cap;
    struct qlock *locks;
    size_t lock_count, lock_cap;
    struct qop **ops;
    size_t op_count, op_cap;
    struct qpush *pushes;
    size_t push_count, push_cap;
    char (*acks)[40]; /* lock ids that orchestrations acknowledge */
    size_t ack_count, ack_cap;
    bool to_back[QUEUE_COUNT]; /* expire_to_back was configured once */
    bool buries[QUEUE_COUNT];  /* max_deliveries or dead_letter_expired was */
    bool bound;                /* q2 was bound once */
    bool lined[QUEUE_COUNT];   /* groups count, as of this look and the one before */
    bool was_lined[QUEUE_COUNT];
    bool code_pops; /* some orchestration pops */
};

struct qitem *queue_item(struct queues *q, uint64_t id); /* NULL: not known */
struct qitem *queue_item_new(struct queues *q, uint64_t id);
struct qlock *queue_lock_by_id(struct queues *q, pawl_str id); /* LOCK or LOCK.ITEM */
/* Is such a call under way, on the node that owns the store? */
bool queue_under_way(const struct sim *s, pawl_queue_op op, const char *queue);
bool queue_plain_pop(const struct sim *s, const char *queue, enum op_result result);
/* What is remembered of an item's data: all of it, or its beginning, length and some of the rest. */
void queue_short(pawl_str data, char to[ITEM_CHARS]);
bool queue_same(pawl_str data, const char *in_short);
/* The instance a bound queue started for it, or the one that has its id; NULL: none. */
const struct seen *queue_started(const struct sim *s, const struct qitem *m);
/* lines.c: the group of an item; "": none. */
const char *line_group(const struct sim *s, const struct qitem *m);
/* A queue as it is stored; everything is seen; may this ready item wait for its group? */
void line_config(struct sim *s, const pawl_queue_row *row);
void lines_look(struct sim *s);
bool line_waits(const struct sim *s, const struct qitem *m);
/* An item was given out by this pop. */
void line_popped(struct sim *s, const struct qop *op, const struct qitem *m);
/* An item was made of this data. */
void queue_made(struct sim *s, struct qitem *m);

#endif
