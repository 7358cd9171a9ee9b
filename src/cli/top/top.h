/* SPDX-License-Identifier: MIT */
/*
 * cli/top/top.h -- `pawl top`: a server, or a store that no process serves, on a terminal.
 *
 *   top.c        the loop: signals, keys, the stream, time
 *   top_read.c   what is shown, read from a server or a store
 *   top_draw.c   the pages, on paper
 *   top_act.c    questions, and the calls that change something
 *   screen.c     the terminal;  keys.c  its keys
 *
 * One thread.  A server is asked when its stream says that something changed, at most once a
 * second; a store is asked when its files changed, at most once a second.  A call that waits ends
 * when a key is pressed (http_patience), so that the keys always work.
 */
#ifndef PAWL_CLI_TOP_TOP_H
#define PAWL_CLI_TOP_TOP_H

#include "base/limits.h"
#include "cli/changes.h"
#include "cli/session.h"
#include "cli/top/keys.h"
#include "cli/top/screen.h"

#define TOP_STATES   (PAWL_CONTINUED_AS_NEW + 1)
#define TOP_ROWS     200 /* instances that are read */
#define TOP_PROBLEMS 32
#define TOP_QUEUES   50
#define TOP_SECONDS  60
#define TOP_LINE     512 /* bytes of a line that is typed */

/* What a person should look at, by cause. */
struct top_problem {
    pawl_str kind, orchestration, detail, instance;
    uint64_t count;
    int64_t since_ms;
};

struct top_row {
    pawl_str id, orchestration, what;
    pawl_state state;
    int64_t created_ms, updated_ms;
    int64_t since_ms, due_ms; /* the times of what it waits for */
    bool asked;               /* what it waits for was read */
};

struct top_queue {
    pawl_str name;
    uint64_t ready, delayed, locked;
    int64_t oldest_ms; /* when it was enqueued; 0: none */
    bool paused;
};

/* X(name in the series) */
#define TOP_RATES(X) X(starts) X(ended) X(failed) X(activities) X(retried) X(commits) X(commit_us)

enum top_rate {
#define TOP_RATE_ENUM(name) TOP_##name,
    TOP_RATES(TOP_RATE_ENUM)
#undef TOP_RATE_ENUM
        TOP_RATE_COUNT
};

/* All that was read, in one memory. */
struct top_view {
    pawl_mem *mem;
    bool known; /* read at least once */
    bool exact; /* the counts are exact, not estimates */
    bool has_rates, more_rows;
    uint64_t counts[TOP_STATES];
    struct top_problem problems[TOP_PROBLEMS];
    size_t problem_count;
    struct top_row *rows;
    size_t row_count;
    struct top_queue queues[TOP_QUEUES];
    size_t queue_count;
    double rates[TOP_RATE_COUNT][TOP_SECONDS];
    int64_t read_ms; /* when, by the clock of the machine that has the instances */
    int64_t skew_ms; /* that clock minus this machine's */
    int64_t started_ms;
    uint64_t rss_bytes, disk_free_bytes;
    pawl_str version, trouble;
};

enum top_page { TOP_MAIN, TOP_INSTANCE, TOP_HELP };

/* A question at the foot of the screen. */
struct top_question {
    bool on;
    pawl_op op;
    char id[LIMIT_CHILD_ID_BYTES + 1];
    char event[TOP_LINE]; /* the name for a raise, once it was typed */
    bool wants_data;      /* its data comes next */
    char line[TOP_LINE];
};

struct top {
    struct cli *cli;
    struct session *session;
    struct changes changes;
    struct screen screen;
    struct top_view view;
    enum top_page page, help_from; /* which page help was asked on */
    int either;                    /* readable: a key or a signal waits */
    bool quit;
    bool dirty;        /* something changed, or may have */
    int64_t read_at;   /* not before this time, by the monotonic clock */
    bool gone;         /* the last reading failed */
    int64_t gone_ms;   /* since when (wall clock) */
    char trouble[512]; /* why */

    int state;             /* shown: pawl_state + 1; 0: all */
    char filter[TOP_LINE]; /* the beginning of an id; @NAME: an orchestration */
    char asked_filter[TOP_LINE];
    bool filtering;       /* it is being typed */
    size_t cursor, first; /* among problems and rows; the first row shown */
    unsigned row_space;   /* rows of instances on the screen */
    char cursor_id[LIMIT_CHILD_ID_BYTES + 1];

    char open_id[LIMIT_CHILD_ID_BYTES + 1]; /* the instance of TOP_INSTANCE */
    struct paper open;                      /* why and timeline, as lines */
    pawl_mem *open_mem;
    pawl_str why;
    int64_t open_ms; /* when they were read; their times count from then */
    bool open_dirty;
    unsigned scroll;

    struct top_question question;
    char message[300];
    bool bad_message;
    int64_t message_until; /* monotonic */

    char input[256]; /* bytes of keys */
    size_t input_count;
    const char *file; /* of the store; NULL: a server is asked */
    char seen[96];    /* what the files looked like */
};

#define TOP_CALL_MS 10000 /* the longest call */

/* top.c */
int top_run(struct cli *cli, struct session *session);
/* Calls end when a key is pressed. */
void top_patience(struct top *t);
void top_say(struct top *t, bool bad, const char *format, ...) PAWL_PRINTF(3, 4);

/* top_read.c.  False: it could not be read, and t->gone says so, or a key ended it. */
bool top_read(struct top *t);
/* What the rows on the screen wait for. */
void top_read_waits(struct top *t);
bool top_read_instance(struct top *t);
/* Did the files of a store change since the last time? */
bool top_store_changed(struct top *t);
int64_t top_now_ms(const struct top *t); /* by the clock of the machine that has the instances */

/* top_draw.c */
void top_draw(struct top *t, struct paper *p, unsigned rows);
/* What the cursor is on: a row or NULL, a problem or NULL. */
const struct top_row *top_row_at(const struct top *t);
const struct top_problem *top_problem_at(const struct top *t);

/* top_act.c */
/* Ask before doing it; to the instance of the page or under the cursor. */
void top_ask(struct top *t, pawl_op op);
/* Handle a key while a question is asked. */
void top_answer(struct top *t, const struct key_press *press);
/* Change a typed line; false: this key changes no line. */
bool top_edit(char line[TOP_LINE], const struct key_press *press);

#endif
