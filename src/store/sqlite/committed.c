/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/committed.c -- FILE-committed: the number of the last commit.
 *
 * SQLite ends a WAL at the first frame that does not fit and reports nothing: when a WAL
 * is deleted, cut or damaged, acknowledged commits are lost and the file looks well.  So
 * each commit, once it is durable, also writes its number here, over the one before and
 * without a sync.  A store whose fence is behind this number has lost commits and is not
 * opened.  The file is mapped: the number survives kill -9 like a write and costs no
 * system call (with one it was a tenth of a lone commit).
 *
 * There are no false alarms: the commit is on the disk before its number is written, so
 * no power loss leaves the number ahead; a torn line does not fit its check sum and is
 * ignored; and another database in the same directory has its own file.
 */
#include "base/digits.h"
#include "base/hex.h"
#include "base/limits.h"
#include "base/rand.h"
#include "base/read_file.h"
#include "store/sqlite/sqlite.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define FILE_BYTES 128 /* the line, and zeros */
#define EPOCH_END  26  /* of its line: numbers have twenty places */
#define LINE_END   54
#define SUM        " sum "

/* "epoch %20u commit %20u"; without printf, because every commit writes it. */
static void put_line(char line[LINE_END], uint64_t epoch, uint64_t group)
{
    static const char blank[LINE_END + 1] =
        "epoch                      commit                     ";

    memcpy(line, blank, LINE_END);
    (void)digits_before(line + EPOCH_END, epoch);
    (void)digits_before(line + LINE_END, group);
}

static uint64_t sum_of(const char line[LINE_END])
{
    static const uint64_t key[2] = {0x7061776c, 0x636f6d6d};

    return siphash24(key, line, LINE_END);
}

/* Read the file; false: it has no valid line. */
static bool read_line(int fd, uint64_t *retepoch, uint64_t *retgroup)
{
    char text[FILE_BYTES + 1] = "", line[LINE_END];
    uint64_t sum;

    if (file_read(fd, text, sizeof text - 1, 0) <= 0 ||
        sscanf(text, "epoch %" SCNu64 " commit %" SCNu64 " sum %" SCNx64, retepoch, retgroup,
               &sum) != 3)
        return false;
    put_line(line, *retepoch, *retgroup);
    return sum == sum_of(line);
}

void committed_note(struct sqlite_store *s)
{
    char text[FILE_BYTES], *at = text + LINE_END;

    if (!s->committed)
        return;
    put_line(text, s->fence.epoch, s->fence.group_no);
    at = mempcpy(at, SUM, sizeof SUM - 1);
    hex_write_u64(at, sum_of(text));
    at[16] = '\n'; /* in place of the NUL */
    memcpy(s->committed, text, (size_t)(at + 17 - text));
}

/* If mapping fails, commits go on: an older number in the file is still right. */
static void map_file(struct sqlite_store *s, int fd)
{
    /* Real blocks: writing to a hole on a full disk is a SIGBUS. */
    if (posix_fallocate(fd, 0, FILE_BYTES) != 0)
        return;
    void *map = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    s->committed = map == MAP_FAILED ? NULL : map;
}

pawl_status committed_open(struct sqlite_store *s, pawl_error *reterr)
{
    char path[4096];
    uint64_t epoch = 0, group = 0;

    if (snprintf(path, sizeof path, "%s-committed", s->file) >= (int)sizeof path)
        return PAWL_OK; /* lock_open said so already */
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return PAWL_OK;
    bool believed = read_line(fd, &epoch, &group);
    map_file(s, fd);
    (void)close(fd);
    if (!believed || epoch < s->fence.epoch ||
        (epoch == s->fence.epoch && group <= s->fence.group_no))
        return PAWL_OK;
    error_set(reterr, PAWL_CORRUPT,
              "database %s is behind: commit %" PRIu64 " of epoch %" PRIu64 " was acknowledged, it "
              "has %" PRIu64 " of %" PRIu64 " (was its -wal file removed or damaged?); restore a "
              "backup, or remove %s to go on without what is lost",
              s->file, group, epoch, s->fence.group_no, s->fence.epoch, path);
    return PAWL_CORRUPT;
}

void committed_close(struct sqlite_store *s)
{
    if (s->committed)
        (void)munmap(s->committed, FILE_BYTES);
}
