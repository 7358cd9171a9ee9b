/* SPDX-License-Identifier: MIT */
/*
 * tests/crash/look.c -- is the database right?  Asked with SQL of its own, not
 * through the code under test.
 */
#include "crash.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

static sqlite3 *database;

/* Our rules ask by task and by row: a copy with indexes for that hides the table. */
static void index_history(void)
{
    (void)sqlite3_exec(database,
                       "CREATE TEMP TABLE history AS SELECT rid,uid,execution,"
                       "seq&4294967295 AS seq,prev,kind,ref,"
                       "name,attrs FROM main.history;"
                       "CREATE INDEX temp.by_task ON history(uid,execution,ref);"
                       "CREATE INDEX temp.by_seq ON history(uid,execution,seq);"
                       "CREATE INDEX temp.by_rid ON history(rid)",
                       NULL, NULL, NULL);
}

static bool look_begin(void)
{
    if (sqlite3_open_v2(in_scratch("data/pawl.db"), &database, SQLITE_OPEN_READWRITE, NULL) !=
        SQLITE_OK)
        return false;
    index_history();
    return true;
}

static void look_end(void)
{
    (void)sqlite3_close(database);
    database = NULL;
}

static long long number(const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    long long n = -1;
    if (sqlite3_prepare_v2(database, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        n = sqlite3_column_int64(stmt, 0);
    else
        fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(database));
    (void)sqlite3_finalize(stmt);
    return n;
}

long long ask(const char *sql)
{
    long long n = look_begin() ? number(sql) : -1;
    look_end();
    return n;
}

/* ---- What must hold ------------------------------------------------------------------ */

struct rule {
    const char *name;
    const char *sql; /* how many break it */
};

#define ENDS      "(2,3,4,5,6)"
#define SCHEDULES "(10,20,30,40)"
/* completed, failed, cancelled: of activity, timer, event, child */
#define CLOSES "(11,12,13,21,22,31,32,41,42,43)"

static const struct rule always[] = {
    {"integrity",                                  "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check<>'ok'"},
    {"seq without gaps",                           "SELECT count(*) FROM (SELECT 1 FROM history GROUP BY uid,execution"
                         " HAVING count(*)<>max(seq) OR min(seq)<>1)"                               },
    {"each event points to the one before",
     "SELECT count(*) FROM history h WHERE seq>1 AND NOT EXISTS(SELECT 1 FROM history p"
     " WHERE p.rid=h.prev AND p.uid=h.uid AND p.execution=h.execution AND p.seq=h.seq-1)"                                   },
    {"begins with its start, and only there",
     "SELECT count(*) FROM history WHERE (seq=1)<>(kind=1)"                                                                 },
    {"at most one end, and it is last",
     "SELECT count(*) FROM (SELECT 1 FROM history GROUP BY uid,execution"
     " HAVING sum(kind IN" ENDS ")>1 OR"
     " (sum(kind IN" ENDS ")=1 AND max(seq)<>max(CASE WHEN kind IN" ENDS " THEN seq END)))"                                 },
    {"a task is scheduled once",
     "SELECT count(*) FROM (SELECT 1 FROM history WHERE kind IN" SCHEDULES
     " GROUP BY uid,execution,ref HAVING count(*)<>1)"                                                                      },
    {"at most one completion a schedule",
     "SELECT count(*) FROM (SELECT 1 FROM history WHERE kind IN" CLOSES
     " GROUP BY uid,execution,ref HAVING count(*)<>1)"                                                                      },
    {"no completion without a schedule before it",
     "SELECT count(*) FROM history h WHERE kind IN" CLOSES " AND NOT EXISTS(SELECT 1 FROM history s"
     " WHERE s.uid=h.uid AND s.execution=h.execution AND s.ref=h.ref AND s.kind IN" SCHEDULES
     " AND s.seq<h.seq)"                                                                                                    },
    {"no history without an instance",
     "SELECT count(*) FROM history WHERE uid NOT IN(SELECT uid FROM instance)"                                              },
    {"the instance row knows its last event",
     "SELECT count(*) FROM head i WHERE last_seq<>(SELECT ifnull(max(seq),0) FROM history h"
     " WHERE h.uid=i.uid AND h.execution=i.execution)"                                                                      },
    {"no work without an open schedule",
     "SELECT count(*) FROM all_work w WHERE NOT EXISTS(SELECT 1 FROM history h WHERE h.rid=w.id AND"
     " h.uid=w.uid AND h.kind=10) OR EXISTS(SELECT 1 FROM history h WHERE h.uid=w.uid AND"
     " h.execution=w.execution AND h.ref=w.ref AND h.kind IN(11,12))"                                                       },
};

static const struct rule at_rest[] = {
    {"one end each",         "SELECT count(*) FROM (SELECT 1 FROM history GROUP BY uid,execution"
                     " HAVING sum(kind IN" ENDS ")<>1)"                        },
    {"one completion each",
     "SELECT count(*) FROM history s WHERE kind IN" SCHEDULES " AND 1<>(SELECT count(*) FROM"
     " history c WHERE c.uid=s.uid AND c.execution=s.execution AND c.ref=s.ref AND c.kind"
     " IN" CLOSES ")"                                                                              },
    {"instances have ended", "SELECT count(*) FROM instance WHERE state NOT IN(4,5,6)"             },
    {"no work left",         "SELECT (SELECT count(*) FROM work)+(SELECT count(*) FROM work_local)"},
    {"no message left",      "SELECT count(*) FROM message"                                        },
    {"no quarantine",        "SELECT count(*) FROM quarantine"                                     },
};

static const char *check(const struct rule *rules, size_t count)
{
    static char wrong[200];
    if (!look_begin())
        return "the database does not open";
    const char *found = NULL;
    for (size_t i = 0; i < count && !found; i++) {
        long long n = number(rules[i].sql);
        if (n == 0)
            continue;
        (void)snprintf(wrong, sizeof(wrong), "%s: %lld break it", rules[i].name, n);
        found = wrong;
    }
    look_end();
    return found;
}

const char *wrong_in_history(void)
{
    return check(always, sizeof(always) / sizeof(always[0]));
}

const char *wrong_at_rest(void)
{
    const char *wrong = wrong_in_history();
    return wrong ? wrong : check(at_rest, sizeof(at_rest) / sizeof(at_rest[0]));
}

/* ---- The ledger ------------------------------------------------------------------------- */

/* Keys end in "-UID-EXECUTION-REF", the uid in hexadecimal. */
static bool load_ledger(void)
{
    char *text = read_text("ledger"), *rest = text;
    sqlite3_stmt *put = NULL;
    bool ok =
        sqlite3_exec(database, "CREATE TEMP TABLE ledger(key TEXT,attempt,uid,execution,ref,name)",
                     NULL, NULL, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(database, "INSERT INTO ledger VALUES(?,?,?,?,?,?)", -1, &put, NULL) ==
            SQLITE_OK;
    for (char *line; ok && (line = strsep(&rest, "\n")) && *line;) {
        char key[96], name[100];
        unsigned long long uid = 0, execution = 0, ref = 0;
        unsigned attempt = 0;
        ok = sscanf(line, "%95s %u %99s", key, &attempt, name) == 3 &&
             sscanf(key, "%*[^-]-%*[^-]-%llx-%llu-%llu", &uid, &execution, &ref) == 3;
        (void)sqlite3_bind_text(put, 1, key, -1, SQLITE_TRANSIENT);
        (void)sqlite3_bind_int64(put, 2, attempt);
        (void)sqlite3_bind_int64(put, 3, (long long)uid);
        (void)sqlite3_bind_int64(put, 4, (long long)execution);
        (void)sqlite3_bind_int64(put, 5, (long long)ref);
        (void)sqlite3_bind_text(put, 6, name, -1, SQLITE_TRANSIENT);
        (void)sqlite3_step(put);
        (void)sqlite3_reset(put);
    }
    (void)sqlite3_finalize(put);
    free(text);
    return ok;
}

const char *wrong_in_ledger(int twice)
{
    static char wrong[200];
    static const struct rule rules[] = {
        {"ran without its schedule",
         "SELECT count(*) FROM ledger l WHERE NOT EXISTS(SELECT 1 FROM history h WHERE h.kind=10"
         " AND h.uid=l.uid AND h.execution=l.execution AND h.ref=l.ref AND h.name=l.name)"},
        {"completed but never ran",
         "SELECT count(*) FROM history h WHERE h.kind=11 AND NOT EXISTS(SELECT 1 FROM ledger l"
         " WHERE h.uid=l.uid AND h.execution=l.execution AND h.ref=l.ref)"                },
        {"another key on another attempt",
         "SELECT count(*) FROM (SELECT 1 FROM ledger GROUP BY uid,execution,ref"
         " HAVING count(DISTINCT key)<>1)"                                                },
    };
    const char *found = NULL;
    if (!look_begin() || !load_ledger()) {
        look_end();
        return "the ledger cannot be read";
    }
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && !found; i++) {
        long long n = number(rules[i].sql);
        if (n)
            (void)snprintf(wrong, sizeof(wrong), "%s: %lld", rules[i].name, n), found = wrong;
    }
    long long again = number("SELECT count(*)-count(DISTINCT key) FROM ledger");
    if (!found && again > twice)
        (void)snprintf(wrong, sizeof(wrong), "%lld runs more than needed, at most %d explained",
                       again, twice),
            found = wrong;
    look_end();
    return found;
}
