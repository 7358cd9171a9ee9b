/* SPDX-License-Identifier: MIT */
/*
 * tests/vfs/disk.h -- a disk in memory that can lose power.
 *
 * Every file has what readers see and what a power loss leaves; between the two
 * lie the changes since its last sync.  Names are the same: an entry is safe once
 * its directory was synced.  A power loss keeps some of the changes, by seed: none,
 * all, or of each sector only those up to some moment, so that later writes survive
 * earlier ones and writes are torn in the middle.
 *
 * vfs.c puts SQLite on it, posix.c the calls our own code makes (paths below
 * DISK_ROOT).  fork() copies all of it: whoever wants to know what would happen
 * from here on asks a child.
 */
#ifndef PAWL_TESTS_DISK_H
#define PAWL_TESTS_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DISK_ROOT "/disk"

enum disk_op {
    DISK_READ,
    DISK_OPEN,
    DISK_LOCK,
    DISK_SHARE, /* shared memory of the WAL */
    DISK_WRITE,
    DISK_TRUNCATE,
    DISK_SYNC,
    DISK_CREATE,
    DISK_UNLINK,
    DISK_RENAME,
    DISK_SYNC_DIR,
    DISK_OP_COUNT
};
extern const char *const disk_op_names[];

static inline bool disk_op_changes(enum disk_op op)
{
    return op >= DISK_WRITE;
}

enum disk_fault {
    DISK_FINE,
    DISK_IO_ERROR,
    DISK_FULL_ERROR,
    DISK_BUSY,      /* a lock held by somebody else */
    DISK_SYNC_LOST, /* the sync fails, its changes are forgotten, readers still see them */
    DISK_SHORT,     /* the read gives less than asked for, as at the end of a file */
    DISK_FAULT_COUNT
};
extern const char *const disk_fault_names[];

/* Asked before every operation; anything but DISK_FINE: it fails and nothing changes. */
extern enum disk_fault (*disk_hook)(enum disk_op op, const char *path);

/* A file is a number, valid until the end of the process. */
#define DISK_NONE (-1)
int disk_find(const char *path);
/* Find or create; *retfault when the hook objects. */
int disk_open(const char *path, bool create, enum disk_fault *retfault);
int disk_make_dir(const char *path, enum disk_fault *retfault); /* DISK_NONE: there is one */
int disk_anonymous(void);
bool disk_is_dir(int file);
const char *disk_path(int file);

int64_t disk_size(int file);
/* Bytes read; *retfault as above, a short read is none. */
size_t disk_read(int file, void *to, size_t n, int64_t at, enum disk_fault *retfault);
enum disk_fault disk_write(int file, const void *from, size_t n, int64_t at);
enum disk_fault disk_resize(int file, int64_t size);
enum disk_fault disk_sync(int file); /* of a directory: its entries */
enum disk_fault disk_unlink(const char *path);
enum disk_fault disk_rename(const char *from, const char *to);
/* The bytes themselves, for a mapping; whoever maps does not resize. */
void *disk_map(int file);
bool disk_is_map(const void *at); /* what disk_map() gave */

/* Changes of a file, or of its name, that a power loss could take. */
bool disk_unsafe(const char *path);

/* ---- The end ------------------------------------------------------------------- */

enum disk_damage {
    DISK_KEEP_NONE,
    DISK_KEEP_ALL,
    DISK_KEEP_WRITES,  /* some writes, whole */
    DISK_KEEP_SECTORS, /* some sectors of 512 bytes of some writes */
    DISK_KEEP_PAGES,   /* of 4096 */
    DISK_KEEP_TRASH,   /* sectors, and where they are lost sometimes rubbish */
    DISK_DAMAGES
};
extern const char *const disk_damage_names[];

/* The power goes and comes back: what is left.  Locks and shared memory are gone. */
void disk_lose_power(enum disk_damage damage, uint64_t seed);
/* The process ends: everything stays but locks and shared memory. */
void disk_lose_process(void);
/* An empty disk. */
void disk_format(void);

/* All of the disk as bytes, and back; `which` is what a power loss may leave (KEEP_NONE
 * or KEEP_ALL).  The caller frees. */
void *disk_save(bool safe_only, size_t *retlen);
void disk_load(const void *image, size_t len);

/* ---- For vfs.c --------------------------------------------------------------------- */

struct disk_locks {
    int shared;
    const void *reserved, *pending, *exclusive; /* the handle that has it */
    int shm_shared[8];
    const void *shm_exclusive[8];
    void *shm[16]; /* regions */
    int shm_users;
};
struct disk_locks *disk_locks_of(int file);
void disk_enter(void); /* one thread at a time */
void disk_leave(void);
bool disk_is_inside(void); /* this program's own doing: its allocations do not fail */
/* The hook's answer. */
enum disk_fault disk_ask(enum disk_op op, const char *path);

void disk_vfs_install(void);      /* vfs.c */
void disk_lose_descriptors(void); /* posix.c: those of a process that is gone */

#endif
