/* SPDX-License-Identifier: MIT */
/*
 * tests/vfs/test_power.c -- the power goes at every write, sync and rename of every story.
 *
 *     test_power [--full] [--seed N] [--seconds N] [--summary FILE] [--mutant normal|off] [WORD]
 *
 * At each operation that changes the disk the process forks; in the child the power
 * goes, the disk keeps what disk.h lets it keep, and
 *
 *   - the database is whole (integrity check), and holds exactly the state of some commit,
 *   - not an earlier one than the last that was reported as done,
 *   - with the schedule of every activity that began;
 *   - then the story goes on, and what it leaves is what an undisturbed one leaves.
 *
 * Some children lose power a second time on the way up.  While the story is told in the
 * parent, every answer and every start of an activity must find the WAL synced: that is
 * the order of things, checked without any crash.
 *
 * --mutant sets SQLite's synchronous lower behind the store's back; then the test must
 * fail, which the program checks by itself at the end.
 */
#include "base/point.h"
#include "base/vec.h"
#include "run.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPORTS_MAX 200000

/* What a child found: which commit it came back to. */
struct report {
    uint64_t epoch, group, hash;
    uint32_t point;
    uint8_t damage;
};

struct shared {
    uint32_t count;
    struct report reports[REPORTS_MAX];
};

static struct {
    struct world w;
    const struct run *run;
    struct shared *shared;
    VEC(struct sight) states; /* after each commit */
    VEC(struct begun) begun;
    struct buf expected;
    uint32_t point;  /* operations that changed the disk so far */
    uint32_t second; /* a child: lose power again after so many; 0: no */
    bool armed;
    struct run_totals totals;
    char where[160];
} t;

/* ---- In the parent ------------------------------------------------------------------- */

#define fail(...) run_fail("power", t.where, &t.totals, __VA_ARGS__)

static void on_point(const char *name)
{
    if (strcmp(name, "sqlite.commit.after") != 0)
        return;
    struct sight *s = vec_push(&t.states);
    if (!s)
        abort();
    look_beside(s);
}

static void in_order(struct world *w, const char *what)
{
    t.totals.ordered++;
    if (disk_unsafe(WORLD_FILE "-wal") || disk_unsafe(WORLD_FILE))
        world_trouble(w, "%s before its commit was synced", what);
}

static void on_told(struct world *w)
{
    in_order(w, "an answer was given");
}

static void on_acted(struct world *w, const pawl_work *work)
{
    struct begun *at = vec_push(&t.begun);
    in_order(w, "an activity began");
    if (at)
        *at = (struct begun){work->id, work->uid, work->execution};
}

/* ---- In the child ---------------------------------------------------------------------- */

static void report(const struct sight *s, enum disk_damage damage)
{
    uint32_t at = __atomic_fetch_add(&t.shared->count, 1, __ATOMIC_RELAXED);
    if (at < REPORTS_MAX)
        t.shared->reports[at] =
            (struct report){s->epoch, s->group, s->hash, t.point, (uint8_t)damage};
}

static bool is_before(const struct sight *a, const struct sight *b)
{
    return a->epoch < b->epoch || (a->epoch == b->epoch && a->group < b->group);
}

/* What is on the disk right after the power came back. */
static bool is_sound(enum disk_damage damage)
{
    struct sight s;
    uint64_t missing = 0;
    look(&s, true);
    if (s.trouble[0]) {
        fail("%s", s.trouble);
    } else if (t.states.count && (!s.there || is_before(&s, &t.states.items[t.states.count - 1]))) {
        fail("commit %d of epoch %d was reported as done and is lost (there is %d of %d)",
             (int)t.states.items[t.states.count - 1].group,
             (int)t.states.items[t.states.count - 1].epoch, (int)s.group, (int)s.epoch);
    } else if (t.begun.count &&
               !look_for_begun(t.begun.items, t.begun.count, story_removes(t.w.story), &missing)) {
        fail("an activity began whose schedule %d is lost", (int)missing);
    } else {
        if (s.there && !t.second)
            report(&s, damage);
        return true;
    }
    return false;
}

static void goes_on(void)
{
    struct buf left;
    t.w.rt = NULL;
    t.w.app = NULL;
    t.w.again = true;
    t.w.told = NULL;
    t.w.acted = NULL;
    t.w.trouble[0] = 0;
    buf_init(&left, 1 << 20);
    if (!world_tell(&t.w)) {
        fail("%s", t.w.trouble);
        return;
    }
    look_at_end(t.w.story, &left);
    if (!t.w.story->loose && strcmp(buf_slice(&left).ptr, buf_slice(&t.expected).ptr) != 0)
        fail("it left something else\n--- got\n%s--- expected\n%s", buf_slice(&left).ptr,
             buf_slice(&t.expected).ptr);
    struct sight s;
    look(&s, true);
    if (s.trouble[0])
        fail("at the end: %s", s.trouble);
}

/* The power goes, here and now; ends the process. */
static void lose_power(enum disk_damage damage, uint64_t seed)
{
    uint32_t again = t.second;
    t.totals = (struct run_totals){0};
    t.armed = false;
    point_hook = NULL;
    alarm(60);
    disk_lose_power(damage, seed);
    if (is_sound(damage)) {
        /* Every fourth loses power again while it comes up. */
        t.second = !again && seed % 4 == 3 ? 1 + (uint32_t)(seed / 4 % 120) : 0;
        if (t.second) {
            t.armed = true;
            t.states.count = 0;
            point_hook = on_point;
        }
        goes_on();
    }
    fflush(NULL);
    _exit(t.totals.failed ? 1 : 0);
}

static void fork_and_lose(enum disk_damage damage, uint64_t seed)
{
    int status;
    (void)snprintf(t.where, sizeof(t.where), "%s.%u.%s.%llu%s", t.w.story->name, t.point,
                   disk_damage_names[damage], (unsigned long long)seed, t.second ? ".second" : "");
    if (!t.second && !run_wants(t.run, t.where))
        return;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        lose_power(damage, seed);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        if (pid > 0 && WIFSIGNALED(status))
            printf("FAIL power.%s: killed by signal %d\n", t.where, WTERMSIG(status));
        t.totals.failed++;
        return;
    }
    t.totals.passed++;
}

/* Before every operation. */
static enum disk_fault on_operation(enum disk_op op, const char *path)
{
    (void)path;
    if (!t.armed || !disk_op_changes(op))
        return DISK_FINE;
    if (t.second) {
        if (--t.second == 0) {
            t.armed = false;
            t.second = 1;
            fork_and_lose(DISK_KEEP_NONE + t.point % DISK_DAMAGES, 1000000 + t.point);
            t.second = 0;
            point_hook = NULL;
        }
        return DISK_FINE;
    }
    if ((++t.point + t.run->seed) % 4 && op == DISK_WRITE && !t.run->full && !t.run->word[0])
        return DISK_FINE; /* a sample: all syncs, renames … and every fourth write */
    for (int v = 0; v < t.run->variants && !run_is_over(t.run); v++) {
        uint64_t seed = t.run->seed * 1000 + (uint64_t)v;
        enum disk_damage damage = (enum disk_damage)(
            (t.point * (uint32_t)t.run->variants + (uint32_t)v + t.run->seed) % DISK_DAMAGES);
        fork_and_lose(damage, seed);
    }
    return DISK_FINE;
}

/* ---- A story -------------------------------------------------------------------------------- */

static const struct sight *state_of(const struct report *r)
{
    for (size_t i = 0; i < t.states.count; i++)
        if (t.states.items[i].epoch == r->epoch && t.states.items[i].group == r->group)
            return &t.states.items[i];
    return NULL;
}

/* Each child came back to a state that was committed, row for row. */
static void compare_reports(void)
{
    for (uint32_t i = 0; i < t.shared->count && i < REPORTS_MAX; i++) {
        const struct report *r = &t.shared->reports[i];
        const struct sight *s = state_of(r);
        (void)snprintf(t.where, sizeof(t.where), "%s.%u.%s", t.w.story->name, r->point,
                       disk_damage_names[r->damage]);
        if (s ? s->hash != r->hash : r->epoch > 0)
            fail("it came back to a state that never was (epoch %d, commit %d)", (int)r->epoch,
                 (int)r->group);
        else
            t.totals.states++;
    }
}

static void tell_calmly(const struct story *story)
{
    disk_format();
    world_init(&t.w, story);
    (void)snprintf(t.where, sizeof(t.where), "%s.calm", story->name);
    buf_init(&t.expected, 1 << 20);
    if (!world_tell(&t.w))
        fail("%s", t.w.trouble);
    look_at_end(t.w.story, &t.expected);
    if (strstr(buf_slice(&t.expected).ptr, " quarantine 0") == NULL)
        fail("left rows behind:\n%s", buf_slice(&t.expected).ptr);
    world_close(&t.w);
}

static struct run_totals run_story(const struct run *run, const struct story *story, bool opening)
{
    t.run = run;
    t.shared =
        mmap(NULL, sizeof(*t.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (t.shared == MAP_FAILED)
        abort();
    disk_vfs_install();
    tell_calmly(story);
    if (t.totals.failed)
        return t.totals;
    disk_format();
    world_init(&t.w, story);
    t.w.told = on_told;
    t.w.acted = on_acted;
    point_hook = on_point;
    disk_hook = on_operation;
    t.armed = opening;
    if (world_up(&t.w)) {
        t.armed = true;
        if (!world_tell(&t.w)) {
            (void)snprintf(t.where, sizeof(t.where), "%s.order", story->name);
            fail("%s", t.w.trouble);
        }
    } else {
        fail("cannot open");
    }
    t.armed = false;
    compare_reports();
    t.totals.points = (int)t.point;
    return t.totals;
}

/* The test must see a store that does not sync. */
static bool notices(struct run run, const char *mutant, const struct story *story)
{
    run.mutant = mutant;
    run.quiet = true;
    run.word = "";
    struct run_totals got = run_in_process(&run, story, run_story);
    printf("%s power.mutant.%s: %d of %d power losses noticed\n", got.failed ? "ok  " : "FAIL",
           mutant, got.failed, got.failed + got.passed);
    return got.failed > 0;
}

int main(int argc, char **argv)
{
    struct run run;
    run_options(&run, argc, argv);
    run.variants = run.full ? 2 * DISK_DAMAGES : 1;
    struct run_totals sum = run_all(&run, run_story);
    if (!run.mutant && !run.word[0] && !run.seconds) {
        size_t count;
        const struct story *story = &stories(&count)[1];
        int noticed = notices(run, "normal", story) + notices(run, "off", story);
        sum.passed += noticed;
        sum.failed += 2 - noticed;
    }
    return run_sum_up(&run, "test_power", "power losses", &sum);
}
