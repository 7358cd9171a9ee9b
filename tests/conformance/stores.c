/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/stores.c -- how the suite makes, kills and damages our stores.
 *
 * memory: the object is the data, so death forgets only what take() forgets.
 * sqlite: a fresh directory for each test.  Death copies the files as a crash
 * would leave them (database and log, nothing checkpointed) and opens the copy.
 * jsonl: plain_files.c.  postgres: server_schema.c.
 */
#include "stores.h"

#include "../scratch.h"
#include "store/memory/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- memory ---------------------------------------------------------------- */

static pawl_store *memory_open(void *user, pawl_error *reterr)
{
    (void)user, (void)reterr;
    return pawl_memory_store();
}

static pawl_store *memory_reopen(void *user, pawl_store *s, pawl_error *reterr)
{
    (void)user, (void)reterr;
    memory_check(s);
    return s;
}

static void memory_end(void *user, pawl_store *s)
{
    (void)user;
    s->ops->close(s);
}

static bool memory_damage(void *user, pawl_store *s, pawl_damage what, uint64_t id)
{
    (void)user;
    return what == PAWL_DAMAGE_MESSAGE ? memory_damage_message(s, id) : memory_damage_event(s, id);
}

/* ---- sqlite ---------------------------------------------------------------- */

#define PATH_BYTES 300

struct sqlite_place {
    char dir[PATH_BYTES];
};

static bool new_dir(char dir[PATH_BYTES])
{
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, PATH_BYTES, "%s/pawl-conformance-XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(dir) != NULL;
}

static void path_in(char path[PATH_BYTES * 2], const char *dir, const char *name)
{
    snprintf(path, (size_t)PATH_BYTES * 2, "%s/%.250s", dir, name);
}

/* Call `fn` with the name of every file in `dir`. */
static void each_file(const char *dir, void (*fn)(const char *dir, const char *name, void *arg),
                      void *arg)
{
    DIR *d = opendir(dir);
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] != '.')
            fn(dir, e->d_name, arg);
    }
    closedir(d);
}

static void delete_file(const char *dir, const char *name, void *arg)
{
    char path[PATH_BYTES * 2];
    (void)arg;
    path_in(path, dir, name);
    unlink(path);
}

static void delete_dir(const char *dir)
{
    each_file(dir, delete_file, NULL);
    rmdir(dir);
}

static void copy_file(const char *dir, const char *name, void *to)
{
    char from_path[PATH_BYTES * 2], to_path[PATH_BYTES * 2], block[4096];
    if (strcmp(name, "lock") == 0 || strcmp(name, "reserve") == 0 || strstr(name, "-shm"))
        return;
    path_in(from_path, dir, name);
    path_in(to_path, to, name);
    FILE *in = fopen(from_path, "rb"), *out = fopen(to_path, "wb");
    size_t n;
    while (in && out && (n = fread(block, 1, sizeof(block), in)) > 0)
        fwrite(block, 1, n, out);
    if (in)
        fclose(in);
    if (out)
        fclose(out);
}

static pawl_store *open_in(const char *dir, pawl_error *reterr)
{
    char path[PATH_BYTES * 2];
    path_in(path, dir, "pawl.db");
    return pawl_sqlite_store(path, PAWL_STORE_OPTS(.now_ms = 1000000), reterr);
}

static pawl_store *sqlite_open_new(void *user, pawl_error *reterr)
{
    struct sqlite_place *place = user;
    return new_dir(place->dir) ? open_in(place->dir, reterr) : NULL;
}

static pawl_store *sqlite_reopen(void *user, pawl_store *s, pawl_error *reterr)
{
    struct sqlite_place *place = user;
    char dir[PATH_BYTES];
    if (!new_dir(dir))
        return NULL;
    each_file(place->dir, copy_file, dir);
    s->ops->close(s);
    delete_dir(place->dir);
    memcpy(place->dir, dir, sizeof(dir));
    return open_in(dir, reterr);
}

static void sqlite_end(void *user, pawl_store *s)
{
    struct sqlite_place *place = user;
    s->ops->close(s);
    delete_dir(place->dir);
}

static bool sqlite_damage(void *user, pawl_store *s, pawl_damage what, uint64_t id)
{
    struct sqlite_place *place = user;
    char path[PATH_BYTES * 2], sql[200];
    sqlite3 *db = NULL;
    (void)s;
    path_in(path, place->dir, "pawl.db");
    snprintf(sql, sizeof(sql),
             what == PAWL_DAMAGE_MESSAGE ? "UPDATE message SET kind=NULL WHERE id=%llu"
                                         : "UPDATE history SET seq=seq+1000 WHERE rid=%llu",
             (unsigned long long)id);
    bool done = sqlite3_open(path, &db) == SQLITE_OK &&
                sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK && sqlite3_changes(db) == 1;
    sqlite3_close(db);
    return done;
}

size_t stores(pawl_conformance_factory ret[STORES_MAX])
{
    static struct sqlite_place place;
    ret[0] = (pawl_conformance_factory){.size = sizeof(*ret),
                                        .name = "memory",
                                        .open = memory_open,
                                        .reopen = memory_reopen,
                                        .close = memory_end,
                                        .damage = memory_damage};
    ret[1] = (pawl_conformance_factory){.size = sizeof(*ret),
                                        .name = "sqlite",
                                        .user = &place,
                                        .open = sqlite_open_new,
                                        .reopen = sqlite_reopen,
                                        .close = sqlite_end,
                                        .damage = sqlite_damage};
    static char jsonl_dir[PLAIN_FILES_PATH];
    ret[2] = (pawl_conformance_factory){.size = sizeof(*ret),
                                        .name = "jsonl",
                                        .user = jsonl_dir,
                                        .open = plain_files_open,
                                        .reopen = plain_files_reopen,
                                        .close = plain_files_close,
                                        .damage = plain_files_damage};
    if (!scratch_server()) {
        printf("- postgres: PAWL_TEST_PG is not set (tests/postgres/cluster)\n");
        return STORES_MAX - 1;
    }
    ret[3] = server_schema();
    return STORES_MAX;
}

pawl_conformance_factory store_called(const char *name)
{
    pawl_conformance_factory all[STORES_MAX];
    size_t count = stores(all);
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i];
    printf("FAIL there is no store %s here\n", name);
    exit(1);
}
