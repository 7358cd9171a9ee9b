/* SPDX-License-Identifier: MIT */
/* tests/fuzz/fuzz.c -- see fuzz.h. */
#include "fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fuzz_broken(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: broken promise: %s\n", file, line, what);
    abort();
}

uint8_t feed_byte(struct feed *f)
{
    return f->at < f->end ? *f->at++ : 0;
}

uint64_t feed_number(struct feed *f, unsigned bytes)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < bytes; i++)
        n |= (uint64_t)feed_byte(f) << (8 * i);
    return n;
}

static pawl_str slice(struct feed *f, size_t n)
{
    size_t left = (size_t)(f->end - f->at);
    pawl_str text = {(const char *)f->at, n < left ? n : left};
    f->at += text.len;
    return text;
}

pawl_str feed_text(struct feed *f)
{
    return slice(f, feed_byte(f));
}

pawl_str feed_line(struct feed *f)
{
    size_t left = (size_t)(f->end - f->at);
    const uint8_t *end = left ? memchr(f->at, '\n', left) : NULL;
    pawl_str text = slice(f, end ? (size_t)(end - f->at) : left);
    if (end)
        f->at++;
    return text;
}

pawl_str feed_rest(struct feed *f)
{
    return slice(f, (size_t)(f->end - f->at));
}

/* ---- Files --------------------------------------------------------------------- */

static char dir[64];
static pid_t owner;

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind;
    /* the store's 8 MiB for a full disk: making it anew would be most of the work */
    if (ftw->level > 0 && strcmp(path + ftw->base, "reserve") != 0)
        (void)remove(path);
    return 0;
}

void fuzz_clear(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Removes what is in the way of rmdir(). */
static void remove_dir(void)
{
    if (getpid() != owner)
        return;
    fuzz_clear(dir);
    (void)unlink(fuzz_path("reserve"));
    (void)rmdir(dir);
}

const char *fuzz_dir(void)
{
    if (!dir[0]) {
        bool shm = access("/dev/shm", W_OK) == 0;
        (void)snprintf(dir, sizeof(dir), "%s/pawl-fuzz-XXXXXX", shm ? "/dev/shm" : "/tmp");
        if (!mkdtemp(dir))
            abort();
        owner = getpid();
        (void)atexit(remove_dir);
    }
    return dir;
}

const char *fuzz_path(const char *name)
{
    static char paths[2][300];
    static unsigned next;
    char *path = paths[next++ % 2];
    (void)snprintf(path, sizeof(paths[0]), "%s/%s", fuzz_dir(), name);
    return path;
}

void fuzz_write(const char *path, pawl_str bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || (bytes.len && write(fd, bytes.ptr, bytes.len) != (ssize_t)bytes.len))
        abort();
    close(fd);
}

pawl_str fuzz_read(const char *path, pawl_mem *mem)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return (pawl_str){"", 0};
    if (fstat(fd, &st) != 0)
        abort();
    char *to = pawl_mem_alloc(mem, (size_t)st.st_size + 1);
    ssize_t n = read(fd, to, (size_t)st.st_size);
    close(fd);
    if (n != st.st_size)
        abort();
    return (pawl_str){to, (size_t)n};
}

void fuzz_hush(bool on)
{
    static int saved = -1, null = -1;
    if (null < 0) {
        null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
        if (null < 0 || saved < 0)
            abort();
    }
    if (getenv("PAWL_FUZZ_LOUD"))
        return;
    fflush(stderr);
    if (dup2(on ? null : saved, STDERR_FILENO) < 0)
        abort();
}
