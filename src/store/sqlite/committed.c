/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/committed.c -- FILE-committed: which commit was the last.
 *
 * SQLite ends a WAL at the first frame that does not fit and says nothing: a WAL
 * that was deleted, cut or damaged takes acknowledged commits with it, and the file
 * looks well.  So each commit, once it is durable, writes its number here too, over
 * the one before and without a sync: one short write.  A store whose fence is behind
 * it has lost something, and is not opened.
 *
 * It never cries wolf: what is written here is on the disk already, so no power loss
 * can leave it ahead; a line that was torn does not fit its check sum and counts for
 * nothing; and another database in the same directory has a number of its own.
 */
#include "base/file.h"
#include "base/limits.h"
#include "base/rand.h"
#include "store/sqlite/sqlite.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define LINE "epoch %20" PRIu64 " commit %20" PRIu64

static uint64_t sum_of(const char *line)
{
    static const uint64_t key[2] = {0x7061776c, 0x636f6d6d};

    return siphash24(key, line, strlen(line));
}

/* What the file says; false: nothing that can be believed. */
static bool read_line(int fd, uint64_t *retepoch, uint64_t *retgroup)
{
    char text[128] = "", line[96];
    uint64_t sum;

    if (file_read(fd, text, sizeof text - 1, 0) <= 0 ||
        sscanf(text, "epoch %" SCNu64 " commit %" SCNu64 " sum %" SCNx64, retepoch, retgroup,
               &sum) != 3)
        return false;
    (void)snprintf(line, sizeof line, LINE, *retepoch, *retgroup);
    return sum == sum_of(line);
}

void committed_note(struct sqlite_store *s)
{
    char line[96], text[128];

    if (s->committed_fd < 0)
        return;
    (void)snprintf(line, sizeof line, LINE, s->fence.epoch, s->fence.group_no);
    int n = snprintf(text, sizeof text, "%s sum %016" PRIx64 "\n", line, sum_of(line));
    ssize_t written = pwrite(s->committed_fd, text, (size_t)n, 0);
    (void)written; /* an older number is no lie */
}

pawl_status committed_open(struct sqlite_store *s, pawl_error *reterr)
{
    char path[4096];
    uint64_t epoch = 0, group = 0;

    if (snprintf(path, sizeof path, "%s-committed", s->file) >= (int)sizeof path)
        return PAWL_OK; /* lock_open said so already */
    s->committed_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (s->committed_fd < 0 || !read_line(s->committed_fd, &epoch, &group))
        return PAWL_OK;
    if (epoch < s->fence.epoch || (epoch == s->fence.epoch && group <= s->fence.group_no))
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
    if (s->committed_fd >= 0)
        (void)close(s->committed_fd);
}
