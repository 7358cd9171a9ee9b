/* SPDX-License-Identifier: MIT */
/*
 * cli/owner.c -- which process has the store open?
 *
 * The owner holds a lock on DIR/lock and writes its pid there.  Trying the lock
 * could make an owner fail that is just starting, so the kernel's list of locks
 * is read instead: looking must never disturb.
 */
#include "cli/session.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_locked(ino_t inode, bool *retknown)
{
    FILE *f = fopen("/proc/locks", "re");
    char text[256];
    bool locked = false;
    *retknown = f != NULL;
    while (f && fgets(text, sizeof(text), f)) {
        /* 1: FLOCK  ADVISORY  WRITE 1234 fd:01:5678 0 EOF */
        unsigned long long number;
        const char *flock = strstr(text, "FLOCK"), *colon = strrchr(text, ':');
        if (flock && colon && sscanf(colon, ":%llu", &number) == 1 && number == inode)
            locked = true;
    }
    if (f)
        fclose(f);
    return locked;
}

long session_owner(const struct cli *cli)
{
    bool elsewhere = session_place(cli) == PLACE_SERVER; /* the owner may be on another machine */
    const char *file =
        elsewhere ? pawl_mem_printf(cli->mem, "%s/", session_data(cli)).ptr : session_file(cli);
    const char *slash = file ? strrchr(file, '/') : NULL;
    if (!file)
        return -1;
    pawl_str path =
        pawl_mem_printf(cli->mem, "%.*slock", slash ? (int)(slash - file + 1) : 0, file);
    struct stat st;
    if (stat(path.ptr, &st) != 0)
        return elsewhere ? -1 : 0;
    bool known, locked = is_locked(st.st_ino, &known);
    if (!known || !locked)
        return known && !elsewhere ? 0 : -1;
    long pid = 0;
    FILE *f = fopen(path.ptr, "re");
    if (f) {
        if (fscanf(f, "pid %ld", &pid) != 1)
            pid = 0;
        fclose(f);
    }
    bool gone = pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH; /* a child holds the lock */
    return pid > 0 && !gone ? pid : -1;
}
