/* SPDX-License-Identifier: MIT */
/*
 * tests/vfs/posix.c -- the file calls of our own code, on the disk of disk.h.
 *
 * The linker's --wrap sends them here (tests.mk); paths and descriptors that are
 * not of the disk go on to the real ones.  SQLite comes by vfs.c.
 */
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#define FD_BASE  0x100000
#define FD_COUNT 64

static struct {
    bool used;
    int file;
    int lock; /* flock */
} fds[FD_COUNT];

#define REAL(type, name, args)                                                                     \
    extern type __real_##name args;                                                                \
    extern type __wrap_##name args;                                                                \
    type __wrap_##name args

static bool is_ours(const char *path)
{
    size_t n = sizeof(DISK_ROOT) - 1;
    return strncmp(path, DISK_ROOT, n) == 0 && (!path[n] || path[n] == '/');
}

static bool is_our_fd(int fd)
{
    return fd >= FD_BASE && fd < FD_BASE + FD_COUNT;
}

static int file_of(int fd)
{
    return fds[fd - FD_BASE].file;
}

static int failed(enum disk_fault fault)
{
    if (fault == DISK_FINE)
        return 0;
    errno = fault == DISK_FULL_ERROR ? ENOSPC : fault == DISK_BUSY ? EWOULDBLOCK : EIO;
    return -1;
}

static int not_found(void)
{
    errno = ENOENT;
    return -1;
}

void disk_lose_descriptors(void)
{
    memset(fds, 0, sizeof(fds));
}

static int new_fd(int file)
{
    for (int i = 0; i < FD_COUNT; i++)
        if (!fds[i].used) {
            fds[i].used = true;
            fds[i].file = file;
            fds[i].lock = 0;
            return FD_BASE + i;
        }
    errno = EMFILE;
    return -1;
}

static bool has_parent(const char *path)
{
    char parent[200];
    (void)strncpy(parent, path, sizeof(parent) - 1);
    parent[sizeof(parent) - 1] = 0;
    *strrchr(parent, '/') = 0;
    return disk_find(parent) != DISK_NONE;
}

extern int __real_open(const char *path, int flags, ...);
extern int __wrap_open(const char *path, int flags, ...);

int __wrap_open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    if (flags & O_CREAT) {
        va_list args;
        va_start(args, flags);
        mode = va_arg(args, mode_t);
        va_end(args);
    }
    if (!is_ours(path))
        return __real_open(path, flags, mode);
    enum disk_fault fault = DISK_FINE;
    if (strcmp(path, DISK_ROOT) != 0 && !has_parent(path))
        return not_found();
    int file = disk_open(path, flags & O_CREAT, &fault);
    if (file == DISK_NONE)
        return fault == DISK_FINE ? not_found() : failed(fault);
    if ((flags & O_TRUNC) && failed(disk_resize(file, 0)))
        return -1;
    return new_fd(file);
}

REAL(int, close, (int fd))
{
    if (!is_our_fd(fd))
        return __real_close(fd);
    fds[fd - FD_BASE].used = false;
    return 0;
}

REAL(int, fsync, (int fd))
{
    return is_our_fd(fd) ? failed(disk_sync(file_of(fd))) : __real_fsync(fd);
}

REAL(int, unlink, (const char *path))
{
    if (!is_ours(path))
        return __real_unlink(path);
    return disk_find(path) == DISK_NONE ? not_found() : failed(disk_unlink(path));
}

REAL(int, rename, (const char *from, const char *to))
{
    if (!is_ours(from))
        return __real_rename(from, to);
    return disk_find(from) == DISK_NONE ? not_found() : failed(disk_rename(from, to));
}

REAL(int, access, (const char *path, int mode))
{
    if (!is_ours(path))
        return __real_access(path, mode);
    return disk_find(path) == DISK_NONE ? not_found() : 0;
}

static int describe(int file, struct stat *st)
{
    memset(st, 0, sizeof(*st));
    st->st_mode = disk_is_dir(file) ? S_IFDIR | 0700 : S_IFREG | 0600;
    st->st_size = disk_size(file);
    st->st_ino = (ino_t)file + 1;
    st->st_uid = geteuid();
    return 0;
}

REAL(int, stat, (const char *path, struct stat *st))
{
    if (!is_ours(path))
        return __real_stat(path, st);
    int file = disk_find(path);
    return file == DISK_NONE ? not_found() : describe(file, st);
}

REAL(int, fstat, (int fd, struct stat *st))
{
    return is_our_fd(fd) ? describe(file_of(fd), st) : __real_fstat(fd, st);
}

REAL(int, chmod, (const char *path, mode_t mode))
{
    return is_ours(path) ? 0 : __real_chmod(path, mode);
}

REAL(int, mkdir, (const char *path, mode_t mode))
{
    if (!is_ours(path))
        return __real_mkdir(path, mode);
    enum disk_fault fault;
    if (disk_make_dir(path, &fault) != DISK_NONE)
        return 0;
    errno = EEXIST;
    return fault == DISK_FINE ? -1 : failed(fault);
}

REAL(int, statfs, (const char *path, struct statfs *fs))
{
    if (!is_ours(path))
        return __real_statfs(path, fs);
    memset(fs, 0, sizeof(*fs));
    return disk_find(path) == DISK_NONE ? not_found() : 0;
}

REAL(int, statvfs, (const char *path, struct statvfs *fs))
{
    if (!is_ours(path))
        return __real_statvfs(path, fs);
    *fs = (struct statvfs){.f_frsize = 4096, .f_blocks = 16384, .f_bavail = 16384}; /* 64 MiB */
    return 0;
}

REAL(int, flock, (int fd, int what))
{
    if (!is_our_fd(fd))
        return __real_flock(fd, what);
    for (int i = 0; i < FD_COUNT; i++)
        if (fds[i].used && fds[i].lock && fds[i].file == file_of(fd) && i != fd - FD_BASE) {
            errno = EWOULDBLOCK;
            return -1;
        }
    fds[fd - FD_BASE].lock = what & LOCK_EX;
    return 0;
}

REAL(int, ftruncate, (int fd, off_t size))
{
    return is_our_fd(fd) ? failed(disk_resize(file_of(fd), size)) : __real_ftruncate(fd, size);
}

REAL(ssize_t, pread, (int fd, void *to, size_t n, off_t at))
{
    if (!is_our_fd(fd))
        return __real_pread(fd, to, n, at);
    enum disk_fault fault;
    size_t got = disk_read(file_of(fd), to, n, at, &fault);
    return fault == DISK_FINE ? (ssize_t)got : failed(fault);
}

REAL(ssize_t, pwrite, (int fd, const void *from, size_t n, off_t at))
{
    if (!is_our_fd(fd))
        return __real_pwrite(fd, from, n, at);
    return failed(disk_write(file_of(fd), from, n, at)) ? -1 : (ssize_t)n;
}

/* Without the blocks: nobody looks at what is in a reserve. */
REAL(int, posix_fallocate, (int fd, off_t at, off_t n))
{
    if (!is_our_fd(fd))
        return __real_posix_fallocate(fd, at, n);
    if (n > 65536 || disk_size(file_of(fd)) >= at + n)
        return 0;
    return failed(disk_resize(file_of(fd), at + n)) ? errno : 0;
}

REAL(void *, mmap, (void *at, size_t n, int prot, int flags, int fd, off_t from))
{
    return is_our_fd(fd) ? disk_map(file_of(fd)) : __real_mmap(at, n, prot, flags, fd, from);
}

REAL(int, munmap, (void *at, size_t n))
{
    return disk_is_map(at) ? 0 : __real_munmap(at, n);
}
