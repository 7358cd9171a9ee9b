/* SPDX-License-Identifier: MIT */
/*
 * fair/bucket.h -- limits and their buckets: places (concurrency) and tokens (rate).  Pure.
 *
 * The rate is GCRA (generic cell rate algorithm): a bucket has one number, the time at which it owes
 * nothing any more.  Each start moves that time by one interval; a start is allowed while the debt is
 * below `burst` intervals.  So any span of per_ms has at most count + burst starts, and only this
 * number must be stored.  When the clock was set back, the debt is cut to `burst` intervals.
 *
 * Called by fair.c, by runtime/work (handout.c, work_limits.c, limit_view.c) and by the tests.
 */
#ifndef PAWL_FAIR_BUCKET_H
#define PAWL_FAIR_BUCKET_H

#include "fair/fair.h"

enum fair_by { FAIR_BY_ALL, FAIR_BY_KEY, FAIR_BY_FIRST };

#define FAIR_MATCHES_MAX 16
#define FAIR_WEIGHTS_MAX 1000
#define FAIR_LIMITS_MAX  1000

struct fair_weight {
    pawl_str key;
    uint32_t weight;
};

/* What a limit says; texts are of the caller. */
struct fair_rule {
    pawl_str
        names[FAIR_MATCHES_MAX]; /* of activities (the first part of a class); may end in '*' */
    size_t name_count;
    enum fair_by by;
    uint32_t concurrency; /* 0: not limited */
    uint32_t rate_count;  /* 0: not limited */
    int64_t rate_per_ms;
    uint32_t rate_burst; /* starts at once; 0 is 1 */
    const struct fair_weight *weights;
    size_t weight_count;
};

struct fair_limit {
    pawl_str name; /* of the caller, as long as the limit; so are the texts of the rule */
    struct fair_rule rule;
    int64_t interval_us;                 /* between two starts; 0: no rate */
    struct map buckets;                  /* by key */
    uint64_t in_use, waiting, throttled; /* throttled: how often a tray began to wait for a token */
};

/* Trays of one class that wait for room in one bucket. */
struct fair_hang {
    struct fair_bucket *bucket;
    struct fair_class *class;
    struct heap trays;
    size_t awake; /* that were woken from here, and not taken yet */
    struct fair_hang *next;
};

struct fair_bucket {
    struct heap_node due;
    struct fair_limit *limit;
    pawl_str key; /* behind the struct */
    uint64_t in_use;
    int64_t free_us; /* GCRA: from then on it owes nothing */
    size_t trays;    /* that stand in it */
    uint64_t hanging;
    struct fair_hang *hangs;
    bool dirty;                     /* free_us is not what the caller wrote down; in f->dirty */
    bool stored;                    /* the caller wrote down something */
    struct fair_bucket *next_dirty; /* or the next of f->stale */
};

/* Does the limit match an activity?  Never one of ours (pawl.…). */
bool rule_matches(const struct fair_rule *rule, pawl_str activity);
/* The bucket's name for this key: "", the key, or its first level. */
pawl_str rule_key(const struct fair_rule *rule, pawl_str key);

/* Begin or change a limit; what is out stays out and counts, and debts stay.  `limit` is of the
 * caller, with name and rule filled in.  Returns the one that had this name; NULL: none. */
struct fair_limit *fair_limit_set(struct fair *f, struct fair_limit *limit);
/* Returns it, with its buckets gone; NULL: there is none. */
struct fair_limit *fair_limit_remove(struct fair *f, pawl_str name);
static inline struct fair_limit *fair_limit_find(const struct fair *f, pawl_str name)
{
    return (struct fair_limit *)map_gets(&f->limits, name);
}
/* Is the activity one that some limit names? */
bool fair_is_limited(const struct fair *f, pawl_str activity);
/* A debt that an earlier process wrote down. */
void fair_debt(struct fair *f, struct fair_limit *limit, pawl_str key, int64_t free_us);
/* What f->dirty has is written down. */
void fair_written(struct fair *f);
/* A bucket that was forgotten and whose debt is written down; the caller frees it.  NULL: none. */
struct fair_bucket *fair_take_stale(struct fair *f);

/* The first bucket that has no room for the tray now; NULL: all have. */
struct fair_bucket *fair_obstacle(const struct fair_tray *tray, int64_t now_us);
bool bucket_has_room(const struct fair_bucket *b, int64_t now_us);
/* When the next token is there, whatever the places; now_us: it is. */
int64_t bucket_next_us(const struct fair_bucket *b, int64_t now_us);

/* For fair.c. */
void tray_find_buckets(struct fair *f, struct fair_tray *tray);
void tray_leave_buckets(struct fair *f, struct fair_tray *tray);
void bucket_take(struct fair *f, struct fair_bucket *b, int64_t now_us);
/* The start that was paid for last did not happen. */
void bucket_refund(struct fair *f, struct fair_bucket *b);
void bucket_give(struct fair_bucket *b);
void bucket_forget_if_unused(struct fair *f, struct fair_bucket *b, int64_t now_us);
void tray_unhang(struct fair_tray *tray);
void tray_hang(struct fair *f, struct fair_tray *tray, struct fair_bucket *b, int64_t now_us);
/* Wake the trays that it has room for, or note when it will have room. */
void bucket_settle(struct fair *f, struct fair_bucket *b, int64_t now_us);
void tray_make_ready(struct fair *f, struct fair_tray *tray);

#endif
