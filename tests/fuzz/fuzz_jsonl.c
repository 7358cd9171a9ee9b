/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz_jsonl.c -- a directory of plain files with wrong bytes in them.
 *
 * The input changes files of a used jsonl store: overwrites, cuts, appends lines,
 * removes.  Opening it refuses with a text or works with what can be read.
 */
#include "base/vec.h"
#include "fuzz.h"
#include "used.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CHANGES_MAX 8

struct file {
    const char *path; /* after fuzz_dir() */
    bool is_dir;
    pawl_str bytes;
};

static VEC(struct file) files;
static pawl_mem *kept;
static char store[300];

static int keep_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    if (ftw->level == 0)
        return 0;
    struct file *f = vec_push(&files);
    f->path = pawl_mem_dup(kept, pawl_s(path + strlen(fuzz_dir()))).ptr;
    f->is_dir = kind == FTW_D;
    if (kind == FTW_F)
        f->bytes = fuzz_read(path, kept);
    return 0;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

static void need_store(void)
{
    if (kept)
        return;
    kept = pawl_mem_new();
    (void)snprintf(store, sizeof(store), "jsonl:%s", fuzz_dir());
    used_make(store, fuzz_dir());
    must(nftw(fuzz_dir(), keep_one, 16, FTW_PHYS) == 0 && files.count > 10);
    qsort(files.items, files.count, sizeof(files.items[0]), by_path);
}

static void put_back(const struct file *f)
{
    char path[600];
    (void)snprintf(path, sizeof(path), "%s%s", fuzz_dir(), f->path);
    if (f->is_dir)
        (void)mkdir(path, 0700);
    else if (strstr(f->path, "reserve") == NULL)
        fuzz_write(path, f->bytes);
}

static void change(struct feed *feed)
{
    char path[600];
    const struct file *f = &files.items[feed_byte(feed) % files.count];
    uint8_t how = feed_byte(feed);
    size_t at = f->bytes.len ? feed_number(feed, 2) % (f->bytes.len + 1) : 0;
    pawl_str text = feed_text(feed);
    (void)snprintf(path, sizeof(path), "%s%s", fuzz_dir(), f->path);
    if (f->is_dir)
        return;
    if (how % 8 == 0) {
        (void)remove(path);
        return;
    }
    size_t skip = how % 8 == 1 ? f->bytes.len - at /* cut */ : how % 8 < 5 ? text.len : 0;
    size_t rest = at + skip < f->bytes.len ? f->bytes.len - at - skip : 0;
    char *all = malloc(at + text.len + rest + 1);
    memcpy(all, f->bytes.ptr, at);
    memcpy(all + at, text.ptr ? text.ptr : "", text.len);
    memcpy(all + at + text.len, f->bytes.ptr + f->bytes.len - rest, rest);
    fuzz_write(path, (pawl_str){all, at + text.len + rest});
    free(all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = feed_of(data, size);
    need_store();
    fuzz_clear(fuzz_dir());
    for (size_t i = 0; i < files.count; i++)
        put_back(&files.items[i]);
    for (int n = 0; n < CHANGES_MAX && f.at < f.end; n++)
        change(&f);
    used_use(store, fuzz_dir());
    return 0;
}
