/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_sqlite_plan.c -- every statement finds its rows by an index.
 *
 * One misspelt term and SQLite quietly stops using a partial index; nothing
 * fails, it only gets slower with every row.  So the plan of each statement is
 * asked for: none may scan or sort, except those listed.
 */
#include "test_sqlite.h"

static const struct {
    int which;
    const char *name;
    const char *sql;
} all[] = {
#define ENTRY(name, sql) {ST_##name, #name, sql},
    ALL_STATEMENTS(ENTRY)
#undef ENTRY
};

/* These walk a table or index on purpose: at start, to count, or with a limit. */
static bool may_scan(int which)
{
    return which == ST_LOCAL_FREE_ALL || which == ST_LOCAL_CLEAR || which == ST_QUARANTINE_READ ||
           which == ST_TOMB_READ || which == ST_COUNT_MESSAGES || which == ST_COUNT_WORK ||
           which == ST_COUNT_QUARANTINE || which == ST_COUNT_INSTANCES ||
           which == ST_MESSAGES_BY_NAME;
}

static void plan_of(sqlite3 *db, const char *sql, char *ret, size_t size)
{
    char text[4096];
    sqlite3_stmt *stmt;
    (void)snprintf(text, sizeof text, "EXPLAIN QUERY PLAN %s", sql);
    int rc = sqlite3_prepare_v2(db, text, -1, &stmt, NULL);
    ck_assert_msg(rc == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(db));
    size_t used = 0;
    ret[0] = '\0';
    while (sqlite3_step(stmt) == SQLITE_ROW && used < size)
        used += (size_t)snprintf(ret + used, size - used, "%s; ", sqlite3_column_text(stmt, 3));
    sqlite3_finalize(stmt);
}

/* Arrays of ours (bulk.c) are there to be walked. */
static bool scans_a_table(const char *plan)
{
    for (const char *at = plan; (at = strstr(at, "SCAN ")); at++) {
        char piece[200];
        (void)snprintf(piece, sizeof piece, "%.*s", (int)strcspn(at, ";"), at);
        if (!strstr(piece, "CONSTANT ROW") && !strstr(piece, "VIRTUAL TABLE"))
            return true;
    }
    return false;
}

TEST(no_statement_scans_or_sorts)
{
    struct box b;
    char plan[2000];
    box_make(&b);
    box_open(&b);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        plan_of(sqlite_of(b.s)->writer.db, all[i].sql, plan, sizeof plan);
        ck_assert_msg(may_scan(all[i].which) || !scans_a_table(plan), "%s: %s", all[i].name, plan);
        ck_assert_msg(may_scan(all[i].which) || !strstr(plan, "TEMP B-TREE"), "%s: %s", all[i].name,
                      plan);
    }
    box_drop(&b);
}

TEST(hot_statements_use_the_index_made_for_them)
{
    static const struct {
        int which;
        const char *plan;
    } wanted[] = {
        {ST_MESSAGES_AT,
         "message USING INDEX message_due (mailbox=? AND visible_ms=? AND rowid>?)"                     },
        {ST_MESSAGES_AFTER,
         "message USING INDEX message_due (mailbox=? AND visible_ms>? AND visible_ms<?)"                },
        {ST_MESSAGES_OF_UID,     "message USING INDEX message_uid (uid=?)"                              },
        {ST_MESSAGES_OF_NAME,    "message USING INDEX message_name (instance=?)"                        },
        {ST_WORK_READY,          "work USING COVERING INDEX work_ready (place=? AND name=? AND rowid>?)"},
        {ST_WORK_READY_NAME,     "work USING COVERING INDEX work_ready (place=? AND name>?)"            },
        {ST_FRESH_READY,         "work_fresh USING COVERING INDEX work_fresh_name (name=? AND rowid>?)" },
        {ST_WORK_DELAYED_AT,
         "work USING INDEX work_delayed (place=? AND name=? AND <expr>=? AND rowid>?)"                  },
        {ST_WORK_DELAYED_AFTER,  "work USING INDEX work_delayed (place=? AND name=? AND <expr>>?)"      },
        {ST_WORK_DELAYED_NAME,   "work USING COVERING INDEX work_delayed (place=? AND name>?)"          },
        {ST_WORK_DEADLINES,      "work USING INDEX work_deadline (deadline_ms>? AND deadline_ms<?)"     },
        {ST_WORK_FREE_ALL,       "work USING INDEX work_held"                                           },
        {ST_DUE_MESSAGE,         "message USING COVERING INDEX message_due (mailbox=? AND visible_ms>?)"},
        {ST_DUE_WORK,            "work USING COVERING INDEX work_visible (visible_ms>?)"                },
        {ST_DUE_DEADLINE,        "work USING COVERING INDEX work_deadline (deadline_ms>?)"              },
        {ST_HEAD_UPDATE,         "head USING INTEGER PRIMARY KEY (rowid=?)"                             },
        {ST_EVENT_READ,          "history USING INTEGER PRIMARY KEY (rowid=?)"                          },
        {ST_LIST_PARENT,         "i USING INDEX instance_parent (parent_uid=? AND rowid<?)"             },
        {ST_LIST_STATES,         "i USING INDEX instance_state (state=? AND rowid<?)"                   },
        {ST_IDS_FROM,            "instance USING COVERING INDEX sqlite_autoindex_instance_1 (id>?)"     },
        {ST_LIST_ALL,            "i USING INTEGER PRIMARY KEY (rowid<?)"                                },
        {ST_ENTRIES_READY_AT,    "e USING INDEX queue_ready (qid=? AND priority=? AND place>?)"         },
        {ST_ENTRIES_READY_ABOVE, "e USING INDEX queue_ready (qid=? AND priority>?)"                     },
        {ST_ENTRIES_EXPIRING,    "e USING INDEX queue_expiring (qid=? AND expires_ms>?)"                },
        {ST_LEVELS,              "e USING INDEX queue_ready (qid=?)"                                    },
    };
    struct box b;
    char plan[2000];
    box_make(&b);
    box_open(&b);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        plan_of(sqlite_of(b.s)->writer.db, all[wanted[i].which].sql, plan, sizeof plan);
        ck_assert_msg(strstr(plan, wanted[i].plan) != NULL, "%s: %s", all[wanted[i].which].name,
                      plan);
    }
    box_drop(&b);
}

/* Run it with every parameter set to `n`, whatever comes of it. */
static void run_with(sqlite3_stmt *stmt, int n)
{
    for (int i = 1; i <= sqlite3_bind_parameter_count(stmt); i++)
        (void)sqlite3_bind_int(stmt, i, n);
    (void)sqlite3_step(stmt);
    (void)sqlite3_reset(stmt);
}

TEST(no_statement_is_compiled_again_for_other_values)
{
    struct box b;
    box_make(&b);
    box_open(&b);
    struct conn *c = &sqlite_of(b.s)->writer;
    ck_assert_int_eq(sqlite3_exec(c->db, "BEGIN", NULL, NULL, NULL), SQLITE_OK);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        sqlite3_stmt *stmt = conn_statement(c, all[i].which);
        if (sqlite3_bind_parameter_count(stmt) == 0)
            continue;
        for (int n = 1; n <= 3; n++)
            run_with(stmt, n);
        ck_assert_msg(sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_REPREPARE, 0) == 0, "%s",
                      all[i].name);
    }
    ck_assert_int_eq(sqlite3_exec(c->db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    box_drop(&b);
}
