/* SPDX-License-Identifier: MIT */
/* tests/vfs/disk.c -- see disk.h. */
#include "disk.h"

#include "base/vec.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const disk_op_names[] = {"read", "open",   "lock",   "share",  "write",   "truncate",
                                     "sync", "create", "unlink", "rename", "sync_dir"};
const char *const disk_fault_names[] = {"fine", "io_error", "full", "busy", "sync_lost", "short"};
const char *const disk_damage_names[] = {"none", "all", "writes", "sectors", "pages", "trash"};

enum disk_fault (*disk_hook)(enum disk_op op, const char *path);

struct bytes {
    char *at;
    size_t size, cap;
};

/* A write, or (from NULL) a new size. */
struct change {
    int64_t at; /* or the size */
    size_t n;
    char *from; /* owned */
};

struct file {
    char path[200];         /* as it was opened */
    struct bytes now, safe; /* what readers see; what survives */
    VEC(struct change) changes;
    bool dir, mapped;
    struct disk_locks locks;
};

/* A name and the file behind it: as seen, and as it survives. */
struct entry {
    char path[200];
    int now, safe;
};

struct entry_change {
    int entry, file;
    int number; /* changes of one number stand or fall together */
};

static struct {
    VEC(struct file *) files;
    VEC(struct entry) entries;
    VEC(struct entry_change) changes;
    int numbers;
} disk;
static pthread_mutex_t lock;
static __thread int inside;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_lock(void)
{
    pthread_mutexattr_t again;
    pthread_mutexattr_init(&again);
    pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &again);
}

/* A child that was born inside an operation does not come out of it: it begins anew. */
static void make_first_lock(void)
{
    make_lock();
    (void)pthread_atfork(NULL, NULL, make_lock);
}

void disk_enter(void)
{
    pthread_once(&once, make_first_lock);
    pthread_mutex_lock(&lock);
    inside++;
}

void disk_leave(void)
{
    inside--;
    pthread_mutex_unlock(&lock);
}

bool disk_is_inside(void)
{
    return inside > 0;
}

enum disk_fault disk_ask(enum disk_op op, const char *path)
{
    return disk_hook ? disk_hook(op, path) : DISK_FINE;
}

/* ---- Bytes --------------------------------------------------------------------- */

static void bytes_resize(struct bytes *b, size_t size)
{
    if (size > b->cap) {
        b->cap = size + size / 2 + 4096;
        b->at = realloc(b->at, b->cap);
        if (!b->at)
            abort();
    }
    if (size > b->size)
        memset(b->at + b->size, 0, size - b->size);
    b->size = size;
}

static void bytes_put(struct bytes *b, const void *from, size_t n, size_t at)
{
    if (at + n > b->size)
        bytes_resize(b, at + n);
    if (n)
        memcpy(b->at + at, from, n);
}

static void bytes_copy(struct bytes *to, const struct bytes *from)
{
    bytes_resize(to, from->size);
    if (from->size)
        memcpy(to->at, from->at, from->size);
}

/* ---- Names --------------------------------------------------------------------- */

static struct file *file_of(int number)
{
    return disk.files.items[number];
}

static int new_file(const char *path)
{
    struct file **slot = vec_push(&disk.files);
    struct file *f = calloc(1, sizeof(*f));
    if (!slot || !f)
        abort();
    (void)snprintf(f->path, sizeof(f->path), "%s", path);
    *slot = f;
    return (int)disk.files.count - 1;
}

static int entry_of(const char *path, bool make)
{
    for (size_t i = 0; i < disk.entries.count; i++)
        if (strcmp(disk.entries.items[i].path, path) == 0)
            return (int)i;
    if (!make)
        return -1;
    struct entry *e = vec_push(&disk.entries);
    if (!e)
        abort();
    (void)snprintf(e->path, sizeof(e->path), "%s", path);
    e->now = e->safe = DISK_NONE;
    return (int)disk.entries.count - 1;
}

static void set_entry(const char *path, int file, int number)
{
    int e = entry_of(path, true);
    disk.entries.items[e].now = file;
    struct entry_change *c = vec_push(&disk.changes);
    if (!c)
        abort();
    *c = (struct entry_change){e, file, number};
}

static bool is_parent(const char *dir, const char *path)
{
    size_t n = strlen(dir);
    return strncmp(dir, path, n) == 0 && path[n] == '/' && !strchr(path + n + 1, '/');
}

int disk_find(const char *path)
{
    disk_enter();
    int e = strcmp(path, DISK_ROOT) == 0 ? entry_of(path, true) : entry_of(path, false);
    if (e >= 0 && strcmp(path, DISK_ROOT) == 0 && disk.entries.items[e].now == DISK_NONE) {
        int root = new_file(path);
        file_of(root)->dir = true;
        disk.entries.items[e].now = disk.entries.items[e].safe = root;
    }
    int file = e < 0 ? DISK_NONE : disk.entries.items[e].now;
    disk_leave();
    return file;
}

int disk_open(const char *path, bool create, enum disk_fault *retfault)
{
    disk_enter();
    int file = disk_find(path);
    bool makes = file == DISK_NONE && create;
    *retfault = disk_ask(makes ? DISK_CREATE : DISK_OPEN, path);
    if (*retfault != DISK_FINE) {
        file = DISK_NONE;
    } else if (makes) {
        file = new_file(path);
        set_entry(path, file, ++disk.numbers);
    }
    disk_leave();
    return file;
}

int disk_make_dir(const char *path, enum disk_fault *retfault)
{
    disk_enter();
    int file = DISK_NONE;
    *retfault = DISK_FINE;
    if (disk_find(path) == DISK_NONE) {
        file = disk_open(path, true, retfault);
        if (file != DISK_NONE)
            file_of(file)->dir = true;
    }
    disk_leave();
    return file;
}

int disk_anonymous(void)
{
    disk_enter();
    int file = new_file("(anonymous)");
    disk_leave();
    return file;
}

bool disk_is_dir(int file)
{
    return file_of(file)->dir;
}

const char *disk_path(int file)
{
    return file_of(file)->path;
}

enum disk_fault disk_unlink(const char *path)
{
    disk_enter();
    enum disk_fault fault = disk_ask(DISK_UNLINK, path);
    if (fault == DISK_FINE && disk_find(path) != DISK_NONE)
        set_entry(path, DISK_NONE, ++disk.numbers);
    disk_leave();
    return fault;
}

enum disk_fault disk_rename(const char *from, const char *to)
{
    disk_enter();
    enum disk_fault fault = disk_ask(DISK_RENAME, to);
    int file = disk_find(from);
    if (fault == DISK_FINE && file != DISK_NONE) {
        int number = ++disk.numbers;
        set_entry(to, file, number);
        set_entry(from, DISK_NONE, number);
    }
    disk_leave();
    return fault;
}

/* ---- Contents ------------------------------------------------------------------ */

int64_t disk_size(int file)
{
    return (int64_t)file_of(file)->now.size;
}

size_t disk_read(int file, void *to, size_t n, int64_t at, enum disk_fault *retfault)
{
    disk_enter();
    struct file *f = file_of(file);
    *retfault = disk_ask(DISK_READ, f->path);
    size_t got = 0;
    if (*retfault == DISK_SHORT) {
        *retfault = DISK_FINE;
        n -= n / 2;
    }
    if (*retfault == DISK_FINE && (size_t)at < f->now.size) {
        got = f->now.size - (size_t)at < n ? f->now.size - (size_t)at : n;
        memcpy(to, f->now.at + at, got);
    }
    disk_leave();
    return got;
}

static void remember(struct file *f, const void *from, size_t n, int64_t at)
{
    struct change *c = vec_push(&f->changes);
    if (!c)
        abort();
    c->at = at;
    c->n = n;
    if (from) {
        c->from = malloc(n);
        if (!c->from)
            abort();
        memcpy(c->from, from, n);
    }
}

enum disk_fault disk_write(int file, const void *from, size_t n, int64_t at)
{
    disk_enter();
    struct file *f = file_of(file);
    enum disk_fault fault = disk_ask(DISK_WRITE, f->path);
    if (fault == DISK_FINE && n) {
        bytes_put(&f->now, from, n, (size_t)at);
        remember(f, from, n, at);
    }
    disk_leave();
    return fault;
}

enum disk_fault disk_resize(int file, int64_t size)
{
    disk_enter();
    struct file *f = file_of(file);
    enum disk_fault fault = disk_ask(DISK_TRUNCATE, f->path);
    if (fault == DISK_FINE) {
        bytes_resize(&f->now, (size_t)size);
        remember(f, NULL, 0, size);
    }
    disk_leave();
    return fault;
}

static void forget_changes(struct file *f)
{
    for (size_t i = 0; i < f->changes.count; i++)
        free(f->changes.items[i].from);
    vec_reset(&f->changes);
}

static void apply(struct file *f, const struct change *c)
{
    if (c->from)
        bytes_put(&f->safe, c->from, c->n, (size_t)c->at);
    else
        bytes_resize(&f->safe, (size_t)c->at);
}

static void sync_entries(const char *dir)
{
    size_t kept = 0;
    for (size_t i = 0; i < disk.changes.count; i++) {
        struct entry_change c = disk.changes.items[i];
        if (is_parent(dir, disk.entries.items[c.entry].path))
            disk.entries.items[c.entry].safe = c.file;
        else
            disk.changes.items[kept++] = c;
    }
    disk.changes.count = kept;
}

enum disk_fault disk_sync(int file)
{
    disk_enter();
    struct file *f = file_of(file);
    enum disk_fault fault = disk_ask(f->dir ? DISK_SYNC_DIR : DISK_SYNC, f->path);
    if (fault == DISK_FINE && f->dir) {
        sync_entries(f->path);
    } else if (fault == DISK_FINE) {
        for (size_t i = 0; i < f->changes.count; i++)
            apply(f, &f->changes.items[i]);
    }
    if (fault == DISK_FINE || fault == DISK_SYNC_LOST)
        forget_changes(f);
    disk_leave();
    return fault;
}

void *disk_map(int file)
{
    file_of(file)->mapped = true;
    return file_of(file)->now.at;
}

bool disk_is_map(const void *at)
{
    for (size_t i = 0; i < disk.files.count; i++)
        if (file_of((int)i)->mapped && file_of((int)i)->now.at == at)
            return true;
    return false;
}

struct disk_locks *disk_locks_of(int file)
{
    return &file_of(file)->locks;
}

bool disk_unsafe(const char *path)
{
    char name[200];
    (void)snprintf(name, sizeof(name), "%s", path);
    disk_enter();
    bool unsafe = false;
    for (; strcmp(name, DISK_ROOT) != 0 && name[0]; *strrchr(name, '/') = 0) {
        int e = entry_of(name, false), file = e < 0 ? DISK_NONE : disk.entries.items[e].now;
        if (file != DISK_NONE)
            unsafe = unsafe || disk.entries.items[e].safe != file || file_of(file)->changes.count;
    }
    disk_leave();
    return unsafe;
}

/* ---- Power ------------------------------------------------------------------------ */

static uint64_t dice;

static uint32_t roll(uint32_t sides)
{
    dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(dice >> 33) % sides;
}

static void put_rubbish(struct file *f, size_t n, size_t at)
{
    for (size_t i = 0; i < n; i++)
        bytes_put(&f->safe, &(char){(char)roll(256)}, 1, at + i);
}

/* Of each sector the changes up to some moment: `frozen` marks those whose moment is over. */
static void keep_sectors(struct file *f, size_t sector, bool trash)
{
    size_t count = (f->now.size + f->safe.size) / sector + 2;
    for (size_t i = 0; i < f->changes.count; i++)
        count += f->changes.items[i].n / sector + 2;
    char *frozen = calloc(count, 1);
    if (!frozen)
        abort();
    uint32_t sides = 1 + roll(12);
    for (size_t i = 0; i < f->changes.count; i++) {
        const struct change *c = &f->changes.items[i];
        if (!c->from) {
            if (roll(2))
                apply(f, c);
            continue;
        }
        for (size_t done = 0, n; done < c->n; done += n) {
            size_t at = (size_t)c->at + done, s = at / sector;
            n = (s + 1) * sector - at < c->n - done ? (s + 1) * sector - at : c->n - done;
            if (s < count && !frozen[s] && roll(sides) == 0)
                frozen[s] = 1;
            if (s >= count || !frozen[s])
                bytes_put(&f->safe, c->from + done, n, at);
            else if (trash && frozen[s] == 1 && roll(4) == 0)
                frozen[s] = 2, put_rubbish(f, n, at);
        }
    }
    free(frozen);
}

static void damage_file(struct file *f, enum disk_damage damage)
{
    if (f->mapped && damage != DISK_KEEP_NONE && roll(2)) {
        bytes_copy(&f->safe, &f->now);
    } else if (damage == DISK_KEEP_ALL || damage == DISK_KEEP_WRITES) {
        for (size_t i = 0; i < f->changes.count; i++)
            if (damage == DISK_KEEP_ALL || roll(2))
                apply(f, &f->changes.items[i]);
    } else if (damage != DISK_KEEP_NONE) {
        keep_sectors(f, damage == DISK_KEEP_PAGES ? 4096 : 512, damage == DISK_KEEP_TRASH);
    }
}

/* Up to some moment, as a journal keeps them; or any of them, as nothing forbids. */
static void damage_names(enum disk_damage damage)
{
    size_t upto = disk.changes.count ? roll((uint32_t)disk.changes.count + 1) : 0;
    bool journal = roll(2), keep = false;
    int number = 0;
    for (size_t i = 0; i < disk.changes.count; i++) {
        struct entry_change c = disk.changes.items[i];
        if (c.number != number)
            keep = journal ? i < upto : roll(2);
        number = c.number;
        if (damage == DISK_KEEP_ALL || (damage != DISK_KEEP_NONE && keep))
            disk.entries.items[c.entry].safe = c.file;
    }
    vec_reset(&disk.changes);
}

/* What lies in a directory that is gone is gone. */
static void drop_orphans(void)
{
    for (size_t i = 0; i < disk.entries.count; i++) {
        struct entry *e = &disk.entries.items[i];
        char parent[200];
        (void)snprintf(parent, sizeof(parent), "%s", e->path);
        *strrchr(parent, '/') = 0;
        int p = parent[0] ? entry_of(parent, false) : -1;
        if (p >= 0 && disk.entries.items[p].safe == DISK_NONE)
            e->safe = DISK_NONE;
    }
}

void disk_lose_process(void)
{
    for (size_t i = 0; i < disk.files.count; i++)
        file_of((int)i)->locks = (struct disk_locks){0};
    disk_lose_descriptors();
}

void disk_lose_power(enum disk_damage damage, uint64_t seed)
{
    dice = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    (void)roll(2);
    (void)disk_find(DISK_ROOT);
    for (size_t i = 0; i < disk.files.count; i++) {
        struct file *f = file_of((int)i);
        damage_file(f, damage);
        forget_changes(f);
        bytes_copy(&f->now, &f->safe);
    }
    damage_names(damage);
    drop_orphans();
    for (size_t i = 0; i < disk.entries.count; i++)
        disk.entries.items[i].now = disk.entries.items[i].safe;
    disk_lose_process();
}

void disk_format(void)
{
    for (size_t i = 0; i < disk.files.count; i++) {
        struct file *f = file_of((int)i);
        forget_changes(f);
        vec_deinit(&f->changes);
        free(f->now.at);
        free(f->safe.at);
        for (size_t k = 0; k < 16; k++)
            free(f->locks.shm[k]);
        free(f);
    }
    vec_reset(&disk.files);
    vec_reset(&disk.entries);
    vec_reset(&disk.changes);
}

/* ---- Images ------------------------------------------------------------------------ */

struct image_file {
    char path[200];
    bool dir;
    size_t size;
};

void *disk_save(bool safe_only, size_t *retlen)
{
    disk_enter();
    struct bytes image = {0};
    for (size_t i = 0; i < disk.entries.count; i++) {
        const struct entry *e = &disk.entries.items[i];
        int file = safe_only ? e->safe : e->now;
        if (file == DISK_NONE)
            continue;
        const struct bytes *b = safe_only ? &file_of(file)->safe : &file_of(file)->now;
        struct image_file head = {.dir = file_of(file)->dir, .size = b->size};
        memcpy(head.path, e->path, sizeof(head.path));
        bytes_put(&image, &head, sizeof(head), image.size);
        if (b->size)
            bytes_put(&image, b->at, b->size, image.size);
    }
    disk_leave();
    *retlen = image.size;
    return image.at;
}

void disk_load(const void *image, size_t len)
{
    const char *at = image, *end = at + len;
    (void)disk_find(DISK_ROOT);
    while (at < end) {
        struct image_file head;
        memcpy(&head, at, sizeof(head));
        at += sizeof(head);
        int e = entry_of(head.path, true), file = new_file(head.path);
        file_of(file)->dir = head.dir;
        bytes_put(&file_of(file)->now, at, head.size, 0);
        bytes_put(&file_of(file)->safe, at, head.size, 0);
        disk.entries.items[e].now = disk.entries.items[e].safe = file;
        at += head.size;
    }
}
