/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/sim.h -- deterministic simulation: one seed, one life of a store.
 *
 *   plan.c     the seed becomes a plan: sizes, options, which faults how often
 *   program.c  random workflow programs, as text
 *   interp.c   the one orchestration that runs them, and the activities
 *   node.c     a runtime on the shared store: open, crash, restart, code versions
 *   faults.c   virtual clocks, the fault decorator's decisions, duplicates
 *   driver.c   client calls, and what was acknowledged
 *   check.c    histories against what was seen before (I1-I4, I8, I9, I11, I13 …)
 *   ledger.c   events against what code saw (I21)
 *   rows.c     messages and work against histories (I5, I6, I12), replay (I10)
 *   queues.h   queues: calls, answers, items and locks (I16)
 *   lines.c    groups of queues (I38)
 *   workers.c  workers outside: leases, results by token
 *   turned.c   workers that run orchestrations (I36)
 *   served.c  updates and their answers (I37)
 *   labels.c   the shard of every row (I39)
 *   schedules.c  schedules and their runs (I24, I25)
 *   busy.c     instances that never rest, callbacks that misbehave (L10, L11)
 *   oncancel.c activities that are cancelled while they run (L12)
 *   memory.c   steps in which an allocation fails
 *   world.c    one seed: safety phase, heal phase, liveness
 *   run.h      many seeds, in child processes; shrinking; reports; the command line
 *
 * Everything is one thread and a function of the plan.  A violation prints one
 * line and ends the process (sim_fail), so nothing has to unwind; the parent
 * goes on with the next seed.
 */
#ifndef PAWL_TESTS_SIM_SIM_H
#define PAWL_TESTS_SIM_SIM_H

#include "base/attr.h"
#include "base/map.h"
#include "pawl.h"
#include "pawl/provider.h"
#include "store/fault/fault.h"

#include <stdio.h>

/* ---- prng.c: split streams, so that shrinking one leaves the others ------------- */

struct prng {
    uint64_t state;
};

struct prng prng_split(uint64_t seed, const char *stream);
uint64_t prng_next(struct prng *r);
uint64_t prng_below(struct prng *r, uint64_t n); /* 0 .. n-1; n = 0 gives 0 */
int64_t prng_between(struct prng *r, int64_t low, int64_t high);
bool prng_chance(struct prng *r, unsigned permille);
uint64_t hash_bytes(uint64_t h, const void *data, size_t n);
uint64_t hash_number(uint64_t h, uint64_t n);
uint64_t hash_str(uint64_t h, pawl_str s);

/* ---- plan.c ------------------------------------------------------------------------ */

/* X(name): fault sites, each with a rate in permille; --off NAME sets it to 0. */
#define SIM_SITES(X)                                                                               \
    X(commit_before)  /* BUSY, DISK_FULL, UNAVAILABLE, NO_MEMORY */                                \
    X(commit_unknown) /* done, or not, and reported UNKNOWN */                                     \
    X(read)           /* find, history, messages … UNAVAILABLE */                                \
    X(fetch)          /* fetches and next_due UNAVAILABLE */                                       \
    X(purge)                                                                                       \
    X(space)     /* the disk is full: new work refused */                                          \
    X(crash)     /* between two steps */                                                           \
    X(point)     /* at a named place inside a step */                                              \
    X(duplicate) /* a message row once more */                                                     \
    X(clock)     /* the wall clock jumps */                                                        \
    X(versions)  /* restart with other code, code that comes late */                               \
    X(deviate)   /* restart with code that does not fit its histories */                           \
    X(unfused)   /* as after an unclean end: completions are stored first */                       \
    X(outage)    /* nothing works for a while */                                                   \
    X(restart)   /* the start of a child that is there, once more */                               \
    X(queue)     /* not a fault: clients and code use queues */                                    \
    X(worker)    /* not a fault: workers outside lease work; some go silent */                     \
    X(takeover)  /* another node takes the store; the old one goes on for a while */               \
    X(skew)      /* every node has its own clock */                                                \
    X(upgrade)   /* restart with code that calls pawl_patched where the old one did not */         \
    X(memory)    /* an allocation of a step fails */                                               \
    X(large)     /* not a fault: items of every size, up to the largest */                         \
    X(unread)    /* not a fault: code gives up waits whose events it has not read */               \
    X(taken) /* the instance id of a bound queue's message is taken, or its start comes twice */   \
    X(detached) /* not a fault: detached starts of ids that others use */                          \
    X(greedy)   /* code asks for more memory than a turn may have */                               \
    X(busy)     /* not a fault: an instance with a message in every pass is removed or retried */  \
    X(rude)     /* callbacks make calls that would wait for the engine */                          \
    X(oncancel) /* not a fault: activities are cancelled while they run, and called then */        \
    X(outcome)  /* done, or not, and reported UNKNOWN; the store can be asked what it was */       \
    X(publish)  /* not a fault: code publishes state, and reads it */                              \
    X(schedule) /* not a fault: schedules begin instances */                                       \
    X(doors)    /* not a fault: delayed starts, deadlines, reruns, raises of code and of starts */ \
    X(half)     /* a commit of the jsonl store ends between two of its writes */                   \
    X(limit)    /* not a fault: limits on activities come, change and go */                        \
    X(turns)    /* not a fault: orchestrations in workers; some lie, some die */                   \
    X(update)   /* not a fault: code serves updates, and clients send them */                      \
    X(group)    /* not a fault: items have groups, and queues keep their order */

/* Younger than the kept seeds, which run without them: bits. */
#define SIM_SITES_LATER (UINT64_C(1) << SITE_update | UINT64_C(1) << SITE_group)

enum sim_site {
#define SIM_SITE_ENUM(name) SITE_##name,
    SIM_SITES(SIM_SITE_ENUM)
#undef SIM_SITE_ENUM
        SITE_COUNT
};

extern const char *const sim_site_names[SITE_COUNT];

/* X(name): what is checked, each with a counter of how often.  docs/internals/sim.md says what each
 * means. */
/* clang-format off */
#define SIM_RULES(X)                                                                               \
    X(I1) X(I2) X(I3) X(I4) X(I5) X(I6) X(I7) X(I8) X(I9) X(I10) X(I11) X(I12) X(I13) X(I14)       \
    X(I15) X(I16) X(I17) X(I18) X(I19) X(I20) X(I21) X(I22) X(I23) X(I24) X(I25) X(I26) X(I27) X(I28) X(I34) X(I36) X(I37) X(I38) X(I39) X(L1) X(L2) X(L3) X(L4) X(L5) X(L6) X(L7) X(L8) X(L9)      \
    X(L10) X(L11) X(L12)                                                                           \
    X(S5) X(S13) X(S23) X(S25) X(S31) X(order) X(result) X(begin) X(ids) X(terminal)
/* clang-format on */

enum sim_rule {
#define SIM_RULE_ENUM(name) RULE_##name,
    SIM_RULES(SIM_RULE_ENUM)
#undef SIM_RULE_ENUM
        RULE_COUNT
};

extern const char *const sim_rule_names[RULE_COUNT];

/* SIM_FAR: in memory, and the runtime reads ahead as from a store behind a network. */
enum sim_store { SIM_MEMORY, SIM_SQLITE, SIM_JSONL, SIM_FAR };

static inline bool sim_in_memory(enum sim_store store)
{
    return store == SIM_MEMORY || store == SIM_FAR;
}

extern const char *const sim_store_names[4];

struct plan {
    uint64_t seed;
    enum sim_store store;
    int ops;       /* client calls of the safety phase */
    int instances; /* distinct ids used */
    int size;      /* of a program */
    uint64_t drop; /* calls left out */
    unsigned rate[SITE_COUNT];
    bool hostile, paranoid, drop_early, cancel_missing;
    uint32_t group_limit, max_history;
    size_t fiber_memory;
    int64_t cancel_grace_ms;
    unsigned replay_rate; /* permille of commits after which changed histories are replayed */
};

/* What the command line fixes; -1: as the seed says. */
struct overrides {
    int ops, instances, size;
    uint64_t off;  /* bit per site: never */
    uint64_t on;   /* bit per site: active, whatever the seed says */
    uint64_t drop; /* bit per call: made, but not sent */
    bool plain;    /* no hostile, tiny group, tiny memory … */
};

struct plan plan_of_seed(uint64_t seed, enum sim_store store, const struct overrides *over);
void plan_print(const struct plan *p, FILE *to);

/* ---- program.c ------------------------------------------------------------------------ */

#define SIM_TURN_MEMORY ((size_t)32 << 20)
#define EVENT_NAMES     4   /* E0..E3 keep early mail, Z0..Z3 drop it */
#define SIM_ASKS        '3' /* waits for E3 ask */
#define PROGRAM_BYTES   1500

/* Write a program of about plan->size nodes. */
void program_make(struct prng *r, const struct plan *plan, char out[PROGRAM_BYTES]);

/* ---- interp.c -------------------------------------------------------------------------- */

struct sim;

/* What one run of a program from its beginning did with events. */
struct ledger {
    bool *saw;          /* token -> its data was read, or its wait asked about */
    struct map gave_up; /* task id -> withdrawn by the code, or out of its reach */
    bool undone;        /* it compensated, to the end */
};

/* What the code sees of its registration. */
struct code {
    struct sim *sim;
    struct ledger *ledger; /* NULL: nobody asks */
    bool deviates;         /* calls something else when it is run again */
    bool greedy;           /* asks for memory where its program says so */
    bool patched;          /* the newer code: asks pawl_patched() where the older one did not */
};

/* Attempts the policy of a call with this input allows. */
uint32_t interp_attempts(pawl_str input);
pawl_result interp_orchestration(pawl_ctx *ctx, pawl_str input);
pawl_result interp_activity(pawl_activity *act, pawl_str input);
/* What an activity returns when all goes well. */
void interp_result(pawl_str instance, uint64_t execution, uint64_t ref, pawl_str input,
                   char out[40]);

/* ---- check.c, rows.c: what was seen ------------------------------------------------------- */

enum task_now { TASK_IS_OPEN, TASK_IS_DONE, TASK_IS_CANCELLED };

struct seen_task {
    int kind; /* of the schedule event */
    enum task_now now;
    uint64_t rid;
    int64_t fire_at_ms;
    bool abandon, returned_ok, duplicated;
    uint32_t begun;          /* times an activity of it began */
    uint32_t lives;          /* nodes it began on */
    uint64_t last_life;      /* the newest of them */
    char row_token[64];      /* of its work row: the lease it carries */
    int64_t row_free_ms;     /* a worker could have it from then on; 0: there is none */
    char tray[64];           /* of its work row */
    bool leased_now;         /* the last look found another lease than the one before */
    char *name, *input;      /* owned */
    char *child;             /* owned */
    int token;               /* a wait that is done: the raise, or the update, it took */
    bool owed;               /* that update has no answer yet */
    int details;             /* the newest that were stored, as far as it was told (details.c) */
    uint32_t failed_attempt; /* the last that gave details, on this node, these */
    uint64_t failed_life;
    int failed_details;
};

struct seen_execution {
    uint64_t last_seq, hash;
    bool pruned;
};

struct seen {
    uint64_t uid;
    char *id;
    pawl_state state;
    uint64_t execution, last_seq, last_rid;
    uint64_t parent_uid, parent_execution, parent_ref;
    char *output, *first_input; /* owned; NULL: not known */
    struct seen_task *tasks;    /* of the newest execution; id - 1 */
    size_t task_count, task_cap;
    struct seen_execution *executions; /* number - 1 */
    size_t execution_count, execution_cap;
    int64_t message_ms;
    int64_t start_ms, deadline_ms; /* as its rows said; 0: none */
    uint64_t met;                  /* in this look */
    int end_kind;
    bool suspended, cancel_requested, forced, removed, listed, changed, reran;
    bool ended; /* in the store, when the process opened it last */
};

/* Look at the whole store; called after every commit. */
void check_store(struct sim *s);
/* A commit that failed half done may have ended instances; the next pass may remove them before
 * check_store() sees that. */
void check_ends(struct sim *s);
/* Messages and work of every living instance. */
void check_rows(struct sim *s);
void labels_check(struct sim *s);
/* The runtime sleeps: no message and no work of this instance waits for it. */
void check_waiting(struct sim *s, const struct seen *i, int64_t now_ms);
/* Read everything again from the beginning; replay it. */
void check_final(struct sim *s);
void check_replay(struct sim *s, struct seen *i, uint64_t execution);
/* ledger.c: the history of an execution, and what its replay noted. */
void check_ledger(struct sim *s, const struct seen *i, const pawl_event_list *list,
                  struct ledger *ledger);
struct seen *seen_by_uid(struct sim *s, uint64_t uid);
struct seen *seen_by_id(struct sim *s, pawl_str id); /* living */
struct seen_task *seen_task(struct seen *i, uint64_t ref);
void seen_free(struct sim *s);

/* A detached start that the code was told is on its way. */
struct chained {
    char *id, *input; /* owned */
};

/* ledger.c: a detached start was recorded; at the end each has made an instance (I22). */
void ledger_chained(struct sim *s, const pawl_event *e);
/* A raise of code was recorded: from now on it is in one place (I12), until it may be dropped. */
void ledger_sent(struct sim *s, const pawl_event *e);
void ledger_final(struct sim *s);
void ledger_free(struct sim *s);

/* ---- driver.c ------------------------------------------------------------------------------- */

enum op_result { OP_WAITING, OP_ACKED, OP_REFUSED, OP_LOST };

struct op {
    pawl_op kind;
    struct sim *sim;
    struct node *node; /* it was sent to */
    char instance[80];
    char name[16];  /* raise: event */
    int token;      /* raise: its data is "R<token>" */
    char key[16];   /* raise: idempotency key */
    int brings;     /* start: so many events, from `token` on */
    bool uses;      /* start: whatever has the id */
    bool created;   /* start: as it was answered */
    char *input;    /* start; owned */
    int64_t answer; /* number of the answer; 0: none yet */
    int64_t number; /* number of the submit */
    enum op_result result;
    pawl_status status;
};

struct token {
    struct op *first_ack; /* NULL: not acknowledged */
    uint64_t uid;         /* acknowledged for this instance; 0: kept by name */
    char instance[80];
    char name[16];
    int64_t submitted, acked; /* numbers */
    uint64_t meant;           /* uid it was first submitted to; 0: none */
    uint64_t consumed_by;     /* uid; 0: not yet */
    bool excused;
    bool ever;  /* it was somewhere */
    int rows;   /* in this look */
    char *sent; /* of code: its data; owned; NULL: a client raised it */
    bool named; /* of code: it was a row by name at the last look */
};

/* A result that will come by token. */
struct pending {
    char token[80];
    uint64_t uid, execution, ref;
    char *value; /* owned */
    bool sent;   /* a call with it is under way */
};

void driver_act(struct sim *s);                     /* one random client call */
bool driver_help(struct sim *s);                    /* heal: do what somebody waits for */
void driver_removed(struct sim *s, struct seen *i); /* it went: was that asked for? */
/* brought.c: events of a start, as it is answered and at every look (I27). */
#define BRINGS_MOST 3
const pawl_raise_item *brought_choose(struct sim *s, struct op *op);
void brought_acked(struct sim *s, struct op *op, const pawl_reply *reply);
void brought_check(struct sim *s);
void asks_check(struct sim *s, const struct seen *i); /* one that lives */
/* details.c: an attempt begins and says where it got to; what is stored (I34). */
pawl_str details_next(struct sim *s); /* that were not given before */
void details_resumed(struct sim *s, const struct seen *i, struct seen_task *t, pawl_str details);
void details_activity(struct node *n, pawl_activity *act, const struct seen *i,
                      struct seen_task *t);
void details_check(struct sim *s);
/* The raise of a token was acknowledged by this call. */
void driver_token_acked(struct sim *s, struct op *op, int token);
void driver_raise(struct sim *s, const char *instance, const char *event, bool keyed, bool early);
/* The call, or NULL when it was refused at once. */
const struct op *driver_steer(struct sim *s, pawl_op kind, const char *id, bool force);
void busy_act(struct sim *s);                    /* busy.c */
void rude_try(struct sim *s, struct node *node); /* inside a reply of that node */
/* oncancel.c: the activity is cancelled while it runs; false: it was not, after all. */
bool oncancel_run(struct node *n, pawl_activity *act);
bool driver_start(struct sim *s, const char *instance, const char *program, const char *version);
void driver_start_turned(struct sim *s, const char *instance); /* for turned.c */
/* Was this call made, whatever became of it? */
bool driver_asked(const struct sim *s, pawl_op kind, const char *id);
bool driver_is_token(struct sim *s, pawl_str data, int *ret);
void driver_free(struct sim *s);
void driver_lost(struct sim *s, const struct node *n); /* it died: nobody is answered */

/* ---- node.c, faults.c --------------------------------------------------------------------- */

/* A process with a runtime.  One owns the store; those it was taken from go on for a while, as a
 * process does that was paused for longer than its lease: they think they own it still. */
struct node {
    struct sim *sim;
    uint64_t life; /* number of the process */
    bool old;      /* somebody else has taken the store */
    int64_t skew_ms;
    pawl_app *app;
    pawl_runtime *rt;  /* NULL: down */
    pawl_store *store; /* the fault decorator */
    struct code code;
    bool frozen; /* crashed inside a step: nothing it does counts any more */
    bool has_v1, has_v2, has_second;
    int spins;  /* looks at the clock since the step began */
    int inside; /* activities that step the runtime themselves, one in another */
};

#define OLD_NODES 3

void node_open(struct sim *s);
void node_crash(struct sim *s);
void node_close(struct sim *s); /* in order */
int node_step(struct sim *s);
void node_register(struct sim *s);        /* what is missing, while it runs */
bool node_is_over(const struct node *n);  /* crashed, dead, or the store was taken from it */
bool node_in_doubt(const struct node *n); /* a commit may have happened: it does not know yet */
void node_takeover(struct sim *s);        /* another node takes the store */
void node_step_old(struct sim *s);        /* those that lost it go on */
void node_drop_old(struct sim *s);        /* and end */

struct fault faults_decide(void *user, enum fault_op op, uint64_t call);
void faults_done(void *user);    /* a store call is over */
void faults_open(struct sim *s); /* a node has the store: it looks at the points inside */
void faults_point(void *user, const char *name);
pawl_env faults_env(struct node *n);
bool faults_fires(struct sim *s, enum sim_site site); /* of the newer sites */
void faults_look(struct sim *s);                      /* before an answer is judged */
void faults_duplicate(struct sim *s);
void faults_clock(struct sim *s);
void faults_outage(struct sim *s);
void faults_restart(struct sim *s);
void faults_inject(struct sim *s, const pawl_message *like); /* a row of somebody else's */

/* ---- queue_calls.c, queue_look.c (queues.h) -------------------------------------------------- */

struct queues;

struct queues *queues_create(void);
void queues_free(struct queues *q);
void queues_act(struct sim *s);                            /* one random call */
bool queues_help(struct sim *s);                           /* heal: empty them */
void queues_look(struct sim *s);                           /* after every commit */
void queues_pushed(struct sim *s, const pawl_event *e);    /* QueuePushed */
void queues_scheduled(struct sim *s, const pawl_event *e); /* a pop or ack of an orchestration */
void queues_result(struct sim *s, const struct seen *i, const struct seen_task *t,
                   const pawl_event *e);
void queues_lost(struct sim *s, const struct node *n);
void queues_take_id(struct sim *s); /* site taken */
void queues_final(struct sim *s);   /* nothing is left, everything is accounted for */
bool queues_open(const struct sim *s, const struct node *n); /* calls not answered; n NULL: any */

/* ---- schedules.c ------------------------------------------------------------------------------- */

struct limited *limited_create(void);
void limited_free(struct limited *all);
void limited_act(struct sim *s);
/* The work row of a task, before it is remembered. */
void limited_row(struct seen_task *t, const pawl_work *row);
void limited_look(struct sim *s);
/* Is there no room for this free row? */
bool limited_waits(const struct sim *s, const pawl_work *w, int64_t now_ms);

struct schedules *schedules_create(void);
void schedules_free(struct schedules *all);
void schedules_act(struct sim *s);
void schedules_look(struct sim *s);
bool schedules_help(struct sim *s);
void schedules_final(struct sim *s);

/* ---- workers.c --------------------------------------------------------------------------------- */

struct workers *workers_create(void);
void workers_free(struct workers *w);
void workers_act(struct sim *s);
bool workers_help(struct sim *s);
bool workers_open(const struct sim *s, const struct node *n);
void workers_row(struct sim *s, struct seen *i, struct seen_task *t, uint64_t ref,
                 const pawl_work *row); /* NULL: there is none */
void workers_look(struct sim *s);
void workers_lost(struct sim *s, const struct node *n);
void workers_result(struct sim *s, const struct seen *i, const pawl_event *e);

/* ---- turned.c ------------------------------------------------------------------------------------ */

struct turned *turned_create(void);
void turned_free(struct turned *all);
void turned_act(struct sim *s);
bool turned_help(struct sim *s);
bool turned_is(const struct seen *i); /* does its code run in workers? */
bool turned_open(const struct sim *s, const struct node *n);
void turned_lost(struct sim *s, const struct node *n);
/* The whole history of an execution, against its code. */
void turned_replay(struct sim *s, const struct seen *i, uint64_t number,
                   const pawl_event_list *list);

/* ---- served.c ----------------------------------------------------------------------------------- */

struct served *served_create(void);
void served_free(struct served *all);
void served_act(struct sim *s);
bool served_help(struct sim *s);
bool served_open(const struct sim *s);
void served_lost(struct sim *s, const struct node *n);
/* The check of a wait: refuses every second one. */
bool served_check(const void *arg, pawl_str data, char *why, size_t size);
/* Events, as they are first seen. */
void served_accepted(struct sim *s, struct seen *i, const pawl_event *e);
void served_given_back(struct sim *s, struct seen *i, struct seen_task *t);
void served_answered(struct sim *s, struct seen *i, const pawl_event *e);
void served_ended(struct sim *s, const struct seen *i);
/* A look at all mail: before it, each row, after it. */
void served_begin(struct sim *s);
void served_row(struct sim *s, const struct seen *i, const pawl_message *m);
void served_look(struct sim *s);

/* ---- world.c --------------------------------------------------------------------------------- */

struct counters {
    uint64_t seeds, steps, commits, turns, instances, completed, events, replays, acked, crashes,
        activities, duplicates, looks;
    uint64_t fired[SITE_COUNT];
    uint64_t checked[RULE_COUNT];
};

#define CHECKED(s, rule)           ((s)->n->checked[RULE_##rule]++)
#define CHECKED_TIMES(s, rule, by) ((s)->n->checked[RULE_##rule] += (by))

struct sim {
    struct plan plan;
    struct prng work, schedule, faults, clock, bytes, more;
    int64_t wall_ms, mono_ms, wall_max_ms;
    int64_t outage_until_ms; /* mono */
    pawl_store *inner;
    char dir[64];                /* of stores on disk */
    struct node *node;           /* owns the store */
    struct node *old[OLD_NODES]; /* think they do; NULL: none */
    uint64_t lives, epoch;
    bool healing, heal_code, patched, deviated;
    bool may_ask;        /* the commit in doubt is not the end of the process (SITE_outcome) */
    unsigned half_in;    /* points of the jsonl store until this commit ends; 0: it does not */
    bool half;           /* a round may be half done, until a commit completes that is no repair */
    uint64_t half_group; /* commits before the one that is made now */
    uint64_t step;
    struct counters *n;
    pawl_mem *mem; /* one look */
    struct fiber_pool *fibers;

    struct seen **seen;
    size_t seen_count, seen_cap;
    struct map rids;     /* rid -> uid */
    struct map messages; /* id -> signature */
    uint64_t max_id;

    struct op **ops;
    size_t op_count, op_cap;
    struct token *tokens;
    size_t token_count, token_cap;
    int details; /* given so far (details.c) */
    struct chained *chained;
    size_t chained_count, chained_cap;
    struct pending *pending;
    size_t pending_count, pending_cap;
    int64_t numbers; /* submits and answers, in order */
    int64_t prune_before_ms;
    bool prune_asked;
    uint32_t shortages; /* steps that went on after a failed allocation */
    struct queues *queues;
    pawl_mem *large; /* what one push hands in */
    struct workers *workers;
    struct schedules *schedules;
    struct limited *limited;
    struct turned *turned;
    struct served *served;
    int acts;  /* client calls made in the safety phase */
    bool mute; /* this one is not sent */
};

extern bool sim_verbose;

void world_run(const struct plan *plan, struct counters *n);
NORETURN void sim_fail(const struct sim *s, const char *rule, const char *format, ...)
    PAWL_PRINTF(3, 4);
void sim_trace(const struct sim *s, const char *format, ...) PAWL_PRINTF(2, 3);
/* Grow an array of T by one; the element is zeroed. */
void *sim_grow(void *items_field, size_t *count, size_t *cap, size_t size);

#endif
