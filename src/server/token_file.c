/* SPDX-License-Identifier: MIT */
/*
 * server/token_file.c -- bearer tokens, kept as hashes in a file.
 *
 * A token is "pawl_" ID "_" SECRET; the file has a line for each:
 *
 *     ID SCOPE CREATED_MS SHA256-OF-TOKEN QUEUES NAME      ("-": none)
 *
 * so a person who reads the file cannot use it.  A token with QUEUES is for /queue alone, unless its
 * SCOPE ends with a plus.  The file is replaced as a whole (rename), by one process at a time,
 * and keeps its owner and mode: root may make a token for a server that is not root.
 *
 * Called by tokens.c, and through pawl/server.h by `pawl token`.  Tokens in a store are lines of
 * the same form (token_store.c).
 */
#include "server/token_file.h"
#include "server/token_store.h"

#include "base/hex.h"
#include "base/limits.h"
#include "base/misuse.h"
#include "base/rand.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Reading ------------------------------------------------------------------------- */

enum token_scope token_scope(const char *word)
{
    return strcmp(word, "admin") == 0     ? SCOPE_ADMIN
           : strcmp(word, "operate") == 0 ? SCOPE_OPERATE
           : strcmp(word, "read") == 0    ? SCOPE_READ
           : strcmp(word, "work") == 0    ? SCOPE_WORK
                                          : SCOPE_PUBLIC;
}

/* The word without the plus. */
static bool take_scope(char *word, pawl_token_info *ret)
{
    size_t n = strlen(word);
    ret->api = n && word[n - 1] == '+';
    word[n - ret->api] = 0;
    (void)snprintf(ret->scope, sizeof(ret->scope), "%.7s", word);
    return token_scope(word) != SCOPE_PUBLIC;
}

bool token_line_read(pawl_mem *mem, const char *line, struct token *ret)
{
    char scope[10], hash[65], queues[512], name[512];
    *ret = (struct token){0};
    if (sscanf(line, "%16s %9s %" SCNd64 " %64s %511s %511[^\n]", ret->info.id, scope,
               &ret->info.created_ms, hash, queues, name) != 6 ||
        strlen(hash) != 64 || !hex_read(ret->hash, hash, 32) || !take_scope(scope, &ret->info))
        return false;
    if (strcmp(queues, "-") != 0)
        ret->info.queues = pawl_mem_dup(mem, pawl_s(queues));
    if (strcmp(name, "-") != 0)
        ret->info.name = pawl_mem_dup(mem, pawl_s(name));
    return true;
}

pawl_status token_file_read(const char *file, pawl_mem *mem, struct token_list *ret,
                            pawl_error *reterr)
{
    FILE *f = fopen(file, "re");
    char line[1400];
    size_t number = 0;
    struct token t;
    *ret = (struct token_list){0};
    if (!f && errno == ENOENT)
        return PAWL_OK;
    while (f && fgets(line, sizeof(line), f)) {
        number++;
        if (token_line_read(mem, line, &t))
            *list_add(mem, ret) = t;
        else if (!ret->bad && line[strspn(line, " \n")])
            ret->bad = number;
    }
    bool ok = f && !ferror(f);
    if (!ok)
        error_set(reterr, PAWL_UNAVAILABLE,
                  "cannot read the tokens in '%s': %s; see who may read that file", file,
                  strerror(errno));
    if (f)
        (void)fclose(f);
    return ok ? PAWL_OK : PAWL_UNAVAILABLE;
}

/* For a change: a line that cannot be read would be lost. */
static pawl_status read_whole(const char *file, pawl_mem *mem, struct token_list *ret,
                              pawl_error *reterr)
{
    pawl_status rc = token_file_read(file, mem, ret, reterr);
    if (rc != PAWL_OK || !ret->bad)
        return rc;
    error_set(reterr, PAWL_CORRUPT, "line %zu of '%s' is not a token; repair or remove it",
              ret->bad, file);
    return PAWL_CORRUPT;
}

/* ---- Writing --------------------------------------------------------------------------- */

pawl_str token_line(pawl_mem *mem, const struct token *t)
{
    char hash[65];
    pawl_str queues = t->info.queues.len ? t->info.queues : pawl_s("-");
    pawl_str name = t->info.name.len ? t->info.name : pawl_s("-");
    hex_write(hash, t->hash, 32);
    return pawl_mem_printf(mem, "%s %s%s %" PRId64 " %s %.*s %.*s", t->info.id, t->info.scope,
                           t->info.api ? "+" : "", t->info.created_ms, hash, PAWL_FMT(queues),
                           PAWL_FMT(name));
}

/* On disk, all of it, and closed. */
static bool write_all(int fd, pawl_mem *mem, const struct token *items, size_t count)
{
    FILE *f = fdopen(fd, "w");
    if (!f) {
        (void)close(fd);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        fprintf(f, "%s\n", token_line(mem, &items[i]).ptr);
    bool ok = fflush(f) == 0 && fsync(fd) == 0;
    return fclose(f) == 0 && ok;
}

/* From reading to writing, other processes are locked out: the lock is on the directory, which
 * stays when the file is replaced.  -1: could not. */
static int begin_change(const char *file, pawl_error *reterr)
{
    const char *slash = strrchr(file, '/');
    char dir[4200] = ".";
    int rc = -1;
    if (slash)
        (void)snprintf(dir, sizeof(dir), "%.*s", (int)(slash == file ? 1 : slash - file), file);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (fd >= 0 && (rc = flock(fd, LOCK_EX)) != 0 && errno == EINTR)
        ;
    if (rc == 0)
        return fd;
    error_set(reterr, PAWL_UNAVAILABLE, "cannot use '%s': %s", dir, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* As the file that is replaced; a new one belongs to its directory's owner alone. */
static bool take_after(int fd, const char *file, int dir_fd)
{
    struct stat old, own;
    mode_t mode = 0600;
    if (fstat(fd, &own) != 0)
        return false;
    if (stat(file, &old) == 0)
        mode = old.st_mode & 07777;
    else if (errno != ENOENT || fstat(dir_fd, &old) != 0)
        return false;
    if ((old.st_uid != own.st_uid || old.st_gid != own.st_gid) &&
        fchown(fd, old.st_uid, old.st_gid) != 0 && geteuid() == 0)
        return false; /* else the file is ours: we could create it, so the directory is ours too */
    return fchmod(fd, mode) == 0;
}

/* A new file, even if one of that name exists. */
static int create(const char *path, const char *file, int dir_fd)
{
    (void)unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || take_after(fd, file, dir_fd))
        return fd;
    int why = errno;
    (void)close(fd);
    (void)unlink(path);
    errno = why;
    return -1;
}

/* `dir_fd` is synced too: a revoked token does not come back after a power loss. */
static pawl_status write_file(const char *file, int dir_fd, pawl_mem *mem,
                              const struct token *items, size_t count, pawl_error *reterr)
{
    char path[4200];
    (void)snprintf(path, sizeof(path), "%s.new", file);
    int fd = create(path, file, dir_fd);
    if (fd >= 0 && write_all(fd, mem, items, count) && rename(path, file) == 0 &&
        (fsync(dir_fd) == 0 || errno == EINVAL))
        return PAWL_OK;
    error_set(reterr, PAWL_UNAVAILABLE, "cannot write '%s': %s", file, strerror(errno));
    return PAWL_UNAVAILABLE;
}

/* ---- pawl/server.h ----------------------------------------------------------------------- */

static bool is_plain(const char *text, bool spaces)
{
    for (; *text; text++)
        if ((unsigned char)*text < (spaces ? 0x20 : 0x21) || *text == 0x7f)
            return false;
    return true;
}

/* "mail,orders-": prefixes, none of them empty, which would be every queue. */
static bool are_prefixes(const char *queues)
{
    size_t n = strlen(queues);
    return n && queues[0] != ',' && queues[n - 1] != ',' && !strstr(queues, ",,");
}

static bool check_queues(const char *queues, bool api, pawl_error *reterr)
{
    const char *why = NULL;
    if (!queues)
        why = api ? "a scope with a plus is for tokens with --queues" : NULL;
    else if (!are_prefixes(queues))
        why = "a prefix of queues is empty: that would be every queue; leave --queues out for all";
    else if (strcmp(queues, "-") == 0) /* in the file that is: every queue */
        why = "'-' alone cannot be a prefix of queues";
    else if (strlen(queues) > 500 || !is_plain(queues, false))
        why = "queues: at most 500 bytes, no spaces or control characters";
    if (why)
        error_set(reterr, PAWL_INVALID, "%s", why);
    return !why;
}

static bool check_new(const char *scope, const char *queues, const char *name, pawl_token_info *ret,
                      pawl_error *reterr)
{
    char word[10];
    (void)snprintf(word, sizeof(word), "%s", scope);
    if (strlen(scope) >= sizeof(word) || !take_scope(word, ret)) {
        error_set(reterr, PAWL_INVALID, "there is no scope '%s'; use work, read, operate or admin",
                  scope);
        return false;
    }
    if (name && (strlen(name) > 500 || !is_plain(name, true))) {
        error_set(reterr, PAWL_INVALID, "name: at most 500 bytes, no control characters");
        return false;
    }
    if (queues && token_scope(ret->scope) == SCOPE_WORK) {
        error_set(reterr, PAWL_INVALID,
                  "queues: a token of the scope work has none; leave them out");
        return false;
    }
    ret->queues = pawl_s(queues);
    ret->name = pawl_s(name);
    return check_queues(queues, ret->api, reterr);
}

/* Its id, its secret and its hash. */
static void make_token(struct token *t, char rettoken[PAWL_TOKEN_BYTES])
{
    uint8_t bits[36];
    char secret[65];
    random_bytes(bits, sizeof(bits));
    hex_write(t->info.id, bits, 4);
    hex_write(secret, bits + 4, 32);
    (void)snprintf(rettoken, PAWL_TOKEN_BYTES, "pawl_%s_%s", t->info.id, secret);
    sha256(rettoken, strlen(rettoken), t->hash);
}

pawl_status pawl_token_new(const char *file, const char *scope, const char *queues,
                           const char *name, int64_t now_ms, char rettoken[PAWL_TOKEN_BYTES],
                           pawl_error *reterr)
{
    if (!IS_THERE(file && scope && rettoken, "a file, a scope and room for the token", reterr))
        return PAWL_MISUSE;
    struct token made = {.info.created_ms = now_ms};
    if (!check_new(scope, queues, name, &made.info, reterr))
        return PAWL_INVALID;
    if (token_store_is(file)) {
        make_token(&made, rettoken);
        return token_store_add(file, &made, reterr);
    }
    int fd = begin_change(file, reterr);
    if (fd < 0)
        return PAWL_UNAVAILABLE;
    pawl_mem *mem = pawl_mem_new();
    struct token_list list;
    pawl_status rc = read_whole(file, mem, &list, reterr);
    if (rc == PAWL_OK) {
        struct token *all = pawl_mem_alloc(mem, (list.count + 1) * sizeof(*all));
        if (list.count)
            memcpy(all, list.items, list.count * sizeof(*all));
        make_token(&made, rettoken);
        all[list.count] = made;
        rc = write_file(file, fd, mem, all, list.count + 1, reterr);
    }
    close(fd);
    pawl_mem_free(mem);
    return rc;
}

pawl_status pawl_token_list(const char *file, pawl_mem *mem, const pawl_token_info **ret,
                            size_t *retcount, pawl_error *reterr)
{
    if (!IS_THERE(file && mem && ret && retcount, "a file, memory and room for the answer", reterr))
        return PAWL_MISUSE;
    struct token_list all;
    pawl_status rc = token_store_is(file) ? token_store_list(file, mem, &all, reterr)
                                          : token_file_read(file, mem, &all, reterr);
    if (rc != PAWL_OK)
        return rc;
    pawl_token_info *list = pawl_mem_alloc(mem, (all.count + 1) * sizeof(*list));
    for (size_t i = 0; i < all.count; i++)
        list[i] = all.items[i].info;
    *ret = list;
    *retcount = all.count;
    return PAWL_OK;
}

pawl_status pawl_token_revoke(const char *file, const char *id, pawl_error *reterr)
{
    if (!IS_THERE(file && id, "a file and an id", reterr))
        return PAWL_MISUSE;
    if (token_store_is(file))
        return token_store_revoke(file, id, reterr);
    int fd = begin_change(file, reterr);
    if (fd < 0)
        return PAWL_UNAVAILABLE;
    pawl_mem *mem = pawl_mem_new();
    struct token_list list;
    size_t kept = 0;
    pawl_status rc = read_whole(file, mem, &list, reterr);
    for (size_t i = 0; rc == PAWL_OK && i < list.count; i++)
        if (strcmp(list.items[i].info.id, id) != 0)
            list.items[kept++] = list.items[i];
    if (rc == PAWL_OK && kept == list.count) {
        error_set(reterr, PAWL_NOT_FOUND, "there is no token '%s'", id);
        rc = PAWL_NOT_FOUND;
    }
    if (rc == PAWL_OK)
        rc = write_file(file, fd, mem, list.items, kept, reterr);
    close(fd);
    pawl_mem_free(mem);
    return rc;
}
