/* SPDX-License-Identifier: MIT */
/*
 * tests/outside/shim.c -- LD_PRELOAD into the real binary: allocations that fail, the
 * order of syncs and answers, and files that are read and written in pieces.
 *
 * PAWL_SHIM names a file of 64-bit numbers, shared with the test that set it up:
 *
 *   [0] countdown: the allocation that brings it to 0 fails, and so do the next [1]
 *   [2] how many failed      [3] syncs of a WAL      [4] answers sent
 *   [5] answers sent while bytes of a WAL were not synced (clients come one at a time)
 *   [6] not 0: syncs are not counted as such; the test of the test
 *   [7] not 0: reads and writes of files give half of what was asked for; counts them
 *   [8] n: the n-th thread from now on and all later ones cannot be started; 0: all can
 *   [9] every fdatasync takes so many ms longer
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *at, size_t n);

static _Atomic int64_t *shared;
static atomic_bool dirty[4096]; /* by descriptor: a WAL with unsynced bytes */

#define REAL(type, name, args)                                                                     \
    type name args;                                                                                \
    static type(*real_##name) args;                                                                \
    type name args

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("PAWL_SHIM");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, 128, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED)
        shared = at;
    if (fd >= 0)
        close(fd);
}

/* ---- Allocations ---------------------------------------------------------------------- */

static int fails(void)
{
    if (!shared || shared[0] <= 0)
        return 0;
    int64_t left = atomic_fetch_sub(&shared[0], 1);
    if (left > 1 + shared[1])
        return 0;
    atomic_fetch_add(&shared[2], 1);
    errno = ENOMEM; /* as malloc does: glibc checks it when it makes a thread */
    return 1;
}

void *malloc(size_t n)
{
    return fails() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *at, size_t n)
{
    return fails() ? NULL : __libc_realloc(at, n);
}

/* ---- Threads --------------------------------------------------------------------------- */

#define FIND(name)                                                                                 \
    do {                                                                                           \
        if (!real_##name)                                                                          \
            *(void **)&real_##name = dlsym(RTLD_NEXT, #name);                                      \
    } while (0)

REAL(int, pthread_create,
     (pthread_t * to, const pthread_attr_t *attr, void *(*fn)(void *), void *arg))
{
    FIND(pthread_create);
    if (shared && shared[8] == 1)
        return EAGAIN;
    if (shared && shared[8] > 1)
        atomic_fetch_sub(&shared[8], 1);
    return real_pthread_create(to, attr, fn, arg);
}

/* ---- Order, and pieces ----------------------------------------------------------------------------- */

static int is_wal(int fd)
{
    char link[64], path[512];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof(path) - 1);
    return n > 4 && memcmp(path + n - 4, "-wal", 4) == 0;
}

/* What is done of n bytes. */
static size_t piece(int fd, size_t n)
{
    struct stat st;
    if (!shared || !shared[7] || n < 2 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return n;
    atomic_fetch_add(&shared[7], 1);
    return n / 2;
}

REAL(ssize_t, pwrite64, (int fd, const void *from, size_t n, off64_t at))
{
    FIND(pwrite64);
    if (shared && fd >= 0 && fd < 4096 && is_wal(fd))
        dirty[fd] = 1;
    return real_pwrite64(fd, from, piece(fd, n), at);
}

REAL(ssize_t, pwrite, (int fd, const void *from, size_t n, off_t at))
{
    FIND(pwrite);
    return real_pwrite(fd, from, piece(fd, n), at);
}

REAL(ssize_t, pread64, (int fd, void *to, size_t n, off64_t at))
{
    FIND(pread64);
    return real_pread64(fd, to, piece(fd, n), at);
}

REAL(ssize_t, pread, (int fd, void *to, size_t n, off_t at))
{
    FIND(pread);
    return real_pread(fd, to, piece(fd, n), at);
}

REAL(ssize_t, read, (int fd, void *to, size_t n))
{
    FIND(read);
    return real_read(fd, to, piece(fd, n));
}

REAL(ssize_t, write, (int fd, const void *from, size_t n))
{
    FIND(write);
    return real_write(fd, from, piece(fd, n));
}

static void synced(int fd, int rc)
{
    if (!shared || rc != 0 || fd < 0 || fd >= 4096 || !dirty[fd])
        return;
    atomic_fetch_add(&shared[3], 1);
    if (!shared[6])
        dirty[fd] = 0;
}

REAL(int, fdatasync, (int fd))
{
    FIND(fdatasync);
    if (shared && shared[9])
        usleep((useconds_t)shared[9] * 1000);
    int rc = real_fdatasync(fd);
    synced(fd, rc);
    return rc;
}

REAL(int, fsync, (int fd))
{
    FIND(fsync);
    int rc = real_fsync(fd);
    synced(fd, rc);
    return rc;
}

static void sends(const void *data, size_t n)
{
    if (!shared || n < 10 || memcmp(data, "HTTP/1.1 2", 10) != 0)
        return;
    int early = 0;
    for (int i = 0; i < 4096; i++)
        early |= dirty[i];
    atomic_fetch_add(&shared[4], 1);
    atomic_fetch_add(&shared[5], early);
}

REAL(ssize_t, send, (int fd, const void *data, size_t n, int flags))
{
    FIND(send);
    sends(data, n);
    return real_send(fd, data, n, flags);
}

REAL(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags))
{
    FIND(sendmsg);
    if (m->msg_iovlen)
        sends(m->msg_iov[0].iov_base, m->msg_iov[0].iov_len);
    return real_sendmsg(fd, m, flags);
}

REAL(ssize_t, writev, (int fd, const struct iovec *parts, int n))
{
    FIND(writev);
    if (n > 0)
        sends(parts[0].iov_base, parts[0].iov_len);
    return real_writev(fd, parts, n);
}
