/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/site.c -- see site.h.  site_place() is for the engine thread; the
 * function that asks addr2line is for the thread that reads the answer.  The module is named by
 * the descriptor of its private copy, so the answer is right even after the file was replaced.
 */
#include "runtime/core/site.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Read one line from the child, waiting two seconds at most. */
static void read_line(int fd, pid_t child, char *to, size_t size)
{
    size_t n = 0;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while (n + 1 < size && poll(&p, 1, 2000) == 1) {
        ssize_t got = read(fd, to + n, size - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    to[n] = 0;
    to[strcspn(to, "\n")] = 0;
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
}

/* Ask addr2line; leaves "" when it has no answer. */
static void ask(const char *object, unsigned long offset, char *to, size_t size)
{
    char address[32];
    (void)snprintf(address, sizeof(address), "0x%lx", offset);
    char tool[] = "addr2line", e[] = "-e", flags[] = "-fps", file[256];
    (void)snprintf(file, sizeof(file), "%s", object);
    char *const argv[] = {tool, e, file, flags, address, NULL};
    int pipe_fds[2];
    to[0] = 0;
    if (pipe2(pipe_fds, O_CLOEXEC) != 0)
        return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    int failed = posix_spawnp(&child, tool, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_fds[1]);
    if (!failed)
        read_line(pipe_fds[0], child, to, size);
    close(pipe_fds[0]);
    char *remark = strstr(to, " (discriminator");
    if (remark)
        *remark = 0;
    size_t n = strlen(to);
    if (strstr(to, "??"))
        to[0] = 0;
    else if (n > 2 && strcmp(to + n - 2, ":?") == 0) /* built without -g: function and file */
        to[n - 2] = 0;
}

/* A module is a private copy in memory; the copy carries the name of the file it was. */
static const char *object_name(const char *opened, char *room, size_t size)
{
    static const char before[] = "/memfd:", after[] = " (deleted)";
    ssize_t n = strncmp(opened, "/proc/", 6) == 0 ? readlink(opened, room, size - 1) : -1;
    room[n > 0 ? n : 0] = 0;
    if (strncmp(room, before, sizeof(before) - 1) != 0)
        return opened;
    char *end = strstr(room, after);
    if (end)
        *end = 0;
    return room + sizeof(before) - 1;
}

void site_describe(void *address, char *to, size_t size)
{
    char room[300];
    Dl_info info;
    struct link_map *map = NULL;
    to[0] = 0;
    if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !info.dli_fname)
        return;
    unsigned long offset = (unsigned long)((char *)address - (char *)map->l_addr);
    ask(info.dli_fname, offset - 1, to, size); /* the call, not what follows it */
    if (!to[0])
        (void)snprintf(to, size, "%s+0x%lx", object_name(info.dli_fname, room, sizeof(room)),
                       offset);
}

/* The file of an object, by its whole path. */
static void object_path(const char *opened, char *to, size_t size)
{
    char room[300], path[1024];
    const char *name = object_name(opened, room, sizeof(room));
    ssize_t n = access(name, R_OK) == 0 ? -1 : readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (n > 0) { /* the program itself, found by its name alone */
        path[n] = 0;
        name = path;
    }
    char *whole = realpath(name, NULL);
    (void)snprintf(to, size, "%s", whole ? whole : name);
    free(whole);
}

void site_place(void *address, char *to, size_t size)
{
    Dl_info info;
    struct link_map *map = NULL;
    char path[1024];
    to[0] = 0;
    if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !info.dli_fname)
        return;
    object_path(info.dli_fname, path, sizeof(path));
    (void)snprintf(to, size, "%s+0x%lx", path,
                   (unsigned long)((char *)address - (char *)map->l_addr));
}

pawl_str site_name(pawl_mem *mem, pawl_str text, int64_t since_ms)
{
    static const char before[] = "; called from /";
    struct stat st;
    char path[1024], line[200];
    const char *found = text.len ? memmem(text.ptr, text.len, before, sizeof(before) - 1) : NULL;
    const char *at = found ? found + sizeof(before) - 2 : NULL;
    const char *plus = at ? memrchr(at, '+', (size_t)(text.ptr + text.len - at)) : NULL;
    if (!plus || (size_t)(plus - at) >= sizeof(path))
        return text;
    memcpy(path, at, (size_t)(plus - at));
    path[plus - at] = 0;
    char *end;
    unsigned long offset = strtoul(plus + 1, &end, 16);
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || (int64_t)st.st_mtime * 1000 > since_ms)
        return text;
    ask(path, offset - 1, line, sizeof(line));
    if (!line[0])
        return text;
    return pawl_mem_printf(mem, "%.*s%s%.*s", (int)(at - text.ptr), text.ptr, line,
                           (int)(text.ptr + text.len - end), end);
}
