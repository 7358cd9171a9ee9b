/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_sqlite_gone.c -- the database is deleted, moved or replaced while it is open:
 * no commit is acknowledged from that moment on, be it the one under way.
 */
#include "test_sqlite.h"

#include "base/point.h"

#include <sys/stat.h>

static struct box *box; /* for the hook */
static void (*harm)(const struct box *b);
static char elsewhere[100];

static void delete_file(const struct box *b)
{
    ck_assert_int_eq(unlink(b->file), 0);
}

static void delete_wal(const struct box *b)
{
    char wal[120];
    (void)snprintf(wal, sizeof wal, "%s-wal", b->file);
    ck_assert_int_eq(unlink(wal), 0);
}

static void move_directory(const struct box *b)
{
    (void)snprintf(elsewhere, sizeof elsewhere, "%s-moved", b->dir);
    ck_assert_int_eq(rename(b->dir, elsewhere), 0);
}

/* Another file under its name. */
static void replace_file(const struct box *b)
{
    char other[120];
    (void)snprintf(other, sizeof other, "%s.other", b->file);
    FILE *f = fopen(other, "w");
    ck_assert(f && fclose(f) == 0 && rename(other, b->file) == 0);
}

static void (*const harms[])(const struct box *) = {delete_file, delete_wal, move_directory,
                                                    replace_file};

static void drop(struct box *b)
{
    if (harm == move_directory)
        ck_assert_int_eq(rename(elsewhere, b->dir), 0);
    box_drop(b);
}

static pawl_status commit_nothing(struct box *b)
{
    return box_commit(b, &(pawl_round){0}, 0);
}

TEST(D08_nothing_is_committed_to_a_database_that_is_not_there)
{
    for (size_t i = 0; i < sizeof harms / sizeof harms[0]; i++) {
        struct box b;
        pawl_row row;
        bool left;
        box_make(&b);
        box_open(&b);
        (void)box_instance(&b, "a", 2);
        harm = harms[i];
        harm(&b);
        pawl_fence before = b.fence;
        for (int again = 0; again < 2; again++) {
            ck_assert_int_eq(commit_nothing(&b), PAWL_NOT_FOUND);
            ck_assert_int_eq(b.err.status, PAWL_NOT_FOUND);
            ck_assert_msg(strstr(b.err.text, "is gone"), "%s", b.err.text);
        }
        ck_assert(before.group_no == b.fence.group_no);
        ck_assert_int_eq(b.s->ops->purge(b.s, &b.fence, 10, &left, &b.err), PAWL_NOT_FOUND);
        ck_assert_int_eq(b.s->ops->find(b.s, pawl_s("a"), b.mem, &row, &b.err), PAWL_UNAVAILABLE);
        drop(&b);
    }
}

static void at_commit(const char *name)
{
    if (strcmp(name, "sqlite.commit.before") != 0)
        return;
    point_hook = NULL;
    harm(box);
}

/* A look before the commit would not see it. */
TEST(D08_deleted_in_the_middle_of_a_commit)
{
    for (size_t i = 0; i < sizeof harms / sizeof harms[0]; i++) {
        struct box b;
        box_make(&b);
        box_open(&b);
        harm = harms[i];
        box = &b;
        point_hook = at_commit;
        ck_assert_int_eq(commit_nothing(&b), PAWL_NOT_FOUND);
        ck_assert(!point_hook);
        drop(&b);
    }
}

TEST(D08_deleted_before_it_is_taken)
{
    struct box b;
    box_make(&b);
    b.s = pawl_sqlite_store(b.file, PAWL_STORE_OPTS(.now_ms = 1000), &b.err);
    ck_assert_msg(b.s, "%s", b.err.text);
    delete_wal(&b);
    ck_assert_int_eq(b.s->ops->take(b.s, 1000, &b.fence, &b.err), PAWL_NOT_FOUND);
    box_drop(&b);
}

/* A program that changes its directory later has its store where it was. */
TEST(D08_a_relative_path_stays_what_it_was)
{
    struct box b;
    box_make(&b);
    ck_assert_int_eq(chdir(b.dir), 0);
    (void)snprintf(b.file, sizeof b.file, "pawl.db");
    box_open(&b);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(commit_nothing(&b), PAWL_OK);
    (void)snprintf(b.file, sizeof b.file, "%s/pawl.db", b.dir);
    delete_file(&b);
    ck_assert_int_eq(commit_nothing(&b), PAWL_NOT_FOUND);
    box_drop(&b);
}

/* Everything that was acknowledged is brought into the database at once, before anybody kills us. */
TEST(D08_what_a_deleted_wal_held_is_saved)
{
    struct box b, copy;
    pawl_row row;
    char command[300];
    box_make(&b);
    box_open(&b);
    (void)box_instance(&b, "a", 2);
    delete_wal(&b);
    ck_assert_int_eq(commit_nothing(&b), PAWL_NOT_FOUND);
    box_make(&copy);
    (void)snprintf(command, sizeof command, "cp %s %s", b.file, copy.file);
    ck_assert_int_eq(system(command), 0);
    box_open(&copy);
    ck_assert_int_eq(copy.s->ops->find(copy.s, pawl_s("a"), copy.mem, &row, &copy.err), PAWL_OK);
    box_drop(&copy);
    box_drop(&b);
}

/* What has its name now is somebody else's: closing neither deletes nor checkpoints it. */
TEST(D08_closing_leaves_what_took_its_place)
{
    struct box b;
    struct stat st;
    char wal[120];
    box_make(&b);
    box_open(&b);
    (void)box_instance(&b, "a", 2);
    harm = move_directory;
    harm(&b);
    ck_assert_int_eq(mkdir(b.dir, 0700), 0);
    replace_file(&b);
    (void)snprintf(wal, sizeof wal, "%s-wal", b.file);
    FILE *f = fopen(wal, "w");
    ck_assert(f && fputs("somebody's", f) >= 0 && fclose(f) == 0);
    ck_assert_int_eq(commit_nothing(&b), PAWL_NOT_FOUND);
    box_close(&b);
    ck_assert(stat(wal, &st) == 0 && st.st_size == 10);
    ck_assert(stat(b.file, &st) == 0 && st.st_size == 0);
    box_drop(&b);
    (void)snprintf(b.dir, sizeof b.dir, "%.60s", elsewhere);
    b.mem = pawl_mem_new();
    box_drop(&b);
}
