/* SPDX-License-Identifier: MIT */
/*
 * tests/vfs/test_errors.c -- every operation of every story fails, once or for long.
 *
 *     test_errors [--full] [--seed N] [--seconds N] [--summary FILE] [WORD]
 *
 * At each operation the process forks; in the child it fails (an I/O error, a full disk,
 * a lock somebody has, a failed sync whose changes are forgotten) and the
 * story goes on: clients try again, a runtime that stopped itself is opened again, now
 * and then after a power loss.  At the end everything is as if nothing had happened, and
 * still is after a power loss: whatever was written by a sync that failed was not
 * trusted.  A client may hear of the trouble, history may not.
 */
#include "base/attr.h"
#include "run.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOR_LONG 12 /* operations of that kind in a row */

static struct {
    struct world w;
    const struct run *run;
    struct buf expected;
    uint32_t point;
    bool armed, child;
    enum disk_op op;
    enum disk_fault fault;
    int left;          /* so many still fail */
    bool ends_in_dark; /* power goes when the runtime stops itself */
    struct run_totals totals;
    char where[160];
} t;

static const struct {
    enum disk_op op;
    enum disk_fault fault;
} faults[] = {
    {DISK_READ,     DISK_IO_ERROR  },
    {DISK_READ,     DISK_SHORT     },
    {DISK_OPEN,     DISK_IO_ERROR  },
    {DISK_LOCK,     DISK_BUSY      },
    {DISK_LOCK,     DISK_IO_ERROR  },
    {DISK_SHARE,    DISK_IO_ERROR  },
    {DISK_WRITE,    DISK_IO_ERROR  },
    {DISK_WRITE,    DISK_FULL_ERROR},
    {DISK_TRUNCATE, DISK_IO_ERROR  },
    {DISK_SYNC,     DISK_IO_ERROR  },
    {DISK_SYNC,     DISK_SYNC_LOST },
    {DISK_CREATE,   DISK_IO_ERROR  },
    {DISK_CREATE,   DISK_FULL_ERROR},
    {DISK_UNLINK,   DISK_IO_ERROR  },
    {DISK_RENAME,   DISK_IO_ERROR  },
    {DISK_SYNC_DIR, DISK_IO_ERROR  },
};

#define fail(...) run_fail("errors", t.where, &t.totals, __VA_ARGS__)

/* ---- In the child ------------------------------------------------------------------- */

static void on_ended(struct world *w)
{
    (void)w;
    if (t.ends_in_dark)
        disk_lose_power(DISK_KEEP_NONE, t.point);
}

static bool leaves_the_same(const char *when)
{
    struct buf left;
    struct sight s;
    buf_init(&left, 1 << 20);
    look(&s, true);
    if (s.trouble[0]) {
        fail("%s: %s", when, s.trouble);
        return false;
    }
    look_at_end(t.w.story, &left);
    bool same = t.w.story->loose || strcmp(buf_slice(&left).ptr, buf_slice(&t.expected).ptr) == 0;
    if (!same)
        fail("%s it left something else\n--- got\n%s--- expected\n%s", when, buf_slice(&left).ptr,
             buf_slice(&t.expected).ptr);
    buf_deinit(&left);
    return same;
}

/* The story is told, with its fault: what is left? */
static void end_child(bool told)
{
    t.left = 0;
    if (!told)
        fail("%s", t.w.trouble);
    else if (leaves_the_same("at the end")) {
        disk_lose_power(DISK_KEEP_NONE, t.point);
        (void)leaves_the_same("after a power loss");
    }
    fflush(NULL);
    _exit(t.totals.failed ? 1 : 0);
}

/* ---- In the parent --------------------------------------------------------------------- */

/* True in the child. */
static bool forks(enum disk_fault fault, int times)
{
    int status;
    (void)snprintf(t.where, sizeof(t.where), "%s.%u.%s.%s.%s", t.w.story->name, t.point,
                   disk_op_names[t.op], disk_fault_names[fault], times > 1 ? "long" : "once");
    if (!run_wants(t.run, t.where))
        return false;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        t.totals = (struct run_totals){0};
        t.child = true;
        t.fault = fault;
        t.left = times;
        t.ends_in_dark = t.point % 3 == 0;
        t.w.ended = on_ended;
        t.w.again = t.w.disturbed = true;
        return true;
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        if (pid > 0 && WIFSIGNALED(status))
            printf("FAIL errors.%s: killed by signal %d\n", t.where, WTERMSIG(status));
        t.totals.failed++;
    } else {
        t.totals.passed++;
    }
    return false;
}

static enum disk_fault in_child(enum disk_op op)
{
    if (op != t.op || t.left == 0)
        return DISK_FINE;
    t.left--;
    return t.fault;
}

/* Frequent and harmless operations are sampled. */
static bool is_sampled(enum disk_op op)
{
    if (t.run->word[0])
        return true;
    uint32_t every = op == DISK_READ || op == DISK_LOCK ? 61 : op == DISK_WRITE ? 29 : 3;
    every = t.run->full ? (every + 9) / 10 : every;
    return (t.point + t.run->seed) % every == 0;
}

static enum disk_fault on_operation(enum disk_op op, const char *path)
{
    (void)path;
    if (t.child)
        return in_child(op);
    if (!t.armed)
        return DISK_FINE;
    t.point++;
    if (!is_sampled(op))
        return DISK_FINE;
    t.op = op;
    for (size_t i = 0; i < COUNT_OF(faults) && !run_is_over(t.run); i++) {
        if (faults[i].op != op)
            continue;
        if (forks(faults[i].fault, 1) || forks(faults[i].fault, FOR_LONG))
            return in_child(op);
    }
    return DISK_FINE;
}

/* ---- A story ------------------------------------------------------------------------------ */

static struct run_totals run_story(const struct run *run, const struct story *story, bool opening)
{
    t.run = run;
    disk_vfs_install();
    disk_format();
    world_init(&t.w, story);
    (void)snprintf(t.where, sizeof(t.where), "%s.calm", story->name);
    buf_init(&t.expected, 1 << 20);
    if (!world_tell(&t.w))
        fail("%s", t.w.trouble);
    look_at_end(t.w.story, &t.expected);
    world_close(&t.w);
    disk_format();
    world_init(&t.w, story);
    disk_hook = on_operation;
    t.armed = opening;
    bool told = world_up(&t.w) || t.child;
    t.armed = true;
    told = told && world_tell(&t.w);
    if (t.child)
        end_child(told);
    t.armed = false;
    if (!told)
        fail("undisturbed: %s", t.w.trouble);
    t.totals.points = (int)t.point;
    return t.totals;
}

int main(int argc, char **argv)
{
    struct run run;
    run_options(&run, argc, argv);
    struct run_totals sum = run_all(&run, run_story);
    return run_sum_up(&run, "test_errors", "error points", &sum);
}
