/* SPDX-License-Identifier: MIT */
/*
 * cli/deed.h -- verbs that have verbs, such as `pawl queue push`: deed_table.c (finds the row),
 * verb_queue.c (the table of `pawl queue` and its calls), deed_push.c (items in), deed_out.c
 * (answers out), deed_object.c (schedules and limits), verb_schedule.c, verb_limit.c.
 */
#ifndef PAWL_CLI_DEED_H
#define PAWL_CLI_DEED_H

#include "cli/session.h"

struct deed {
    const char *word, *usage;
    size_t min, max;   /* how many words, itself included */
    const char *flags; /* the flags of the verb that it takes */
    int (*run)(struct cli *cli, struct session *s, const struct deed *deed);
    const char *method, *path; /* after /queue/NAME; NULL: of no queue */
    int (*body)(struct cli *cli, pawl_json *w);
    const char *list, *id; /* the array of its answer, and what names one of them */
};

/* ---- Rows and paths (deed_table.c) --------------------------------------------------- */

#define DEEDS_MAX 32

/* Find the row of the first word, and check its words and flags.  0, or an exit status: the error
 * was printed.  `group`: the flags that only some rows take. */
int deed_find(struct cli *cli, const struct deed *deeds, size_t count, uint64_t group,
              const struct deed **ret);
/* Run the row on a server; returns the exit status. */
int deed_run(struct cli *cli, const struct deed *deed);
/* The path with one more parameter. */
pawl_str deed_with(struct cli *cli, pawl_str path, const char *key, const char *value);
pawl_str deed_with_number(struct cli *cli, pawl_str path, const char *key, uint64_t n);

/* ---- Calls (verb_queue.c): 0, or an exit status: the error was printed ---- */

pawl_str deed_path(struct cli *cli, const char *rest);
int deed_call(struct cli *cli, struct session *s, const char *method, pawl_str path, pawl_str body,
              const char *headers, pawl_str *ret);
/* A member when there is one; a time in seconds. */
void deed_text(pawl_json *w, const char *key, const char *text);
void deed_seconds(pawl_json *w, const char *key, int64_t ms);

/* ---- Items in (deed_push.c) -------------------------------------------------------- */

/* The header of --key, NULL when there is none; `batch` tells several of one key apart. */
int deed_key_header(struct cli *cli, size_t batch, const char **ret);
int deed_push(struct cli *cli, struct session *s, const struct deed *deed);

/* ---- Answers out (deed_out.c) ------------------------------------------------------ */

/* Returns the exit status; that of an empty pop is the one of a time-out. */
int deed_print(struct cli *cli, const struct deed *deed, pawl_str answer);

/* A list that may come in pages. */
struct deed_pages {
    struct cli *cli;
    const struct deed *deed;
    pawl_json *w; /* one document of all pages; NULL: a line each */
    uint64_t count;
};

int deed_pages_begin(struct deed_pages *p, struct cli *cli, const struct deed *deed);
void deed_pages_add(struct deed_pages *p, pawl_str answer);
void deed_pages_end(struct deed_pages *p, const char *next);

#endif
