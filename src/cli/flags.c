/* SPDX-License-Identifier: MIT */
/*
 * cli/flags.c -- the table of flags; each row is all there is to a flag.
 *
 * parse.c reads the command line by it, help.c prints it.
 */
#include "cli/flags.h"

#include <ctype.h>

static const char *const outputs[] = {"table", "json", "jsonl", "ids", NULL};
static const char *const colors[] = {"auto", "always", "never", NULL};
static const char *const levels[] = {"error", "warn", "info", "debug", NULL};
static const char *const logs[] = {"logfmt", "json", NULL};
static const char *const park_fail[] = {"park", "fail", NULL};
static const char *const keep_drop[] = {"keep", "drop", NULL};
static const char *const park_cancel[] = {"park", "cancel", NULL};
/* By pawl_state + 1. */
static const char *const states[] = {"any",       "pending", "running",   "suspended", "blocked",
                                     "completed", "failed",  "cancelled", NULL};

#define AT(field)  offsetof(struct args, field)
#define OPT(field) offsetof(struct args, options.field)

/* clang-format off */
const struct flag cli_flags[] = {
    {"data", 0, FLAG_TEXT, OPT(data), "DIR", NULL, TAKES_STORE | TAKES_BENCH,
     "the data directory (default ./pawl-data; for bench the current one)"},
    {"store", 0, FLAG_TEXT, OPT(store), "URL", NULL, TAKES_STORE | TAKES_BENCH,
     "sqlite:FILE, jsonl:DIR or memory: (default sqlite:DIR/pawl.db)"},
    {"url", 0, FLAG_TEXT, AT(url), "URL", NULL, TAKES_URL | TAKES_BENCH,
     "the server (default http://127.0.0.1:8000 if one listens there; see --data)"},
    {"token", 0, FLAG_TEXT, AT(token), "TOKEN", NULL, TAKES_URL | TAKES_BENCH,
     "for that server; better in PAWL_TOKEN"},
    {"ca", 0, FLAG_TEXT, AT(ca), "FILE", NULL, TAKES_URL,
     "https://: trust the certificate authorities of this PEM file, and no others"},
    {"priority", 0, FLAG_NUMBER, AT(priority), "N", NULL, TAKES_QUEUE,
     "of a push: lower ones come out first (default 0)"},
    {"ack", 0, FLAG_SWITCH, AT(ack), NULL, NULL, TAKES_QUEUE,
     "pop under a lock; acknowledge with its id"},
    {"ttl", 0, FLAG_TIME, AT(ttl_ms), "DURATION", NULL, TAKES_QUEUE,
     "of the lock (default 30s)"},
    {"wait", 0, FLAG_TIME, AT(wait_ms), "DURATION", NULL, TAKES_QUEUE,
     "pop: wait so long for an item, at most 30s"},
    {"load", 0, FLAG_LIST, AT(load), "FILE.so", NULL, TAKES_LOAD,
     "a module with orchestrations and activities; repeatable"},

    {"input", 0, FLAG_TEXT, AT(input), "JSON", NULL, TAKES_START | TAKES_SIM,
     "the input; @FILE reads a file, - standard input"},
    {"id", 0, FLAG_TEXT, AT(id), "ID", NULL, TAKES_START,
     "the instance id (default: a new uuid); the same start twice starts once"},
    {"version", 0, FLAG_TEXT, AT(version), "V", NULL, TAKES_START | TAKES_SIM,
     "exactly this version (default: the latest)"},
    {"allow-unregistered", 0, FLAG_SWITCH, AT(allow_unregistered), NULL, NULL, TAKES_START,
     "accept a name that nobody has yet"},
    {"raise", 0, FLAG_LIST, AT(raise), "EVENT=JSON", NULL, TAKES_RUN,
     "raise an event once the instance exists; repeatable"},
    {"key", 0, FLAG_TEXT, AT(key), "KEY", NULL, TAKES_RAISE,
     "idempotency key: the same key twice raises once"},
    {"await-start", 0, FLAG_SWITCH, AT(await_start), NULL, NULL, TAKES_RAISE,
     "keep the event for an instance that does not exist yet"},
    {"reason", 0, FLAG_TEXT, AT(reason), "TEXT", NULL, TAKES_REASON,
     "recorded in the history"},
    {"force", 0, FLAG_SWITCH, AT(force), NULL, NULL, TAKES_FORCE,
     "rm: also when it is still running; backup: replace FILE"},
    {"timeout", 0, FLAG_TIME, AT(timeout_ms), "DURATION", NULL, TAKES_TIMEOUT,
     "give up waiting after this long (exit status 5)"},
    {"until-idle", 0, FLAG_SWITCH, AT(until_idle), NULL, NULL, TAKES_WORK,
     "end when everything left waits for time or for somebody"},

    {"status", 0, FLAG_CHOICE, AT(status), "STATUS", states, TAKES_LIST,
     "only these: pending, running, suspended, blocked, completed, failed or cancelled"},
    {"orchestration", 0, FLAG_TEXT, AT(orchestration), "NAME", NULL, TAKES_LIST | TAKES_CHECK | TAKES_SIM,
     "only of this orchestration; sim: the one to simulate"},
    {"prefix", 0, FLAG_TEXT, AT(prefix), "TEXT", NULL, TAKES_LIST | TAKES_CHECK,
     "only ids that begin so"},
    {"parent", 0, FLAG_TEXT, AT(parent), "ID", NULL, TAKES_LIST,
     "only children of this instance"},
    {"since", 0, FLAG_TIME, AT(since_ms), "DURATION", NULL, TAKES_LIST,
     "only created within the last DURATION"},
    {"after", 0, FLAG_TEXT, AT(after), "CURSOR", NULL, TAKES_LIST,
     "go on where the page before ended"},
    {"execution", 0, FLAG_NUMBER, AT(execution), "N", NULL, TAKES_EXECUTION,
     "this execution (default: the newest)"},
    {"after-seq", 0, FLAG_NUMBER, AT(after_seq), "SEQ", NULL, TAKES_PAGE,
     "only events after this one"},
    {"limit", 0, FLAG_COUNT, AT(limit), "N", NULL, TAKES_LIST | TAKES_PAGE,
     "at most N rows"},
    {"seeds", 0, FLAG_COUNT, AT(seeds), "N", NULL, TAKES_SIM,
     "how many seeds, from 1 on (default 1000)"},
    {"seed", 0, FLAG_NUMBER, AT(seed), "N", NULL, TAKES_SIM,
     "this one only, as it failed"},
    {"faults", 0, FLAG_TEXT, AT(faults), "LIST", NULL, TAKES_SIM,
     "of crash, duplicate, delay, clock, activity-failure (the default: these) and cancel; all, none"},
    {"activity", 0, FLAG_LIST, AT(activity), "NAME=ANSWER", NULL, TAKES_SIM,
     "ok:JSON, fail:TEXT or any (the default: the seed chooses null, failure or time-out)"},
    {"event", 0, FLAG_LIST, AT(event), "NAME=JSON", NULL, TAKES_SIM,
     "raised once to every wait for it, early or late; repeatable"},
    {"stub", 0, FLAG_LIST, AT(stub), "FILE.so", NULL, TAKES_SIM,
     "a module whose activities run instead; repeatable"},
    {"horizon", 0, FLAG_TIME, AT(horizon_ms), "DURATION", NULL, TAKES_SIM,
     "a seed is over after so much virtual time (default 3650d)"},
    {"until", 0, FLAG_NUMBER, AT(until_seq), "SEQ", NULL, TAKES_REPLAY,
     "replay no further than this event"},
    {"gdb", 0, FLAG_SWITCH, AT(gdb), NULL, NULL, TAKES_REPLAY,
     "open the debugger where the code waits (the variable GDB names another than gdb)"},
    {"older-than", 0, FLAG_TIME, AT(older_than_ms), "DURATION", NULL, TAKES_OLDER,
     "ended longer ago than this, e.g. 30d"},

    {"concurrency", 0, FLAG_COUNT, AT(concurrency), "N", NULL, TAKES_BENCH,
     "orchestrations in flight, or clients (default 1)"},
    {"steps", 0, FLAG_COUNT, AT(steps), "N", NULL, TAKES_BENCH,
     "activities one after another in chain and replay (default 10)"},
    {"width", 0, FLAG_COUNT, AT(width), "N", NULL, TAKES_BENCH,
     "activities side by side in fanout (default 100)"},
    {"instances", 0, FLAG_COUNT, AT(instances), "N", NULL, TAKES_BENCH,
     "that wait, in events (default --concurrency) and timers (default 100000)"},
    {"seconds", 0, FLAG_NUMBER, AT(seconds), "S", NULL, TAKES_BENCH,
     "how long to measure (default 5)"},
    {"json", 0, FLAG_SWITCH, AT(json), NULL, NULL, TAKES_BENCH,
     "one JSON object instead of the table"},
    {"keep", 0, FLAG_SWITCH, AT(keep), NULL, NULL, TAKES_BENCH,
     "leave the benchmark's data directory behind"},
    {"serve", 0, FLAG_SWITCH, AT(serve), NULL, NULL, TAKES_BENCH,
     "hello and queue: over HTTP, to a server started for it"},

    {"listen", 0, FLAG_TEXT, AT(listen), "ADDRESS", NULL, TAKES_SERVE,
     "host:port (default 127.0.0.1:8000; port 0: any free one)"},
    {"allow-host", 0, FLAG_TEXT, AT(allow_host), "NAMES", NULL, TAKES_SERVE,
     "names this server answers to beside the local ones, comma-separated; *: any"},
    {"tls-cert", 0, FLAG_TEXT, AT(tls_cert), "FILE", NULL, TAKES_SERVE,
     "certificate chain, PEM"},
    {"tls-key", 0, FLAG_TEXT, AT(tls_key), "FILE", NULL, TAKES_SERVE,
     "its key, PEM"},
    {"insecure-listen", 0, FLAG_SWITCH, AT(insecure_listen), NULL, NULL, TAKES_SERVE,
     "another address than a loopback one without TLS: behind a proxy that encrypts"},
    {"require-token", 0, FLAG_SWITCH, AT(require_token), NULL, NULL, TAKES_SERVE,
     "on a loopback address too"},
    {"lenient", 0, FLAG_SWITCH, AT(lenient), NULL, NULL, TAKES_SERVE,
     "ignore unknown query parameters of queues, and bodies of pops"},
    {"max-body", 0, FLAG_SIZE, AT(max_body), "SIZE", NULL, TAKES_SERVE,
     "largest request (default 8M)"},
    {"url-file", 0, FLAG_TEXT, AT(url_file), "FILE", NULL, TAKES_SERVE,
     "write the address there once it listens; for scripts"},
    {"scope", 0, FLAG_TEXT, AT(scope), "SCOPE", NULL, TAKES_TOKEN,
     "read, operate or admin (default operate)"},
    {"queues", 0, FLAG_TEXT, AT(queues), "PREFIXES", NULL, TAKES_TOKEN,
     "only queues that begin so, comma-separated (default: all)"},
    {"name", 0, FLAG_TEXT, AT(name), "TEXT", NULL, TAKES_TOKEN,
     "what it is for"},

    {"workers", 0, FLAG_COUNT, OPT(workers), "N", NULL, TAKES_ENGINE | TAKES_BENCH,
     "activity threads (default 32)"},
    {"max-payload", 0, FLAG_SIZE, OPT(max_payload), "SIZE", NULL,
     TAKES_ENGINE | TAKES_STEER, "largest input, output or event (default 2M)"},
    {"max-history", 0, FLAG_COUNT, OPT(max_history), "N", NULL, TAKES_ENGINE | TAKES_BENCH,
     "events in one execution (default 50000)"},
    {"max-mailbox", 0, FLAG_COUNT, OPT(max_mailbox), "N", NULL, TAKES_ENGINE | TAKES_STEER,
     "events kept for one instance until it takes them (default 10000)"},
    {"max-depth", 0, FLAG_COUNT, OPT(max_depth), "N", NULL, TAKES_ENGINE,
     "children of children; deeper ones fail (default 1000)"},
    {"fiber-memory", 0, FLAG_SIZE, OPT(fiber_memory), "SIZE", NULL, TAKES_ENGINE | TAKES_BENCH,
     "for instances kept in memory between turns (default 256M)"},
    {"max-attempts", 0, FLAG_COUNT, OPT(max_attempts), "N", NULL, TAKES_ENGINE,
     "crashes of the process before what it ran is set aside (default 10)"},
    {"cancel-grace", 0, FLAG_LIMIT, OPT(cancel_grace_ms), "DURATION", NULL, TAKES_ENGINE,
     "how long cancelled code may compensate (default 60s)"},
    {"turn-limit", 0, FLAG_LIMIT, OPT(turn_limit_ms), "DURATION", NULL, TAKES_ENGINE,
     "a turn that runs longer stops the process (default 60s)"},
    {"drain", 0, FLAG_LIMIT, OPT(drain_ms), "DURATION", NULL, TAKES_ENGINE,
     "how long the end waits for running activities (default 10s)"},
    {"group-limit", 0, FLAG_COUNT, OPT(group_limit), "N", NULL, TAKES_ENGINE | TAKES_BENCH,
     "rounds in one commit (default 1024)"},
    {"on-mismatch", 0, FLAG_EITHER, OPT(fail_on_mismatch), "park|fail", park_fail, TAKES_ENGINE,
     "when code does not fit its history: block the instance, or fail it (default park)"},
    {"early-events", 0, FLAG_EITHER, OPT(drop_early_events), "keep|drop", keep_drop, TAKES_ENGINE,
     "what becomes of events nobody waits for yet (default keep)"},
    {"on-missing-version", 0, FLAG_EITHER, OPT(cancel_missing_version), "park|cancel",
     park_cancel, TAKES_ENGINE,
     "instances whose version is not registered: let them wait, or cancel them (default park)"},
    {"strict-await", 0, FLAG_SWITCH, OPT(strict_await), NULL, NULL, TAKES_ENGINE,
     "every completion must be awaited in its turn"},
    {"paranoid", 0, FLAG_SWITCH, OPT(paranoid), NULL, NULL, TAKES_ENGINE | TAKES_BENCH,
     "replay after every turn and compare"},
    {"hostile", 0, FLAG_SWITCH, OPT(hostile), NULL, NULL, TAKES_ENGINE,
     "drop the stack at every await (for tests of your code)"},
    {"retain-completed", 0, FLAG_LIMIT, OPT(retain_ms), "DURATION", NULL,
     TAKES_SERVE | TAKES_WORK,
     "remove instances, with their children, that ended longer ago (default: keep them)"},
    {"log-level", 0, FLAG_CHOICE, AT(log_level), "LEVEL", levels,
     TAKES_ENGINE | TAKES_STEER | TAKES_BENCH,
     "error, warn, info or debug (default warn; error where no code runs)"},

    {"log", 0, FLAG_EITHER, OPT(log_json), "logfmt|json", logs,
     TAKES_ENGINE | TAKES_STEER | TAKES_BENCH,
     "form of the log on stderr: key=value pairs, or one JSON object a line (default logfmt)"},
    {"output", 'o', FLAG_CHOICE, AT(output), "FORMAT", outputs, TAKES_OUTPUT,
     "table, json, jsonl or ids (default table)"},
    {"color", 0, FLAG_CHOICE, AT(color), "WHEN", colors, TAKES_OUTPUT,
     "auto, always or never; NO_COLOR counts too"},
    {"quiet", 'q', FLAG_SWITCH, AT(quiet), NULL, NULL, TAKES_OUTPUT,
     "no progress and no remarks on stderr"},
    {"help", 'h', FLAG_SWITCH, AT(help), NULL, NULL, TAKES_HELP,
     "this text"},
    {NULL, 0, FLAG_TEXT, 0, NULL, NULL, 0, NULL},
};
/* clang-format on */

const char *flag_variable(const struct flag *flag, char out[64])
{
    size_t n = (size_t)snprintf(out, 64, "PAWL_%s", flag->name);
    for (size_t i = 0; i < n; i++)
        out[i] = out[i] == '-' ? '_' : (char)toupper((unsigned char)out[i]);
    return out;
}

_Static_assert(COUNT_OF(cli_flags) <= FLAGS_MAX, "raise FLAGS_MAX");
