/* SPDX-License-Identifier: MIT */
/*
 * cli/cli.h -- what the verbs share: arguments, exit statuses, errors.
 *
 * The command line is an ordinary user of the public API: it opens a runtime on
 * a data directory, does one thing, closes it.  A verb is a row in a table
 * (main.c) and a function here; a flag is a row in a table (flags.c) and a field
 * of struct args.  One thread: the engine's callbacks only post to it (watch.c).
 *
 * Strings in struct args are borrowed from argv and the environment.
 */
#ifndef PAWL_CLI_CLI_H
#define PAWL_CLI_CLI_H

#include "base/attr.h"
#include "pawl.h"

#include <stdarg.h>
#include <stdio.h>

/* Exit statuses (documented in docs/guide/cli.md). */
enum cli_exit {
    EXIT_OK = 0,
    EXIT_FAILED = 1,       /* the instance failed, was cancelled or is blocked */
    EXIT_USAGE = 2,        /* the command line is wrong */
    EXIT_NO_STORE = 3,     /* no store, or it cannot be used now */
    EXIT_NOT_THERE = 4,    /* not found, or the state forbids it */
    EXIT_TIMEOUT = 5,      /* --timeout ran out */
    EXIT_NO_OUTPUT = 74,   /* standard output could not be written */
    EXIT_UNKNOWN = 75,     /* commit outcome unknown; a restart resolves it */
    EXIT_INTERRUPTED = 128 /* plus the signal: 130 for Ctrl-C */
};

enum cli_output { OUTPUT_TABLE, OUTPUT_JSON, OUTPUT_JSONL, OUTPUT_IDS };
enum cli_color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

#define CLI_NOT_GIVEN UINT64_MAX /* a number that may be 0 */
#define CLI_LIST_MAX  64         /* how often --load and --raise may be given */

struct cli_list {
    const char *items[CLI_LIST_MAX];
    uint32_t count;
};

/* Every flag of every verb; flags.c says which verb takes which. */
struct args {
    pawl_options options; /* data, store, workers, limits … as given to the runtime */
    struct cli_list load;
    int output;    /* enum cli_output */
    int color;     /* enum cli_color */
    int log_level; /* pawl_log_level; -1: the default of the verb */
    bool quiet;
    bool help;

    const char *input; /* JSON, @FILE or - */
    const char *id;
    const char *version;
    bool allow_unregistered;
    struct cli_list raise; /* EVENT=JSON */
    struct cli_list attr;  /* NAME=VALUE */
    struct cli_list where; /* ls */
    const char *count_by;  /* ls */
    const char *payload;   /* of raise */
    const char *key;
    bool await_start;
    int64_t start_at_ms, start_in_ms, deadline_ms;
    int if_exists;     /* pawl_if_exists */
    uint32_t attempts; /* job */
    const char *tag;
    int64_t start_to_close_ms, schedule_to_close_ms;
    const char *reason;
    bool force;
    int64_t timeout_ms; /* -1: none */
    bool until_idle;

    uint64_t execution;
    uint64_t after_seq;
    uint32_t limit;
    const char *after;
    bool all;
    bool watch;  /* ls */
    bool follow; /* show */
    bool timeline;
    bool one_screen; /* top */
    int status;      /* pawl_state + 1 */
    const char *orchestration;
    const char *prefix;
    const char *parent;
    int64_t since_ms;
    int64_t older_than_ms; /* -1: not given */

    uint32_t concurrency;
    uint32_t steps;
    uint32_t width;
    uint32_t instances;
    uint64_t seconds;
    bool json;
    bool keep;
    bool serve; /* bench: against a server of its own */

    const char *listen; /* serve */
    const char *allow_host;
    const char *tls_cert;
    const char *tls_key;
    bool insecure_listen;
    bool require_token;
    bool lenient;
    bool standby;
    size_t max_body;
    const char *url_file; /* where serve writes its address; for scripts */

    const char *url;                         /* of a server */
    const char *token;                       /* for it */
    const char *ca;                          /* authorities for https://; NULL: the system's */
    bool url_given, store_given, load_given; /* on the command line, not in the environment */

    uint64_t priority; /* queue; CLI_NOT_GIVEN: none */
    bool ack;
    int64_t ttl_ms;
    int64_t wait_ms;
    int64_t delay_ms;   /* -1: none */
    int64_t expires_ms; /* 0: none */
    const char *dedup_id;
    const char *group;
    const char *headers;
    uint32_t count;
    uint64_t max_priority; /* CLI_NOT_GIVEN: any */
    uint32_t most;         /* --max of redrive */
    uint32_t rate;
    const char *target;
    int message_state; /* any, ready, delayed, locked */
    bool replace;

    const char *faults; /* sim */
    struct cli_list activity, event, stub;
    uint32_t seeds;
    uint64_t seed;
    int64_t horizon_ms;

    bool gdb; /* replay */
    uint64_t until_seq;

    bool allow_lossy; /* a database that may forget what it confirmed */
    bool print;       /* migrate */

    struct cli_list cron, once; /* schedule */
    int64_t every_ms, offset_ms, jitter_ms, missed_window_ms;
    int64_t from_ms, to_ms; /* -1: not given */
    const char *zone, *start, *queue;
    int gap, fold, overlap, missed; /* as in pawl/schedule.h */
    uint32_t queue_max;
    uint64_t max_runs;
    bool paused, pause_on_failure;
    uint64_t if_revision; /* 0: any */

    struct cli_list match, weight; /* limit */
    int by;                        /* as in pawl/limit.h */
    uint32_t burst;
    int64_t per_ms;

    const char *scope; /* token */
    const char *queues;
    const char *name;
};

struct cli {
    const char *prog; /* as called, without its directory: "pawl" */
    pawl_app *app;    /* borrowed */
    const struct verb *verb;
    struct args args;
    const char **words; /* the words after the verb that are not flags */
    size_t word_count;
    const struct flag **given; /* on the command line, with repetitions */
    size_t given_count;
    pawl_mem *mem;               /* dies with the command */
    bool where_known, is_remote; /* session_is_remote() */
};

/* Groups of flags a verb may take. */
enum flag_group {
    TAKES_STORE = 1 << 0,  /* --data --store */
    TAKES_OUTPUT = 1 << 1, /* -o --color --quiet */
    TAKES_ENGINE = 1 << 2, /* the options of the runtime, --log-level */
    TAKES_LOAD = 1 << 3,
    TAKES_START = 1 << 4,
    TAKES_RUN = 1 << 5,
    TAKES_RAISE = 1 << 6,
    TAKES_REASON = 1 << 7,
    TAKES_FORCE = 1 << 8,
    TAKES_TIMEOUT = 1 << 9,
    TAKES_EXECUTION = 1 << 10,
    TAKES_PAGE = 1 << 11,
    TAKES_LIST = 1 << 12,
    TAKES_OLDER = 1 << 13,
    TAKES_WORK = 1 << 14,
    TAKES_BENCH = 1 << 15,
    TAKES_STEER = 1 << 16, /* the few options that matter where no code runs */
    TAKES_HELP = 1 << 17,  /* every verb */
    TAKES_SERVE = 1 << 18,
    TAKES_TOKEN = 1 << 19,
    TAKES_URL = 1 << 20, /* --url --token */
    TAKES_QUEUE = 1 << 21,
    TAKES_REPLAY = 1 << 22,
    TAKES_CHECK = 1 << 23, /* a few filters of ls */
    TAKES_SIM = 1 << 24,
    TAKES_MIGRATE = 1 << 25,
    TAKES_JOB = 1 << 26,
    TAKES_SCHEDULE = 1 << 27,
    TAKES_RERUN = 1 << 28,
    TAKES_TOP = 1 << 29,
    TAKES_UPDATE = 1 << 30,
};
#define TAKES_WATCH (UINT64_C(1) << 31) /* these are no enumerators: they are no int */
#define TAKES_LIMIT (UINT64_C(1) << 32)

struct verb {
    const char *name;
    const char *words;   /* what comes after it in the usage line: "ID EVENT [JSON]" */
    unsigned min, max;   /* how many words */
    uint64_t takes;      /* flag groups */
    const char *summary; /* one line for the list of verbs */
    const char *about;   /* a paragraph for --help */
    const char *examples;
    int (*run)(struct cli *cli);
};

extern const struct verb cli_verbs[]; /* ends with a row without a name */

/* ---- Errors: one line on stderr, "pawl: …", that says what to do ---------- */

/* Print and return `status`.  Control characters are made visible. */
int cli_fail(const struct cli *cli, int status, const char *format, ...) PAWL_PRINTF(3, 4);
/* Print the error of a failed library call; returns the exit status for it. */
int cli_fail_error(const struct cli *cli, const pawl_error *err);
int cli_exit_of(pawl_status status);
/* A remark on stderr, if a terminal or a collector of logs reads it; nothing with --quiet. */
void cli_note(const struct cli *cli, const char *format, ...) PAWL_PRINTF(2, 3);
/* An error that does not end the command: printed like a remark, also with --quiet. */
void cli_trouble(const struct cli *cli, const char *format, ...) PAWL_PRINTF(2, 3);

/* ---- Verbs, by file -------------------------------------------------------- */

int verb_run(struct cli *cli); /* verb_run.c */
int verb_start(struct cli *cli);
int verb_work(struct cli *cli);
int verb_job(struct cli *cli);
int verb_wait(struct cli *cli);   /* verb_wait.c */
int verb_ls(struct cli *cli);     /* verb_ls.c */
int verb_show(struct cli *cli);   /* verb_show.c */
int verb_tree(struct cli *cli);   /* verb_tree.c */
int verb_why(struct cli *cli);    /* verb_why.c */
int verb_asks(struct cli *cli);   /* verb_asks.c */
int verb_state(struct cli *cli);  /* verb_state.c */
int verb_top(struct cli *cli);    /* verb_top.c */
int verb_update(struct cli *cli); /* verb_update.c */
int verb_raise(struct cli *cli);  /* verb_steer.c */
int verb_attr(struct cli *cli);   /* verb_steer.c */
int verb_steer(struct cli *cli);  /* the operation of its name */
int verb_prune(struct cli *cli);
int verb_code(struct cli *cli);   /* verb_code.c */
int verb_backup(struct cli *cli); /* verb_backup.c */
int verb_restore(struct cli *cli);
int verb_migrate(struct cli *cli); /* verb_migrate.c */
int verb_doctor(struct cli *cli);  /* verb_doctor.c */
int verb_bench(struct cli *cli);   /* verb_bench.c */
int verb_serve(struct cli *cli);   /* verb_serve.c */
int verb_token(struct cli *cli);   /* verb_token.c */
int verb_queue(struct cli *cli);
int verb_schedule(struct cli *cli); /* verb_queue.c */
int verb_limit(struct cli *cli);    /* verb_limit.c */
int verb_worker(struct cli *cli);   /* verb_worker.c */
int verb_sim(struct cli *cli);      /* verb_sim.c */
int verb_check(struct cli *cli);    /* verb_check.c */
int verb_replay(struct cli *cli);   /* verb_replay.c */
int verb_export(struct cli *cli);
int verb_help(struct cli *cli); /* help.c */
int verb_version(struct cli *cli);

/* Where the tokens are: a file in the data directory, or the URL of a store that keeps them. */
const char *serve_tokens(struct cli *cli);

/* Help of one verb, and of the whole command, onto `to`. */
void help_verb(const struct cli *cli, const struct verb *verb, FILE *to);
void help_all(const struct cli *cli, FILE *to);

#endif
