/* SPDX-License-Identifier: MIT */
/*
 * engine/engine_private.h -- what the files of this room share.
 *
 * One struct, one door out.  `struct pawl_ctx` is the execution and the
 * author's context at once.  An execution that cannot continue (code and
 * history disagree, a limit, no memory) ends in engine_stop(): on the fiber it switches away for
 * ever, outside it jumps to the guard of the entry function.  Nothing was
 * committed, all memory is in arenas, so there is nothing to undo.
 *
 * The calls:
 *
 *   apply.c, replay.c   a message -> task_resolve -> wait_notice -> execution_run
 *   api_*.c (on fiber)  a call    -> decide_* : matched (replay) or appended (live)
 *   ending.c            a return  -> decide_* for what is open, then the END event
 */
#ifndef PAWL_ENGINE_ENGINE_PRIVATE_H
#define PAWL_ENGINE_ENGINE_PRIVATE_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/misuse.h"
#include "engine/engine.h"
#include "engine/remote_code.h"
#include "pawl/queue.h"

#include <setjmp.h>

/* ---- Kinds (kind.c) ----------------------------------------------------- */

enum event_class { CLASS_NONE, CLASS_START, CLASS_END, CLASS_MESSAGE, CLASS_DECISION, CLASS_MARK };

enum event_class event_class(int kind); /* CLASS_NONE: no kind we know */
bool kind_opens_task(int kind);         /* a schedule: takes the next task id */
bool kind_is_sent(int kind);            /* takes an id, goes to another instance: no handle */
int kind_schedule_of(int kind);         /* of a completion or cancel; 0: neither */
bool kind_belongs_to_end(int kind);     /* a withdrawal, or a rejection of what is left */
int kind_cancel_of(int schedule);       /* ActivityScheduled -> ActivityCancelRequested … */
int kind_refusal_of(int schedule);      /* the completion that follows a refused schedule */
int kind_of_message(int message_kind);  /* PAWL_MSG_TIMER_FIRED -> TimerFired …; 0: none */
const char *kind_word(int kind);        /* activity, timer, external, sub; of any related kind */
bool kind_is_failure(int kind);

/* ---- Tasks (task.c) ----------------------------------------------------- */

/* OPEN -> DONE | FAILED | CANCELLED   [task_close only] */
enum task_state { TASK_OPEN, TASK_DONE, TASK_FAILED, TASK_CANCELLED };

struct channel;
struct scope;

struct task {
    struct task *open_prev, *open_next; /* every open task, in id order */
    struct task *wait_prev, *wait_next; /* open waits of one channel, in id order; or unseen ones */
    struct channel *channel;            /* of a wait */
    struct update *update;              /* of a wait for an update */
    struct scope *scope;                /* started in; forgotten when its serial moved on */
    uint64_t scope_serial;
    uint64_t id;
    uint64_t rid;         /* of the schedule event; 0: not committed yet */
    uint64_t order;       /* of completion: 1, 2, 3 …; 0: open */
    uint64_t wait_serial; /* of the last wait that counted it */
    uint64_t message;     /* ExternalEvent, UpdateAccepted: row id of the mail it took */
    pawl_str name;        /* see struct open_task */
    pawl_str child;       /* of a child: its instance id; of a wait that asks: what it asks */
    pawl_str value;       /* result or error text, once closed */
    int64_t at_ms;
    int64_t fire_at_ms;
    uint32_t attempts; /* of an activity */
    uint8_t kind;      /* of the schedule event */
    uint8_t state;
    uint8_t result; /* pawl_result_kind, once closed */
    bool abandon;
    bool awaited; /* for strict_await */
    bool unseen;  /* a wait that is done, and the code was not told: on x->unseen_* */
};

#define TASK_BLOCKS 40 /* block k holds 8 << k tasks */

struct task *task_add(execution *x, int kind, uint64_t rid, int64_t at_ms);
struct task *task_find(const execution *x, uint64_t id); /* NULL: never scheduled */
void task_close(execution *x, struct task *t, enum task_state state, pawl_str value);
/* Is it a wait that says what it asks for? */
static inline bool task_asks(const struct task *t)
{
    return t->kind == PAWL_EV_EXTERNAL_SUBSCRIBED && t->child.len;
}
/* Text when a handle cannot be awaited (no task, out of scope); NULL when it can. */
const char *task_bad(const struct task *t);
/* The task of a recorded schedule event, with what its attrs say. */
struct task *task_from_event(execution *x, const pawl_event *e);
bool event_is_refused(const pawl_event *e);

/* ---- Mail (kept_events.c) --------------------------------------------------- */

struct kept_event {
    struct kept_event *prev, *next; /* the mailbox, in order of arrival */
    struct kept_event *next_same;   /* of the same name */
    struct pile *pile;
    uint64_t id;
    pawl_str data;
    pawl_str attrs; /* of an update */
    bool back;      /* given back since execution_returned() was asked */
};

/* The mail of one name, oldest first; lives with the kept events, and moves with them. */
struct pile {
    struct channel *channel;
    struct kept_event *head, *tail;
};

/* All waits and all mail of one name, of an event or of an update. */
struct channel {
    struct channel *next; /* hash chain */
    pawl_str name;
    bool update;
    struct task *wait_head, *wait_tail;
    struct pile *mail; /* NULL: none */
};

struct channel *channel_find(execution *x, bool update, pawl_str name, bool make);
void channel_open_wait(execution *x, struct task *t, pawl_str name);
void channel_close_wait(struct task *t);
struct kept_event *mailbox_put(execution *x, const struct mail *m);
void mailbox_remove(execution *x, struct kept_event *m); /* the head of its channel */
void mailbox_consume(execution *x, struct kept_event *m);
void mailbox_discard(execution *x, struct channel *ch);

/*
 * An event is consumed when the code was told of it: by an await that returned it, or by
 * pawl_is_done().  Until then the wait that took it is `unseen`, and giving up the wait gives
 * the event back (decide_return).
 */
void unseen_add(execution *x, struct task *t);
void unseen_remove(execution *x, struct task *t);
/* The kept event of an unseen wait goes back to its old place in the mailbox. */
void mailbox_give_back(execution *x, struct task *t);

struct decision;

/* ---- Updates (update.c) ------------------------------------------------- */

/* What a wait for an update knows of it, and of the one it took. */
struct update {
    pawl_update_check *check; /* NULL: takes any */
    const void *arg;
    pawl_str id;
    bool owed; /* accepted, and neither answered nor given back */
};

/* Does the check of this wait refuse it?  Then its client is to be told (turn->refused). */
bool update_refuses(execution *x, const struct task *t, pawl_str data, pawl_str attrs);
/* The wait took the update that `attrs` name; it gave it back. */
void update_taken(execution *x, struct task *t, pawl_str attrs);
void update_given_back(execution *x, struct task *t);
/* The one answer of an update that is owed it: data, rejected, left, refusal. */
void update_answer(execution *x, struct task *t, struct decision *d);
/* A recorded UpdateAnswered, without code. */
void update_act(execution *x, const pawl_event *e);
/* The execution ends: what is accepted and not answered is rejected. */
void update_reject_left(execution *x, const char *reason);
/* {"update":"ID"} */
pawl_str update_attrs(pawl_mem *mem, pawl_str id);
void update_check(const execution *x);

/* ---- Scopes (scope.c) --------------------------------------------------- */

struct deferred {
    struct deferred *next; /* registered before this one */
    void (*fn)(void *arg);
    void *arg;
};

struct scope {
    struct scope *outer;
    pawl_mem *mem; /* &own, or the execution's for the outermost */
    pawl_mem own;
    struct deferred *deferred; /* last registered first */
    uint64_t serial;           /* changes when the scope ends */
    bool waits;                /* a wait for an event was opened in it */
};

void scope_init_root(execution *x);
void scope_run_deferred(execution *x); /* of all scopes, innermost first */
void scope_deinit_all(execution *x);
size_t scope_bytes(const execution *x);

/* ---- Waits (wait.c) ----------------------------------------------------- */

enum wait_mode { WAIT_ALL, WAIT_SETTLED, WAIT_ANY };

struct wait {
    enum wait_mode mode;
    const pawl_task *tasks; /* the author's array, on the suspended stack */
    size_t count;
    size_t pending;
    struct task *hit; /* the failure of ALL, the winner of ANY */
    const char *bad;  /* why a handle among them cannot be awaited */
    size_t bad_index;
    uint64_t serial;
    bool ready, interrupted;
    void *site;
};

/* A task was closed while the code is blocked: does that satisfy the wait? O(1). */
void wait_notice(execution *x, struct task *t);
/* A cancel request interrupts an unshielded wait. */
void wait_interrupt(execution *x);
/* Block until satisfied.  False when cancelled: immediately, or while waiting. */
bool wait_for(execution *x, enum wait_mode mode, const pawl_task *tasks, size_t n, void *site);
pawl_result wait_cancelled_result(execution *x);
pawl_result wait_one(execution *x, uint64_t id, void *site);
pawl_result result_of_task(const struct task *t); /* closed */
pawl_result result_refused(pawl_str why);

/* ---- Decisions (decide.c) ----------------------------------------------- */

/* A call of the author's code on its way to become an event. */
struct decision {
    int kind;
    uint64_t ref;
    pawl_str name, data;
    const char *api; /* "pawl_start"; for the finding */
    void *site;
    int64_t delay_ms; /* TimerCreated */
    pawl_str child;   /* instance id, explicit or made */
    pawl_str version; /* explicit; empty: none */
    const pawl_call_opts *opts;
    bool inherit;
    bool abandon;
    bool await_start;    /* EventSent */
    bool cleared;        /* StateChanged */
    bool rejected, left; /* UpdateAnswered */
    pawl_str ask;        /* ExternalSubscribed: what it asks for; empty: nothing */
    int64_t deadline_ms; /* of what it starts: from now on; 0: none */
    char refusal[400];   /* "" : accepted */
};

/* What is wrong with what a wait asks for; NULL: nothing. */
const char *ask_fault(pawl_str ask);

/* ---- Limits (judge.c): a decision that breaks one gets its refusal ------ */

void judge_refuse(struct decision *d, const char *format, ...) PAWL_PRINTF(2, 3);
void judge_call(const execution *x, struct decision *d);
void judge_timer(struct decision *d);
void judge_wait(const execution *x, struct decision *d);
/* `explicit_id`: its author chose the id. */
void judge_child(const execution *x, struct decision *d, bool explicit_id);
/* A detached start of an id that execution_is_taken(). */
void judge_taken(struct decision *d);
void judge_raise(const execution *x, struct decision *d, unsigned flags);
void judge_update(struct decision *d);
void judge_answer(const execution *x, struct decision *d);
void judge_status(struct decision *d);
/* Live only: */
void judge_push(const execution *x, struct decision *d, const pawl_push_opts *opts);
void judge_state(const execution *x, struct decision *d, bool odd);
void judge_attributes(execution *x, struct decision *d);
/* {"priority":1,"delay_ms":2}, or nothing */
pawl_str push_attrs(pawl_mem *mem, const pawl_push_opts *opts);

/* ---- Decisions, matched or appended (decide.c) -------------------------- */

/* Take the next task id, match or append; a refused one comes back closed. */
struct task *decide_start(execution *x, struct decision *d);
/* A decision without task: custom status, the END event. */
void decide_plain(execution *x, struct decision *d, pawl_str attrs);
/* Replaying: it must be the next recorded event, which is returned. */
const pawl_event *decide_match(execution *x, const struct decision *d);
void decide_cancel(execution *x, struct task *t, const char *reason, const char *api, void *site);
/* Give up a wait that is done but unseen: its event goes back to the mailbox.  A history that
 * was written before this was done does not say so, and is believed. */
void decide_return(execution *x, struct task *t, const char *reason, void *site);
/* The same for a wait that is open and out of reach. */
void decide_leave(execution *x, struct task *t, const char *reason, void *site);
/* The next recorded event that is not a MARK, or NULL; does not move. */
const pawl_event *decide_peek(execution *x);
/* The recorded event `e` was met, by the call at `site` (NULL: by no call). */
void decide_met(execution *x, const pawl_event *e, void *site);
/* Append an event live (strings copied).  The pointer is good until the next append. */
struct step *decide_append(execution *x, int kind, uint64_t ref, pawl_str name, pawl_str data);
/* The same with strings that live as long as the turn. */
struct step *decide_record(execution *x, int kind, uint64_t ref, pawl_str name, pawl_str data);
void decide_discard(execution *x, uint64_t message_id);
/* What a name is recorded as: itself, or what fits of a bad one. */
pawl_str decide_name(pawl_str name);

/* ---- State (state.c) ---------------------------------------------------- */

struct state;

void state_set(execution *x, pawl_str key, pawl_str value); /* copied */
void state_clear(execution *x, pawl_str key);
const pawl_str *state_find(const execution *x, pawl_str key); /* NULL: not set */
/* May it be set?  Also how many keys and bytes there would be. */
bool state_fits(const execution *x, pawl_str key, pawl_str value, size_t *retcount,
                size_t *retbytes);
/* Live, behind the START event: one StateCarried per key. */
void state_record(execution *x);
/* A recorded StateChanged or StateCarried; nothing for other kinds. */
void state_act(execution *x, const pawl_event *e);
bool state_is_cleared(const pawl_event *e);
void state_deinit(execution *x);
size_t state_bytes(const execution *x);
void state_check(const execution *x);

/* ---- Findings (finding.c) ----------------------------------------------- */

/* Fill in the caller's finding.  Does not stop anything. */
void finding_set(execution *x, const pawl_event *recorded, const struct decision *d,
                 const char *format, ...) PAWL_PRINTF(4, 5);
void finding_describe_event(const pawl_event *e, char *out, size_t n);
void finding_describe_call(const struct decision *d, char *out, size_t n);
void finding_describe_wait(const execution *x, char *out, size_t n);
/* A completion that fits no schedule: unknown id (t NULL) or another kind. */
void finding_completion(execution *x, const pawl_event *recorded, int kind, uint64_t ref,
                        const struct task *t);
NORETURN void finding_corrupt(execution *x, const pawl_event *e, const char *format, ...)
    PAWL_PRINTF(3, 4);

/* ---- The execution ------------------------------------------------------ */

/* NEW -> REPLAY -> LIVE, or NEW -> LIVE; END is an outcome, not a phase. */
enum phase { PHASE_NEW, PHASE_REPLAY, PHASE_LIVE };

struct patch {
    struct patch *next;
    pawl_str name;
    bool applied;
};

struct pawl_ctx {
    pawl_mem mem;               /* all that lives as long as the execution, this struct included */
    pawl_mem mail_mem;          /* kept events; emptied whenever the mailbox is */
    struct arena_budget budget; /* of mem and the scopes; mail has limits of its own */
    size_t turn_base;           /* of it, when the last message came */
    struct execution_spec spec;
    struct fiber *fiber; /* NULL: not started, or tables only */

    enum phase phase;
    enum engine_outcome outcome;
    pawl_str question; /* the code asks whether this id is taken; ptr NULL: nothing */
    enum engine_taken answer;
    bool running;   /* the author's code is on the fiber right now */
    bool blocked;   /* it is suspended in `wait` */
    bool suspended; /* by an operator (OrchestrationSuspended) */
    bool forced;    /* execution_finish: may pass history_max */

    /* the entry call in progress */
    jmp_buf guard;
    bool guarded;
    struct turn *turn;
    int64_t clock_ms; /* as given, not clamped */
    struct engine_finding *finding;
    const struct remote_step *step; /* what the code of a remote one did; NULL: nothing yet */
    void (*turn_exhausted)(void *user);
    void *turn_user;
    size_t turn_total, turn_limit; /* of the turn's arena, as it came */

    /* history */
    const pawl_event *events; /* only inside execution_replay */
    size_t event_count, cursor;
    uint64_t last_seq;
    uint64_t message_seq; /* of the last applied message */
    int64_t now_ms;       /* its time, never going back */
    uint64_t draws;       /* random numbers taken since */
    uint64_t seed;
    struct scheduled scheduled;
    pawl_str name, version, input;
    int64_t deadline_ms; /* of the instance; 0: none */
    struct patch *patches;
    struct state *state; /* NULL: nothing was published */
    uint64_t updates_owed;

    /* tasks */
    struct task *blocks[TASK_BLOCKS];
    uint64_t task_count, completion_count;
    struct task *open_head, *open_tail;
    struct wait wait;
    uint64_t evaluations; /* calls of wait_notice that looked; tests count them */

    /* mail */
    struct channel **buckets;
    size_t bucket_count, channel_count;
    struct kept_event *mail_head, *mail_tail;
    size_t mail_count, mail_bytes;
    size_t back_count;                      /* kept events that are `back` */
    struct task *unseen_head, *unseen_tail; /* in order of completion */
    size_t dropped;                         /* see execution_dropped() */
    bool settling;                          /* apply.c walks the open waits */
    bool mail_matchable;                    /* an open wait may have mail */
    struct task *settle_next;
    uint64_t *consumed;
    size_t consumed_count, consumed_cap;
    bool consumed_taken;

    /* ending */
    bool cancel_requested;
    unsigned shields;
    pawl_str cancel_reason;
    bool continuing;
    pawl_str next_input, next_version;
    char next_refusal[200];
    pawl_result returned;
    struct execution_ending ending;

    /* scopes */
    struct scope root;
    struct scope *scope;        /* innermost */
    struct scope *spare_scopes; /* ended ones, arena emptied */
    uint64_t scope_serials;
    struct deferred registering; /* fn NULL: none */
};

/* ---- Code that runs in workers (remote_code.c) ------------------------------- */

/* Play the decisions of x->step, which answer the message that was just applied. */
void remote_answer(execution *x, enum engine_fate fate);
/* The refusal that a worker sends with the end, if it does. */
void remote_end_refusal(const execution *x, char *refusal, size_t n);

/* apply.c: the oldest wait that has mail takes it.  False: none has. */
bool apply_due_mail(execution *x);
/* apply.c: the event that an operator's message becomes now; 0: it changes nothing, or it is none. */
int operator_event(const execution *x, int message);
/* Does the code see that event?  Suspend and resume only hold its turns back. */
bool operator_is_seen(int kind);

/* Leave for good: outcome MISMATCH, LIMIT, NO_MEMORY, CORRUPT or REFUSED. */
NORETURN void engine_stop(execution *x, enum engine_outcome outcome);

/* Entry calls: `if (execution_enter(…) && setjmp(x->guard) == 0) work; execution_leave(x)`. */
bool execution_enter(execution *x, struct turn *turn, int64_t now_ms, struct engine_finding *ret);
enum engine_outcome execution_leave(execution *x);
/* The START event was recorded: keep what code can ask for, make the fiber. */
void execution_open(execution *x, pawl_str name, pawl_str input, pawl_str attrs);
/* A message was recorded: time moves, draws start again. */
void execution_message(execution *x, uint64_t seq, int64_t at_ms);
/* Resume the code until it blocks or returns (then the ending is decided). */
void execution_run(execution *x);
/* Ask the runtime, off the author's stack (on the fiber only). */
bool execution_is_taken(execution *x, pawl_str instance);
/* A completion: close the task, look at the wait, resume when satisfied. */
void execution_resolve(execution *x, struct task *t, int kind, pawl_str data, pawl_str attrs);
static inline bool execution_is_tables(const execution *x)
{
    return !x->spec.code.fn;
}

/* Code, here or in workers, sees what happens to it. */
static inline bool execution_has_code(const execution *x)
{
    return x->spec.code.fn || x->spec.code.remote;
}

/* ending.c */
void ending_of_return(execution *x);
void ending_replayed(execution *x, const pawl_event *e);

/* The place of a call in the author's code, as far as it is known. */
void *engine_site(const execution *x, void *site);

/* replay.c: how a recorded message acts, shared with apply.c */
void message_act(execution *x, const pawl_event *e);

/* api: only the author's code, on its own fiber */
#define assert_in_code(x)                                                                          \
    do {                                                                                           \
        MUST_HAVE("a ctx", x);                                                                     \
        if (UNLIKELY(!((x)->running && engine_on_fiber())))                                        \
            rule_stop("ctx is used outside its orchestration: stay on the thread that runs it "    \
                      "and pass ctx to no other (rule 4 of pawl/orchestration.h); do such "        \
                      "work in an activity");                                                      \
    } while (0)
#define CALL_SITE __builtin_return_address(0)

#endif
