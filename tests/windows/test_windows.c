/* SPDX-License-Identifier: MIT */
/*
 * tests/windows/test_windows.c -- every crash window of both modes.
 *
 * For every flow and store, every store call the flow makes is made to fail before
 * it, after it, for long, and to take the process with it; in the jsonl store also
 * every point between its ordered steps.  Each is a test with a name:
 *
 *     jsonl.event.commit.3.dies_after
 *
 *     test_windows [WORD]      only those whose name contains it; prints them
 *
 * A flow on a store runs in a process of its own, so a crash is one failure.
 */
#include "window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const store_names[] = {"memory", "sqlite", "jsonl"};

struct totals {
    int passed, failed;
};

static const char *word = "";

/* What an undisturbed run leaves and does. */
struct reference {
    char *left;
    uint64_t calls[FAULT_OP_COUNT];
    uint64_t points;
};

static bool check(const char *name, const struct window *w, const char *expected)
{
    if (!w->trouble[0] && !w->left.failed && strcmp(buf_slice(&w->left).ptr, expected) == 0) {
        if (word[0])
            printf("ok   %s\n", name);
        return true;
    }
    printf("FAIL %s: %s\n", name, w->trouble[0] ? w->trouble : "it left something else");
    if (!w->trouble[0])
        printf("--- got\n%s--- expected\n%s", buf_slice(&w->left).ptr, expected);
    return false;
}

static void try_one(const struct flow *flow, enum window_store kind, struct plan plan,
                    const struct reference *ref, struct totals *totals)
{
    char name[160];
    bool point = plan.way == WAY_POINT_FAIL || plan.way == WAY_POINT_DIE;
    snprintf(name, sizeof(name), "%s.%s.%s.%llu.%s", store_names[kind], flow->name,
             point ? "step" : fault_op_name(plan.op), (unsigned long long)plan.nth,
             window_ways[plan.way]);
    if (plan.busy)
        strcat(name, "_busy");
    if (!strstr(name, word))
        return;
    struct window w;
    window_drive(&w, flow, kind, plan);
    if (check(name, &w, ref->left))
        totals->passed++;
    else
        totals->failed++;
    window_forget(&w);
}

/* Only a commit can happen and be reported as failed, or be lost. */
static bool makes_sense(enum fault_op op, enum window_way way)
{
    bool after = way == WAY_AFTER || way == WAY_LOST || way == WAY_DIE_AFTER;
    return !after || op == FAULT_OP_commit || op == FAULT_OP_purge;
}

/* Where the process dies, also with an activity of somebody else running: its blame is a
 * commit of its own, before anything is mended. */
static void try_both(const struct flow *flow, enum window_store kind, struct plan plan,
                     const struct reference *ref, struct totals *totals)
{
    bool dies = plan.way == WAY_POINT_DIE ||
                (plan.op == FAULT_OP_commit && (plan.way == WAY_DIE || plan.way == WAY_DIE_AFTER));
    try_one(flow, kind, plan, ref, totals);
    plan.busy = true;
    if (dies && kind != WINDOW_MEMORY)
        try_one(flow, kind, plan, ref, totals);
}

/* What is repaired in plain files may say it in other words: how long a deadline was is in no event.
 * Flows with such a text are for stores with rounds. */
static bool goes_with(const struct flow *flow, enum window_store kind)
{
    return kind != WINDOW_JSONL || strncmp(flow->name, "deadline", 8) != 0;
}

static struct totals all_windows(const struct flow *flow, enum window_store kind)
{
    struct totals totals = {0};
    struct reference ref;
    struct window w;
    window_drive(&w, flow, kind, (struct plan){0});
    const char *none =
        flow->ends_after == STAYS ? "work 0 quarantine 0" : "messages 0 work 0 quarantine 0";
    if (w.trouble[0] || !strstr(buf_slice(&w.left).ptr, none)) {
        printf("FAIL %s.%s undisturbed: %s\n%s", store_names[kind], flow->name, w.trouble,
               buf_slice(&w.left).ptr);
        window_forget(&w);
        return (struct totals){0, 1};
    }
    ref.left = strdup(buf_slice(&w.left).ptr);
    memcpy(ref.calls, w.calls, sizeof(ref.calls));
    ref.points = w.points;
    window_forget(&w);
    for (enum fault_op op = 0; op < FAULT_OP_COUNT; op++)
        for (uint64_t n = 1; op != FAULT_OP_space && n <= ref.calls[op]; n++)
            for (enum window_way way = WAY_BEFORE; way <= WAY_DIE_AFTER; way++)
                if (makes_sense(op, way))
                    try_both(flow, kind, (struct plan){.way = way, .op = op, .nth = n}, &ref,
                             &totals);
    for (uint64_t n = 1; n <= ref.points; n++)
        for (enum window_way way = WAY_POINT_FAIL; way <= WAY_POINT_DIE; way++)
            try_both(flow, kind, (struct plan){.way = way, .op = FAULT_OP_commit, .nth = n}, &ref,
                     &totals);
    free(ref.left);
    return totals;
}

static struct totals in_a_process(const struct flow *flow, enum window_store kind)
{
    struct totals totals = {0, 1};
    int ends[2], status;
    fflush(NULL);
    if (pipe(ends) != 0)
        return totals;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(300);
        totals = all_windows(flow, kind);
        fflush(NULL);
        ssize_t n = write(ends[1], &totals, sizeof(totals));
        _exit(n == sizeof(totals) ? 0 : 1);
    }
    close(ends[1]);
    struct totals got;
    if (read(ends[0], &got, sizeof(got)) == sizeof(got))
        totals = got;
    close(ends[0]);
    (void)waitpid(pid, &status, 0);
    if (WIFSIGNALED(status))
        printf("FAIL %s.%s: killed by signal %d\n", store_names[kind], flow->name,
               WTERMSIG(status));
    return totals;
}

int main(int argc, char **argv)
{
    struct totals sum = {0};
    word = argc > 1 ? argv[1] : "";
    for (enum window_store kind = 0; kind < WINDOW_STORES; kind++) {
        struct totals of_store = {0};
        for (size_t i = 0; i < flow_count; i++) {
            if (!goes_with(&flows[i], kind))
                continue;
            struct totals t = in_a_process(&flows[i], kind);
            of_store.passed += t.passed;
            of_store.failed += t.failed;
        }
        printf("| %-8s %5d crash windows, %d failed\n", store_names[kind],
               of_store.passed + of_store.failed, of_store.failed);
        sum.passed += of_store.passed;
        sum.failed += of_store.failed;
    }
    printf("test_windows: %d passed, %d failed\n", sum.passed, sum.failed);
    return sum.failed != 0;
}
