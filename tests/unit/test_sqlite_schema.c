/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_sqlite_schema.c -- the text of every table, index and view is the released one.
 *
 * Most of it is made from the lists of store/sql/columns.h.  A change of a list must not change
 * what is in the file: a released text stays, and a new column comes with a step of the schema.
 */
#include "test_sqlite.h"

/* What is in the file, and a sum (FNV-1a) of its text. */
static const struct {
    const char *name;
    uint64_t sum;
} released[] = {
    {"all_work",          UINT64_C(0xe5654a54763ac3b3)},
    {"attribute",         UINT64_C(0xd93344141141fac3)},
    {"dedup",             UINT64_C(0x97b22bedc4504994)},
    {"event_kind",        UINT64_C(0x511b24c0e1839069)},
    {"events",            UINT64_C(0xd4884666b7e508c6)},
    {"execution",         UINT64_C(0x149ea045d0f159d1)},
    {"fence",             UINT64_C(0xaf7e3bc6f0d7b36e)},
    {"head",              UINT64_C(0x60c4df21b7252522)},
    {"history",           UINT64_C(0xf53f38bccc94b3f3)},
    {"instance",          UINT64_C(0x42a691e12139ed5f)},
    {"instance_parent",   UINT64_C(0x1c27c5aef6e9a971)},
    {"instance_state",    UINT64_C(0xe7673b78d90dacc9)},
    {"mark",              UINT64_C(0x242c8e649accf6de)},
    {"message",           UINT64_C(0x2c904c905ddc7395)},
    {"message_due",       UINT64_C(0x8d9fad3beeae6a17)},
    {"message_name",      UINT64_C(0x602e8070f7b61bab)},
    {"message_uid",       UINT64_C(0xa0e910a1ae42d48c)},
    {"object",            UINT64_C(0x40b30c6777cc7784)},
    {"quarantine",        UINT64_C(0xa8eb6541d93865b2)},
    {"queue",             UINT64_C(0x633876b1da7a4a04)},
    {"queue_delayed",     UINT64_C(0xb5c8bd8dab44662c)},
    {"queue_due",         UINT64_C(0xcda16657f25e05b7)},
    {"queue_entry",       UINT64_C(0x4f75bfc5fa473e19)},
    {"queue_expiring",    UINT64_C(0x12f519e8516d934e)},
    {"queue_key",         UINT64_C(0xeca558faf7c25d8d)},
    {"queue_key_expiry",  UINT64_C(0x79745d6d1842da60)},
    {"queue_lock",        UINT64_C(0x506c08e4872e6b8a)},
    {"queue_past",        UINT64_C(0x1cce5a9366152d98)},
    {"queue_past_number", UINT64_C(0x51799ccb00550588)},
    {"queue_ready",       UINT64_C(0xce654a3435a802d8)},
    {"tomb",              UINT64_C(0x113f091d7063b294)},
    {"work",              UINT64_C(0x8ac730878a43263a)},
    {"work_deadline",     UINT64_C(0x44f53a4b3fb64ee3)},
    {"work_delayed",      UINT64_C(0x4fc49c603ea56baf)},
    {"work_fresh",        UINT64_C(0x0f0fa0fd838ab297)},
    {"work_fresh_name",   UINT64_C(0xc31d97748b049ea2)},
    {"work_held",         UINT64_C(0x616ce0180e2d53bb)},
    {"work_local",        UINT64_C(0x830e3ec3b2e04d7a)},
    {"work_ready",        UINT64_C(0xdbeea4aba911f214)},
    {"work_visible",      UINT64_C(0x1fb12d460959c3f1)},
};

static uint64_t sum_of(const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return h;
}

TEST(the_text_of_the_schema_is_the_released_one)
{
    struct box b;
    sqlite3_stmt *stmt;
    size_t n = 0;
    box_make(&b);
    box_open(&b);
    ck_assert_int_eq(sqlite3_prepare_v2(sqlite_of(b.s)->writer.db,
                                        "SELECT name,sql FROM sqlite_schema WHERE sql<>''"
                                        " ORDER BY name",
                                        -1, &stmt, NULL),
                     SQLITE_OK);
    for (; sqlite3_step(stmt) == SQLITE_ROW; n++) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);
        const char *text = (const char *)sqlite3_column_text(stmt, 1);
        ck_assert_msg(n < COUNT_OF(released) && strcmp(name, released[n].name) == 0,
                      "%s is new, or one before it is missing", name);
        ck_assert_msg(sum_of(text) == released[n].sum, "%s has another text (sum 0x%016llx): %s",
                      name, (unsigned long long)sum_of(text), text);
    }
    ck_assert_uint_eq(n, COUNT_OF(released));
    sqlite3_finalize(stmt);
    box_drop(&b);
}
