/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/plain_files.c -- how the suite makes, kills and damages a jsonl store.
 *
 * A fresh directory for each test, in memory where the system has that: one file an
 * instance is slow on a busy disk, and what a disk does is not asked here.  Closing a jsonl store writes nothing, so death
 * is a close and an open.  Damage edits the file behind the store's back, then lets
 * the store read its files again, as a restart would.
 */
#include "stores.h"

#include "store/jsonl/jsonl.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int delete_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static pawl_store *open_dir(const char *dir, pawl_error *reterr)
{
    return pawl_jsonl_store(dir, PAWL_STORE_OPTS(.now_ms = 1000000), reterr);
}

pawl_store *plain_files_open(void *user, pawl_error *reterr)
{
    char *dir = user;
    const char *tmp = getenv("TMPDIR");
    if (!tmp)
        tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(dir, PLAIN_FILES_PATH, "%s/pawl-jsonl-XXXXXX", tmp);
    return mkdtemp(dir) ? open_dir(dir, reterr) : NULL;
}

pawl_store *plain_files_reopen(void *user, pawl_store *s, pawl_error *reterr)
{
    s->ops->close(s);
    return open_dir(user, reterr);
}

void plain_files_close(void *user, pawl_store *s)
{
    s->ops->close(s);
    (void)nftw(user, delete_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The line to look for. */
struct edit {
    char from[64];
    bool done;
};
static struct edit edit;

static int edit_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)ftw;
    const char *end = strrchr(path, '.');
    if (type != FTW_F || !end || strcmp(end, ".jsonl") != 0)
        return 0;
    FILE *f = fopen(path, "r+");
    static char line[65536];
    for (long at = 0; f && !edit.done && fgets(line, sizeof(line), f); at = ftell(f)) {
        char *hit = strstr(line, edit.from);
        if (!hit)
            continue;
        hit = strstr(line, "\"kind\":"); /* both kinds of line have one */
        if (!hit)
            continue;
        fseek(f, at + (hit - line), SEEK_SET);
        fputs("\"dink\":", f);
        edit.done = true;
    }
    if (f)
        fclose(f);
    return edit.done;
}

bool plain_files_damage(void *user, pawl_store *s, pawl_damage what, uint64_t id)
{
    pawl_error err;
    memset(&edit, 0, sizeof(edit));
    snprintf(edit.from, sizeof(edit.from),
             what == PAWL_DAMAGE_MESSAGE ? "{\"put\":{\"id\":%llu," : "\"rid\":%llu}",
             (unsigned long long)id);
    (void)nftw(user, edit_one, 16, FTW_PHYS);
    return edit.done && jsonl_reload(s, &err) == PAWL_OK;
}
