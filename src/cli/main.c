/* SPDX-License-Identifier: MIT */
/*
 * cli/main.c -- pawl_main(): the table of verbs, and the way to one of them.
 *
 * To add a verb, write its row here and its function in a verb_*.c file; help,
 * suggestions and flag checks follow from the row.
 */
#include "base/near.h"
#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/out.h"
#include "pawl/sqlite.h"
#include "tables/operations.h"
#include "tables/schemes.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define ENGINE (TAKES_STORE | TAKES_ENGINE | TAKES_OUTPUT | TAKES_HELP)
#define STEER  (TAKES_STORE | TAKES_URL | TAKES_STEER | TAKES_OUTPUT | TAKES_HELP)
#define LOOK   (TAKES_STORE | TAKES_URL | TAKES_OUTPUT | TAKES_HELP)

/* clang-format off */
#define STEER_VERB(OP, word, scope, message, reason, fields, done, api, summary, about, examples)                \
    {word, "ID...", 1, UINT32_MAX, STEER | ((fields) & OP_REASON ? TAKES_REASON : 0), summary,  \
     about, examples, verb_steer},

const struct verb cli_verbs[] = {
    {"run", "NAME", 1, 1, ENGINE | TAKES_LOAD | TAKES_START | TAKES_RUN | TAKES_TIMEOUT,
     "start an orchestration, wait for it, print its output",
     "The output goes to standard output.  With an --id that exists (same orchestration, same "
     "input) nothing is started twice: run continues where the last process stopped.  Other open "
     "instances whose code is loaded continue as well.  Ctrl-C stops the process, never the "
     "instance: exit status 130, and the same command continues it.",
     "  {} run ProcessOrder --load order.so --input '{\"id\":\"o-1\"}' --id o-1\n"
     "  {} run ProcessOrder --load order.so --input @o.json --raise FraudReview='{}'\n",
     verb_run},
    {"start", "NAME", 1, 1, ENGINE | TAKES_URL | TAKES_LOAD | TAKES_START,
     "start an orchestration, print its id, do not wait",
     "The start is durable when the id is printed.  `work` or `run` runs it.",
     "  {} start ProcessOrder --load order.so --input '{\"id\":\"o-2\"}'\n",
     verb_start},
    {"job", "ACTIVITY", 1, 1, TAKES_STORE | TAKES_URL | TAKES_STEER | TAKES_JOB | TAKES_OUTPUT | TAKES_HELP,
     "run one activity, durably, without orchestration code",
     "Prints the id of the job, which is an instance of the built-in orchestration pawl.job: wait, "
     "show, why, cancel and ls work as for any other.  The activity runs in a process that has it "
     "(`serve`, `work`) or in a remote worker.",
     "  {} job SendMail --input '{\"to\":\"a@example.org\"}' --attempts 5\n",
     verb_job},
    {"work", "", 0, 0, ENGINE | TAKES_LOAD | TAKES_WORK,
     "run every open instance, until Ctrl-C",
     "It owns the data directory meanwhile.  SIGINT and SIGTERM let running activities finish "
     "(--drain) and end with status 0.",
     "  {} work --load order.so\n"
     "  {} work --load order.so --until-idle\n",
     verb_work},
    {"serve", "", 0, 0, ENGINE | TAKES_LOAD | TAKES_SERVE,
     "run the engine and its HTTP API, until Ctrl-C",
     "On a loopback address no token is needed; any other address needs one (`token new`), and "
     "TLS or --insecure-listen.  SIGTERM and Ctrl-C stop it gracefully with status 0; SIGHUP "
     "loads the modules again for new versions.",
     "  {} serve --load order.so\n"
     "  {} serve --listen 127.0.0.1:8001 --data ./other --load a.so --load b.so\n",
     verb_serve},
    {"token", "new|ls|revoke [ID]", 1, 2, TAKES_STORE | TAKES_TOKEN | TAKES_OUTPUT | TAKES_HELP,
     "make, list and revoke the server's tokens",
     "A token is shown once, when it is made; DIR/tokens (or the PostgreSQL store) keeps a hash.  "
     "A running server sees changes at once, with PostgreSQL within a few seconds.",
     "  {} token new --scope operate --queues orders-,mail --name 'the shop'\n"
     "  {} token revoke 1f2e3d4c\n",
     verb_token},
    {"queue", "ls|push|pop|ack|extend|release|deadletter|peek|stats|locks|config|pause|resume|"
     "redrive|purge|revoke|rm [QUEUE [VALUE...]]", 1, UINT32_MAX,
     TAKES_URL | TAKES_QUEUE | TAKES_OUTPUT | TAKES_HELP,
     "use the queues of a server",
     "push takes a JSON value; @FILE and - (standard input, also when nothing is given) may hold "
     "one value per line.  pop prints the items; with --ack the whole answer, which has the lock "
     "id for ack, extend, release and deadletter, or with -o jsonl one line and lock per item.  "
     "config without settings prints them; revoke takes message ids of peek; rm needs an empty "
     "queue or --force.",
     "  {} queue push mail '{\"to\":\"a@example.org\"}' --delay 10m\n"
     "  {} queue push mail --key monday < items.jsonl\n"
     "  {} queue pop mail --ack --wait 10s\n"
     "  {} queue ack mail 7od5fnl_-E0\n"
     "  {} queue config mail max_locks=0 max_deliveries=5\n"
     "  {} queue peek mail --all -o jsonl | jq .item\n",
     verb_queue},
    {"schedule", "put|ls|show|next|pause|resume|run|backfill|rm [NAME]", 1, 2,
     TAKES_URL | TAKES_SCHEDULE | TAKES_OUTPUT | TAKES_HELP,
     "start something again and again, on a server",
     "put stores a schedule, or changes it, and prints its next three instants in UTC and in its "
     "zone.  next without a name prints the instants of a schedule that is not stored: it needs no "
     "server.  run starts it now.  backfill starts the occurrences of a time that is past, one "
     "after the other.",
     "  {} schedule put nightly --cron '30 2 * * *' --zone Europe/Berlin --start Report\n"
     "  {} schedule put poll --every 5m --queue work --input '{\"kind\":\"poll\"}'\n"
     "  {} schedule next --cron '30 2 * * *' --zone Europe/Berlin --count 10\n"
     "  {} schedule backfill nightly --from 2026-10-01T00:00:00Z --to 2026-10-08T00:00:00Z\n",
     verb_schedule},
    {"limit", "put|ls|show|rm [NAME]", 1, 2,
     TAKES_URL | TAKES_LIMIT | TAKES_OUTPUT | TAKES_HELP,
     "limit how much may run, on a server",
     "put stores a limit, or changes it: how many attempts of the activities it names run at a time "
     "(--concurrency), and how often one may begin (--rate and --per).  show prints what is in use "
     "and who waits.",
     "  {} limit put stripe --match activity=Charge --by key --concurrency 5\n"
     "  {} limit put mail --match 'activity=Send*' --rate 100 --per 1m --burst 20\n"
     "  {} limit show stripe\n",
     verb_limit},
    {"worker", "ls", 1, 1, TAKES_URL | TAKES_OUTPUT | TAKES_HELP,
     "list the workers that poll a server",
     "Those that polled with a name in the last ten minutes: what they can do, what they hold.",
     "  {} worker ls\n"
     "  {} worker ls -o jsonl | jq .leases\n",
     verb_worker},
    {"ls", "", 0, 0, LOOK | TAKES_LIST,
     "list instances, newest first", "",
     "  {} ls --status blocked\n"
     "  {} ls --orchestration ProcessOrder --since 1d --all -o ids | xargs {} cancel\n"
     "  {} ls --where 'total>=500' --count-by status\n"
     "  {} ls --status running --watch\n",
     verb_ls},
    {"show", "ID", 1, 1, LOOK | TAKES_EXECUTION | TAKES_PAGE,
     "show an instance and its events", "",
     "  {} show o-1\n"
     "  {} show o-1 -o jsonl | jq .kind\n"
     "  {} show o-1 --follow\n"
     "  {} show o-1 --timeline\n",
     verb_show},
    {"why", "ID", 1, 1, LOOK | TAKES_WATCH,
     "what it waits for, since when, and what wakes it", "",
     "  {} why o-1\n"
     "  {} why o-1 --watch\n",
     verb_why},
    {"asks", "[EVENT]", 0, 1, LOOK,
     "list what instances ask people for",
     "Waits that say what they want (pawl_wait_event_ask).  Answer with `raise`.",
     "  {} asks\n"
     "  {} asks Approve -o jsonl | jq .ask.title\n"
     "  {} raise o-1 Approve '\"yes\"'\n",
     verb_asks},
    {"state", "ID [KEY]", 1, 2, LOOK,
     "what the code of an instance has published",
     "With a KEY its value alone.  It works while no process has the code, and after the end.",
     "  {} state o-1\n"
     "  {} state o-1 total\n",
     verb_state},
    {"top", "", 0, 0, LOOK | TAKES_TOP,
     "a server on the whole terminal: problems, rates, instances, queues",
     "Enter opens an instance: why it waits, and its steps as bars.  Actions (raise, cancel, "
     "terminate, suspend, resume, retry) ask first.  ? lists the keys.  On a store that no server "
     "serves it only looks.",
     "  {} top\n"
     "  {} top --url https://pawl.example.org\n"
     "  {} top --once\n",
     verb_top},
    {"tree", "ID", 1, 1, LOOK,
     "an instance and its descendants", "",
     "  {} tree o-1\n",
     verb_tree},
    {"wait", "ID", 1, 1, LOOK | TAKES_TIMEOUT | TAKES_EXECUTION,
     "wait until it has ended, print its output",
     "Waits beside the process that runs it and runs nothing itself (see `run` and `work`).",
     "  {} wait o-1 --timeout 30s\n",
     verb_wait},
    {"raise", "ID EVENT [JSON]", 2, 3, STEER | TAKES_RAISE,
     "raise an event to an instance",
     "The data may also be given as --data JSON; a --data before the verb, or one that is not "
     "JSON, is the data directory.  An event that no wait expects yet is kept.",
     "  {} raise o-1 FraudReview --data '{\"approved\":true}'\n"
     "  {} --data ./pawl-data raise o-1 FraudReview '{}' --key review-7\n",
     verb_raise},
    {"update", "ID NAME [JSON]", 2, 3, ENGINE | TAKES_URL | TAKES_LOAD | TAKES_TIMEOUT | TAKES_UPDATE,
     "ask the code of an instance and print its answer",
     "Waits 10 seconds for it, or as long as --timeout says.  The same --key gives the same answer.  "
     "Without a server the code is needed here: --load.",
     "  {} update acct-1 add 5\n"
     "  {} update acct-1 add 5 --key transfer-7 --timeout 1m\n",
     verb_update},
    STEERING(STEER_VERB)
    {"rerun", "ID...", 1, UINT32_MAX, ENGINE | TAKES_URL | TAKES_LOAD | TAKES_RERUN,
     "run an instance that has ended again, under its id",
     "Its next execution begins with the input of its start, or with --input.  Earlier executions "
     "stay (`show ID --execution 1`).",
     "  {} rerun o-1\n"
     "  {} rerun o-1 --input '{\"id\":\"o-1\"}' --url http://127.0.0.1:8000\n",
     verb_steer},
    {"attr", "ID NAME=VALUE...", 2, UINT32_MAX, STEER,
     "change the attributes of an instance",
     "A value that is written as an integer is one; in quotes, as JSON writes it, it is a text.  "
     "NAME=null removes one.  `ls --where` finds instances by them.",
     "  {} attr o-1 customer=c-42 total=990\n"
     "  {} attr o-1 'zip=\"01234\"' total=null\n",
     verb_attr},
    {"rm", "ID...", 1, UINT32_MAX, STEER | TAKES_FORCE,
     "remove an instance and its children", "",
     "  {} rm o-1\n"
     "  {} rm o-1 --force\n",
     verb_steer},
    {"prune", "", 0, 0, STEER | TAKES_OLDER,
     "remove what ended long ago",
     "Finished trees, and closed executions of running instances.",
     "  {} prune --older-than 30d\n",
     verb_prune},
    {"backup", "FILE", 1, 1, TAKES_STORE | TAKES_OUTPUT | TAKES_HELP | TAKES_FORCE,
     "copy the store to a file, also while it is in use",
     "One file of one moment: it has everything that was answered before.  It is checked, synced "
     "and then renamed to FILE; a kill leaves at most FILE.part, which the next try overwrites.  "
     "Runs on the machine that has the store.",
     "  {} backup /backups/pawl-monday.db\n"
     "  {} --data ./pawl-data backup nightly.db --force\n",
     verb_backup},
    {"restore", "FILE", 1, 1, TAKES_STORE | TAKES_OUTPUT | TAKES_HELP,
     "make a data directory from a backup",
     "The directory must be empty or missing.  Ids and epochs begin far above those of the "
     "original; the leases of workers and locks of queues in it end (their holders get 410, "
     "the work is handed out again); tokens are not restored.",
     "  {} restore /backups/pawl-monday.db --data ./pawl-new\n",
     verb_restore},
    {"migrate", "", 0, 0, TAKES_STORE | TAKES_MIGRATE | TAKES_OUTPUT | TAKES_HELP,
     "make or update the tables of a PostgreSQL store",
     "Opening a store does it, too.  Use this verb to do it with a separate role that may make "
     "tables, or at a time you choose.  It is one transaction.  --print writes the SQL that makes "
     "a new schema, to be run by hand.",
     "  {} migrate --store postgres://pawl@db.example.org/pawl\n"
     "  {} migrate --store postgres:///pawl --print > pawl.sql\n",
     verb_migrate},
    {"sim", "", 0, 0, TAKES_LOAD | TAKES_SIM | TAKES_OUTPUT | TAKES_HELP,
     "test an orchestration with crashes, delays and failures, by seed",
     "Each seed is one life of an instance in virtual time, years in milliseconds.  Activities never "
     "run: they answer as --activity or --stub says.  It reports divergence, hangs, failed "
     "pawl_sim_check() of the module, crashes, endless loops, and leaks in the ASan build, with the "
     "smallest failing seed, the fewest faults and all events; exit status 1.",
     "  {} sim --load order.so --orchestration ProcessOrder --input '{\"id\":\"o-1\"}'\n"
     "  {} sim --load order.so --orchestration ProcessOrder --seeds 100000 --faults crash,delay\n"
     "  {} sim --load order.so --orchestration ProcessOrder --activity ShipOrder=fail:'no truck' \\\n"
     "      --event FraudReview='{\"approved\":true}' --seed 17\n",
     verb_sim},
    {"code", "", 0, 0, TAKES_LOAD | TAKES_OUTPUT | TAKES_HELP,
     "list what the loaded modules register",
     "Orchestrations with their versions, and activities.",
     "  {} code --load order.so\n",
     verb_code},
    {"check", "", 0, 0, LOOK | TAKES_LOAD | TAKES_CHECK,
     "does new code fit every open history?",
     "Replays the history of every open instance against the loaded code, before you deploy it, "
     "and changes nothing.  It names each instance that does not fit, with the recorded event, the "
     "call attempted instead and its source line; exit status 1.  Works beside a running server.",
     "  {} check --load new/order.so\n"
     "  {} check --load new/order.so --orchestration ProcessOrder -o ids\n",
     verb_check},
    {"replay", "FILE|ID", 1, 1, LOOK | TAKES_LOAD | TAKES_EXECUTION | TAKES_REPLAY,
     "run code against one history, event by event",
     "The history of an instance, or a file of `export`.  No activity runs and nothing is written.  "
     "--gdb stops the code where it waits, or where it does not fit, and opens the debugger "
     "there; with --until at an earlier wait.",
     "  {} replay o-1 --load order.so\n"
     "  {} replay run.json --load new/order.so --gdb\n",
     verb_replay},
    {"export", "ID", 1, 1, LOOK | TAKES_EXECUTION,
     "write an instance and its history as one JSON document",
     "For `replay` on another machine and for bug reports.  It contains all payloads.",
     "  {} export o-1 > run.json\n",
     verb_export},
    {"doctor", "", 0, 0, TAKES_STORE | TAKES_OUTPUT | TAKES_HELP,
     "check disk, sync speed, limits and the store's health", "",
     "  {} doctor\n",
     verb_doctor},
    {"bench", "hello|chain|fanout|queue|events|timers|replay", 1, 1, TAKES_BENCH | TAKES_OUTPUT | TAKES_HELP,
     "measure orchestrations or messages per second on this disk",
     "hello runs one activity, chain --steps of them one after another, fanout --width side by "
     "side; queue pushes, then pops and acknowledges; events raises to waiting instances, timers "
     "wakes sleeping ones.  It uses a new directory under --data or the current one and removes "
     "it afterwards.  With --serve (or --url) hello and queue go over HTTP.",
     "  {} bench hello --concurrency 256\n"
     "  {} bench chain --steps 1000 --json\n"
     "  {} bench queue --concurrency 32 --serve\n",
     verb_bench},
    {"version", "", 0, 0, TAKES_OUTPUT | TAKES_HELP,
     "print the version", "", "  {} version\n", verb_version},
    {"help", "[VERB]", 0, 1, TAKES_OUTPUT | TAKES_HELP,
     "print help", "", "  {} help run\n", verb_help},
    {NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL},
};
/* clang-format on */

static const char *program_name(int argc, char **argv)
{
    if (argc < 1 || !argv[0] || !argv[0][0])
        return "pawl";
    const char *slash = strrchr(argv[0], '/');
    return slash ? slash + 1 : argv[0];
}

/* Verbs of other tools, and ours for them. */
static const char *const other_words[][2] = {
    {"list",      "ls"        },
    {"ps",        "ls"        },
    {"instances", "ls"        },
    {"get",       "show"      },
    {"status",    "show"      },
    {"describe",  "show"      },
    {"inspect",   "show"      },
    {"history",   "show"      },
    {"events",    "show"      },
    {"logs",      "show"      },
    {"explain",   "why"       },
    {"delete",    "rm"        },
    {"remove",    "rm"        },
    {"kill",      "terminate" },
    {"stop",      "cancel"    },
    {"abort",     "cancel"    },
    {"signal",    "raise"     },
    {"send",      "raise"     },
    {"event",     "raise"     },
    {"server",    "serve"     },
    {"worker",    "work"      },
    {"execute",   "run"       },
    {"create",    "start"     },
    {"submit",    "start"     },
    {"pause",     "suspend"   },
    {"unpause",   "resume"    },
    {"purge",     "prune"     },
    {"gc",        "prune"     },
    {"clean",     "prune"     },
    {"push",      "queue push"},
    {"pop",       "queue pop" },
    {"queues",    "queue ls"  },
    {"cron",      "schedule"  },
    {"schedules", "schedule"  },
    {"limits",    "limit ls"  },
    {"tokens",    "token ls"  },
    {"modules",   "code"      },
    {"validate",  "check"     },
    {"simulate",  "sim"       },
    {"restart",   "retry"     },
};

static int unknown_verb(struct cli *cli)
{
    if (cli->word_count == 0) {
        help_all(cli, stderr);
        return EXIT_USAGE;
    }
    const char *names[64], *near = NULL;
    size_t count = 0;
    for (const struct verb *v = cli_verbs; v->name; v++)
        names[count++] = v->name;
    near = nearest_word(cli->words[0], names, count);
    for (size_t i = 0; i < COUNT_OF(other_words); i++)
        if (strcmp(other_words[i][0], cli->words[0]) == 0)
            near = other_words[i][1];
    for (size_t i = 0; i < count && cli->word_count > 1; i++)
        if (strcmp(names[i], cli->words[1]) == 0) /* the other way round */
            return cli_fail(cli, EXIT_USAGE, "unknown verb '%s'; did you mean: %s %s %s",
                            cli->words[0], cli->prog, names[i], cli->words[0]);
    if (near)
        return cli_fail(cli, EXIT_USAGE, "unknown verb '%s'; did you mean '%s'?", cli->words[0],
                        near);
    return cli_fail(cli, EXIT_USAGE, "unknown verb '%s'; see: %s help", cli->words[0], cli->prog);
}

static int check_words(struct cli *cli)
{
    const struct verb *v = cli->verb;
    if (cli->word_count < v->min)
        return cli_fail(cli, EXIT_USAGE, "'%s' needs %s; see: %s %s --help", v->name, v->words,
                        cli->prog, v->name);
    if (cli->word_count > v->max)
        return cli_fail(cli, EXIT_USAGE,
                        "'%s' does not know what to do with '%s'; see: %s %s --help", v->name,
                        cli->words[v->max], cli->prog, v->name);
    return 0;
}

/* --allow-lossy is a parameter of the URL, where the store and its other processes read it. */
static int allow_lossy(struct cli *cli, enum scheme_place kind)
{
    const char *store = cli->args.options.store;
    if (!cli->args.allow_lossy)
        return 0;
    if (kind != PLACE_SERVER)
        return cli_fail(cli, EXIT_USAGE,
                        "--allow-lossy is for a database server; give --store postgres://… too");
    cli->args.options.store =
        pawl_mem_printf(cli->mem, "%s%cpawl_allow_lossy=1", store, strchr(store, '?') ? '&' : '?')
            .ptr;
    return 0;
}

static int check_store(struct cli *cli)
{
    static const char *const beginnings[] = {
#define SCHEME_BEGINNING(name, beginning, form, place, copying) beginning,
        SCHEMES(SCHEME_BEGINNING)
#undef SCHEME_BEGINNING
    };
    const char *store = cli->args.options.store;
    struct store_place place = {0};
    char shown[256], word[16];
    if (!(cli->verb->takes & (TAKES_STORE | TAKES_BENCH)))
        return 0;
    if (!store || store_place_read(store, &place))
        return allow_lossy(cli, place.kind);
    if (cli->verb->takes & TAKES_BENCH) /* takes a scheme alone, and says so */
        return 0;
    (void)snprintf(word, sizeof(word), "%.*s", (int)(strcspn(store, ":") + 3), store);
    word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ:/")] = 0;
    const char *near = nearest_word(word, beginnings, COUNT_OF(beginnings));
    return cli_fail(cli, EXIT_USAGE, "there is no store '%s'; %s%s%s",
                    store_url_shown(store, shown, sizeof(shown)), near ? "did you mean '" : "use ",
                    near ? near : SCHEME_FORMS, near ? "'?" : "");
}

static int run_command(struct cli *cli, int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return verb_version(cli);
    int status = flags_parse(cli, argc, argv);
    if (status)
        return status;
    if (cli->args.help) {
        if (cli->verb)
            help_verb(cli, cli->verb, stdout);
        else
            help_all(cli, stdout);
        return EXIT_OK;
    }
    if (!cli->verb)
        return unknown_verb(cli);
    status = check_words(cli);
    if (!status)
        status = check_store(cli);
    return status ? status : cli->verb->run(cli);
}

int pawl_main(pawl_app *app, int argc, char **argv)
{
    struct cli cli = {.prog = program_name(argc, argv), .app = app, .mem = pawl_mem_new()};
    cli.args = (struct args){
        .options = {.size = sizeof(pawl_options)},
        .log_level = -1,
        .timeout_ms = -1,
        .older_than_ms = -1,
        .from_ms = -1,
        .to_ms = -1,
        .priority = CLI_NOT_GIVEN,
        .max_priority = CLI_NOT_GIVEN,
        .delay_ms = -1,
        .steps = 10,
        .width = 100,
        .seconds = 5,
    };
    pawl_sqlite_count_no_memory();
    (void)signal(SIGXFSZ, SIG_IGN); /* a file over the size limit is then an error with a text */
    int status = run_command(&cli, argc, argv);
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == EXIT_OK)
        status = cli_fail(&cli, EXIT_NO_OUTPUT, "standard output could not be written: %s",
                          strerror(errno));
    pawl_mem_free(cli.mem);
    return status;
}
