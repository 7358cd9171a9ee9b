/* SPDX-License-Identifier: MIT */
/* tests/sim/faults.c -- what goes wrong: the store, the clock, the process, the mail. */
#include "memory.h"

#include "base/point.h"
#include "runtime/core/runtime.h"
#include "store/jsonl/jsonl.h"

#include <string.h>

/* ---- The store ------------------------------------------------------------------------- */

static bool fires(struct sim *s, enum sim_site site)
{
    if (s->healing || !prng_chance(&s->faults, s->plan.rate[site]))
        return false;
    s->n->fired[site]++;
    sim_trace(s, "fault: %s", sim_site_names[site]);
    return true;
}

bool faults_fires(struct sim *s, enum sim_site site)
{
    if (s->healing || !prng_chance(&s->more, s->plan.rate[site]))
        return false;
    s->n->fired[site]++;
    sim_trace(s, "fault: %s", sim_site_names[site]);
    return true;
}

/* Done, or not, and nobody was told: the runtime has to ask. */
static bool loses_reply(struct sim *s, struct fault *ret)
{
    if (!s->plan.rate[SITE_outcome] || !faults_fires(s, SITE_outcome))
        return false;
    s->may_ask = true;
    *ret = (struct fault){prng_chance(&s->more, 500) ? FAULT_AFTER : FAULT_BEFORE, PAWL_UNKNOWN};
    return true;
}

/* The n-th write of this commit is the last.  A removal that is cut in half leaves a smaller tree,
 * and its client is not answered: nothing repairs it. */
static void end_half_way(struct sim *s)
{
    for (size_t i = 0; i < s->op_count; i++)
        if ((s->ops[i]->kind == PAWL_OP_REMOVE || s->ops[i]->kind == PAWL_OP_PRUNE) &&
            s->ops[i]->result == OP_WAITING)
            return;
    if (s->plan.rate[SITE_half] && faults_fires(s, SITE_half))
        s->half_in = 1 + (unsigned)prng_below(&s->more, 8);
}

static void at_store_point(struct sim *s, const char *name)
{
    if (!s->half_in || strncmp(name, "jsonl.", 6) != 0 || --s->half_in)
        return;
    sim_trace(s, "half done at %s", name);
    jsonl_set_trouble(s->inner, JSONL_FAIL);
    s->half = true;
    s->node->frozen = prng_chance(&s->more, 500);
}

static struct sim *current; /* for point_hook */

static void store_point(const char *name)
{
    memory_pause();
    at_store_point(current, name);
    memory_resume();
}

void faults_open(struct sim *s)
{
    current = s;
    point_hook = s->plan.rate[SITE_half] ? store_point : NULL;
}

/* Is what the store holds to be looked at?  Not what a failed commit left, before the next one that
 * repairs nothing. */
static bool may_look(struct sim *s, const struct node *n)
{
    bool done = n->rt->fence.group_no > s->half_group;
    s->half_in = 0;
    s->half = s->half && (!done || n->rt->fence.mending);
    return !s->half;
}

/* Somebody is told something, and no commit was needed for it: all is repaired. */
void faults_look(struct sim *s)
{
    const pawl_runtime *rt = s->node->rt;
    if (!s->half || rt->staging.doubt.is || rt->fence.mending || rt->peek.repair.count)
        return;
    s->half = false;
    check_store(s);
}

static struct fault commit_fault(struct sim *s)
{
    static const pawl_status not_done[] = {PAWL_BUSY, PAWL_DISK_FULL, PAWL_UNAVAILABLE,
                                           PAWL_NO_MEMORY};
    if (fires(s, SITE_commit_before))
        return (struct fault){FAULT_BEFORE, not_done[prng_below(&s->faults, COUNT_OF(not_done))]};
    struct fault lost;
    if (loses_reply(s, &lost))
        return lost;
    end_half_way(s);
    if (!s->half_in && fires(s, SITE_commit_unknown))
        return (struct fault){prng_chance(&s->faults, 700) ? FAULT_AFTER : FAULT_BEFORE,
                              PAWL_UNKNOWN};
    return (struct fault){FAULT_NONE, PAWL_OK};
}

/* A commit that nobody may ask about stands for the end of the process. */
static struct fault outcome_fault(struct sim *s)
{
    if (!s->may_ask)
        return (struct fault){FAULT_BEFORE, PAWL_UNKNOWN};
    if (!s->healing && prng_chance(&s->more, 300))
        return (struct fault){FAULT_BEFORE, PAWL_UNAVAILABLE};
    s->may_ask = false;
    return (struct fault){FAULT_NONE, PAWL_OK};
}

static struct fault when(struct sim *s, enum sim_site site, pawl_status status)
{
    return fires(s, site) ? (struct fault){FAULT_BEFORE, status}
                          : (struct fault){FAULT_NONE, PAWL_OK};
}

struct fault faults_decide(void *user, enum fault_op op, uint64_t call)
{
    struct node *n = user;
    struct sim *s = n->sim;
    (void)call;
    memory_pause(); /* until faults_done */
    if (n->frozen)
        return (struct fault){FAULT_BEFORE, op == FAULT_OP_commit || op == FAULT_OP_outcome
                                                ? PAWL_UNKNOWN
                                                : PAWL_UNAVAILABLE};
    if (n->old) /* a store that processes share takes nothing out for one that lost it */
        return (struct fault){
            op == FAULT_OP_fetch_messages || op == FAULT_OP_fetch_work ? FAULT_BEFORE : FAULT_NONE,
            PAWL_UNAVAILABLE};
    if (!s->healing && s->mono_ms < s->outage_until_ms)
        return (struct fault){FAULT_BEFORE, PAWL_UNAVAILABLE};
    if (op == FAULT_OP_commit)
        return commit_fault(s);
    if (op == FAULT_OP_outcome)
        return outcome_fault(s);
    if (op == FAULT_OP_fetch_messages || op == FAULT_OP_fetch_work ||
        op == FAULT_OP_fetch_deadlines || op == FAULT_OP_next_due)
        return when(s, SITE_fetch, PAWL_UNAVAILABLE);
    struct fault lost;
    bool removes = op == FAULT_OP_purge || op == FAULT_OP_prune_executions;
    if (removes && loses_reply(s, &lost))
        return lost;
    if (removes)
        return when(s, SITE_purge, PAWL_BUSY);
    if (op == FAULT_OP_space)
        return when(s, SITE_space, PAWL_DISK_FULL);
    return when(s, SITE_read, PAWL_UNAVAILABLE); /* take, find, read … */
}

void faults_done(void *user)
{
    (void)user;
    memory_resume();
}

/* ---- The process ------------------------------------------------------------------------- */

static void at_point(struct node *n, const char *name)
{
    struct sim *s = n->sim;
    n->inside += strcmp(name, "activity.before") == 0;
    n->inside -= strcmp(name, "activity.after") == 0;
    if (n->frozen)
        return;
    if (strcmp(name, "commit.before") == 0)
        s->half_group = n->rt->fence.group_no;
    if (strcmp(name, "activity.before") == 0)
        faults_look(s);
    if (strcmp(name, "commit.after") == 0 && may_look(s, n))
        check_store(s);
    if (!n->old && fires(s, SITE_point)) {
        sim_trace(s, "dies at %s", name);
        n->frozen = true;
    }
}

void faults_point(void *user, const char *name)
{
    memory_pause();
    at_point(user, name);
    memory_resume();
}

/* ---- The clocks -------------------------------------------------------------------------- */

/* An activity that waits for the runtime while it runs on its thread: time passes. */
static void count_spin(struct node *n)
{
    if (++n->spins > 50000)
        sim_fail(n->sim, "L6", "a step does not come to rest");
    if (n->inside > 0 && n->frozen)
        n->rt->health.dead = PAWL_UNKNOWN; /* so that the activity comes back */
    if (n->inside > 0 && n->spins > 100) {
        n->sim->wall_ms += 10;
        n->sim->mono_ms += 10;
    }
}

static int64_t now_ms(void *user)
{
    struct node *n = user;
    struct sim *s = n->sim;
    count_spin(n);
    int64_t now = s->wall_ms + n->skew_ms;
    if (now > s->wall_max_ms)
        s->wall_max_ms = now;
    return now;
}

static int64_t mono_ms(void *user)
{
    struct node *n = user;
    count_spin(n);
    return n->sim->mono_ms;
}

static void random_bits(void *user, void *to, size_t n)
{
    struct node *node = user;
    for (unsigned char *p = to; n; n--)
        *p++ = (unsigned char)prng_next(&node->sim->bytes);
}

pawl_env faults_env(struct node *n)
{
    return (pawl_env){.user = n,
                      .now_ms = now_ms,
                      .mono_ms = mono_ms,
                      .random = random_bits,
                      .point = faults_point};
}

void faults_outage(struct sim *s)
{
    static const int64_t lengths[] = {5, 100, 3000, 60000};
    if (s->mono_ms < s->outage_until_ms || !faults_fires(s, SITE_outage))
        return;
    s->outage_until_ms = s->mono_ms + lengths[prng_below(&s->more, COUNT_OF(lengths))];
}

void faults_clock(struct sim *s)
{
    static const int64_t sizes[] = {1, 50, 5000, 600000, 7200000};
    if (!fires(s, SITE_clock))
        return;
    int64_t by = sizes[prng_below(&s->clock, COUNT_OF(sizes))];
    s->wall_ms += prng_chance(&s->clock, 500) ? by : -by;
    sim_trace(s, "the wall clock jumps to %lld", (long long)s->wall_ms);
}

/* ---- Mail twice ----------------------------------------------------------------------------- */

static bool may_come_twice(const pawl_message *m)
{
    switch ((pawl_message_kind)m->kind) {
    case PAWL_MSG_ACTIVITY_COMPLETED:
    case PAWL_MSG_ACTIVITY_FAILED:
    case PAWL_MSG_TIMER_FIRED:
    case PAWL_MSG_CHILD_COMPLETED:
    case PAWL_MSG_CHILD_FAILED:
    case PAWL_MSG_CANCEL:
    case PAWL_MSG_TERMINATE:
    case PAWL_MSG_CANCEL_DEADLINE:
        return true;
    case PAWL_MSG_START:
    case PAWL_MSG_EXTERNAL_RAISED:
    case PAWL_MSG_SUSPEND:
    case PAWL_MSG_RESUME:
    case PAWL_MSG_WAKE:
    case PAWL_MSG_QUEUE_PUSH:
    case PAWL_MSG_SCHEDULE:
    case PAWL_MSG_UPDATE:
        return false;
    }
    return false;
}

/* Somebody else (another node, a late transaction) put this row there. */
void faults_inject(struct sim *s, const pawl_message *like)
{
    pawl_runtime *rt = s->node->rt;
    if (rt->staging.doubt.is || s->half) /* before the outcome is known and the rest repaired,
                                          * this fence may write nothing */
        return;
    pawl_message m = *like;
    m.id = rt->fence.next_id++;
    if (!like->id && rt->caps.shared) /* no copy of a row, which has a label */
        m.shard = PAWL_SHARD_LOOK;
    m.attempt = 0;
    m.mailbox = false;
    pawl_round round = {.messages = &m, .message_count = 1};
    pawl_error err;
    if (s->inner->ops->commit(s->inner, &rt->fence, &round, 1, s->wall_ms, &err) != PAWL_OK ||
        round.result != PAWL_OK)
        sim_fail(s, "inject", "the store refuses a message: %s", err.text);
    s->inner->ops->abandon_messages(s->inner, &m.id, 1);
    rt->due.fetch_messages = true;
    rt->due.ask = true;
    s->n->duplicates++;
    sim_trace(s, "duplicate: message kind %d of uid %llu ref %llu as %llu", m.kind,
              (unsigned long long)m.uid, (unsigned long long)m.ref, (unsigned long long)m.id);
    check_store(s);
}

/* A completion of a task that is over, with something else in it. */
static void inject_late(struct sim *s, const struct seen *i)
{
    static const struct {
        int schedule, message;
    } kinds[] = {
        {PAWL_EV_ACTIVITY_SCHEDULED,          PAWL_MSG_ACTIVITY_COMPLETED},
        {PAWL_EV_TIMER_CREATED,               PAWL_MSG_TIMER_FIRED       },
        {PAWL_EV_SUB_ORCHESTRATION_SCHEDULED, PAWL_MSG_CHILD_FAILED      },
    };
    if (!i->task_count)
        return;
    size_t at = prng_below(&s->faults, i->task_count);
    const struct seen_task *t = &i->tasks[at];
    for (size_t k = 0; k < COUNT_OF(kinds) && t->now != TASK_IS_OPEN; k++)
        if (kinds[k].schedule == t->kind)
            faults_inject(s, &(pawl_message){.uid = i->uid,
                                             .kind = kinds[k].message,
                                             .execution = i->execution,
                                             .ref = at + 1,
                                             .data = pawl_s("too late"),
                                             .created_ms = s->wall_ms});
}

/* The start of a child that is there already. */
void faults_restart(struct sim *s)
{
    const struct seen *i = s->seen_count ? s->seen[prng_below(&s->more, s->seen_count)] : NULL;
    if (!i || i->removed || !i->parent_uid || !i->first_input || !faults_fires(s, SITE_restart))
        return;
    char attrs[160];
    (void)snprintf(attrs, sizeof(attrs),
                   "{\"parent_uid\":%llu,\"parent_execution\":%llu,\"parent_ref\":%llu}",
                   (unsigned long long)i->parent_uid, (unsigned long long)i->parent_execution,
                   (unsigned long long)i->parent_ref);
    faults_inject(s, &(pawl_message){.instance = pawl_s(i->id),
                                     .kind = PAWL_MSG_START,
                                     .name = pawl_s("Prog"),
                                     .data = pawl_s(i->first_input),
                                     .attrs = pawl_s(attrs),
                                     .created_ms = s->wall_ms});
}

void faults_duplicate(struct sim *s)
{
    if (!s->seen_count || !fires(s, SITE_duplicate))
        return;
    struct seen *i = s->seen[prng_below(&s->faults, s->seen_count)];
    if (i->removed)
        return;
    if (prng_chance(&s->faults, 400)) {
        inject_late(s, i);
        return;
    }
    pawl_message_list list;
    pawl_error err;
    pawl_mem *mem = pawl_mem_new();
    if (s->inner->ops->read_messages(s->inner, i->uid, (pawl_str){0}, mem, &list, &err) != PAWL_OK)
        sim_fail(s, "R3", "messages of %s not readable: %s", i->id, err.text);
    if (list.count) {
        const pawl_message *m = &list.items[prng_below(&s->faults, list.count)];
        struct seen_task *t = m->ref && m->execution == i->execution ? seen_task(i, m->ref) : NULL;
        if (t)
            t->duplicated = true;
        if (may_come_twice(m))
            faults_inject(s, m);
    }
    pawl_mem_free(mem);
}
