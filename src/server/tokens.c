/* SPDX-License-Identifier: MIT */
/*
 * server/tokens.c -- bearer tokens, kept as hashes in a file.
 *
 * A token is "pawl_" ID "_" SECRET; the file has a line for each:
 *
 *     ID SCOPE CREATED_MS SHA256-OF-TOKEN QUEUES NAME      ("-": none)
 *
 * so whoever reads the file cannot use it.  It is replaced as a whole (rename), by one
 * process at a time, and a running server sees the new one at the next request.  Compared is the
 * whole hash in constant time; an unknown id is compared with a dummy.
 *
 * Called by guard.c, and through pawl/server.h by `pawl token`.
 */
#include "base/limits.h"
#include "base/rand.h"
#include "server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct token {
    pawl_token_info info;
    uint8_t hash[32];
};

struct tokens {
    char *file; /* owned */
    struct stat seen;
    pawl_mem *mem;
    struct token *items;
    size_t count;
};

/* ---- The file ------------------------------------------------------------------- */

static bool from_hex(const char *text, uint8_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned byte;
        if (sscanf(text + i * 2, "%2x", &byte) != 1)
            return false;
        out[i] = (uint8_t)byte;
    }
    return true;
}

static bool parse_line(pawl_mem *mem, const char *line, struct token *ret)
{
    char hash[65], queues[512], name[512];
    *ret = (struct token){0};
    if (sscanf(line, "%16s %7s %" SCNd64 " %64s %511s %511[^\n]", ret->info.id, ret->info.scope,
               &ret->info.created_ms, hash, queues, name) != 6 ||
        strlen(hash) != 64 || !from_hex(hash, ret->hash, 32))
        return false;
    if (strcmp(queues, "-") != 0)
        ret->info.queues = pawl_mem_dup(mem, pawl_s(queues));
    if (strcmp(name, "-") != 0)
        ret->info.name = pawl_mem_dup(mem, pawl_s(name));
    return true;
}

static pawl_status read_file(const char *file, pawl_mem *mem, struct token **ret, size_t *retcount,
                             pawl_error *reterr)
{
    FILE *f = fopen(file, "re");
    *ret = NULL;
    *retcount = 0;
    if (!f && errno == ENOENT)
        return PAWL_OK;
    if (!f) {
        error_set(reterr, PAWL_UNAVAILABLE, "cannot read '%s': %s", file, strerror(errno));
        return PAWL_UNAVAILABLE;
    }
    size_t cap = 0, count = 0;
    struct token *items = NULL;
    char line[1400];
    while (fgets(line, sizeof(line), f)) {
        struct token t;
        if (!parse_line(mem, line, &t))
            continue;
        if (count == cap) {
            struct token *more = pawl_mem_alloc(mem, (cap * 2 + 8) * sizeof(*more));
            if (count)
                memcpy(more, items, count * sizeof(*more));
            items = more;
            cap = cap * 2 + 8;
        }
        items[count++] = t;
    }
    fclose(f);
    *ret = items;
    *retcount = count;
    return PAWL_OK;
}

static void write_token(FILE *f, const struct token *t)
{
    fprintf(f, "%s %s %" PRId64 " ", t->info.id, t->info.scope, t->info.created_ms);
    for (size_t i = 0; i < 32; i++)
        fprintf(f, "%02x", t->hash[i]);
    fprintf(f, " %.*s", PAWL_FMT(t->info.queues.len ? t->info.queues : pawl_s("-")));
    fprintf(f, " %.*s\n", PAWL_FMT(t->info.name.len ? t->info.name : pawl_s("-")));
}

/* On disk, all of it, and closed. */
static bool write_all(int fd, const struct token *items, size_t count)
{
    FILE *f = fdopen(fd, "w");
    if (!f) {
        (void)close(fd);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        write_token(f, &items[i]);
    bool ok = fflush(f) == 0 && fsync(fd) == 0;
    return fclose(f) == 0 && ok;
}

/* From reading it to writing it nobody else does: a lock on the directory, which stays when
 * the file is replaced.  -1: could not. */
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

/* `dir_fd` is synced too: a token that was revoked does not come back with the power. */
static pawl_status write_file(const char *file, int dir_fd, const struct token *items, size_t count,
                              pawl_error *reterr)
{
    char path[4200];
    (void)snprintf(path, sizeof(path), "%s.new", file);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0 && write_all(fd, items, count) && rename(path, file) == 0 &&
        (fsync(dir_fd) == 0 || errno == EINVAL))
        return PAWL_OK;
    error_set(reterr, PAWL_UNAVAILABLE, "cannot write '%s': %s", file, strerror(errno));
    return PAWL_UNAVAILABLE;
}

/* ---- For the server ---------------------------------------------------------------- */

struct tokens *tokens_open(const char *file)
{
    struct tokens *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->file = file ? strdup(file) : NULL;
    t->mem = pawl_mem_new();
    return t;
}

void tokens_close(struct tokens *t)
{
    if (!t)
        return;
    free(t->file);
    pawl_mem_free(t->mem);
    free(t);
}

static void look(struct tokens *t)
{
    struct stat st = {0};
    if (!t->file || stat(t->file, &st) != 0) {
        t->count = 0;
        memset(&t->seen, 0, sizeof(t->seen));
        return;
    }
    if (st.st_ino == t->seen.st_ino && st.st_size == t->seen.st_size &&
        st.st_mtim.tv_sec == t->seen.st_mtim.tv_sec &&
        st.st_mtim.tv_nsec == t->seen.st_mtim.tv_nsec)
        return;
    pawl_error err;
    pawl_mem_reset(t->mem);
    t->seen = st;
    if (read_file(t->file, t->mem, &t->items, &t->count, &err) != PAWL_OK)
        t->count = 0;
}

bool tokens_exist(struct tokens *t)
{
    look(t);
    return t->count > 0;
}

static bool same_bytes(const uint8_t *a, const uint8_t *b, size_t n)
{
    unsigned char differs = 0;
    for (size_t i = 0; i < n; i++)
        differs |= (unsigned char)(a[i] ^ b[i]);
    return differs == 0;
}

static enum scope scope_of(const char *word)
{
    return strcmp(word, "admin") == 0     ? SCOPE_ADMIN
           : strcmp(word, "operate") == 0 ? SCOPE_OPERATE
           : strcmp(word, "read") == 0    ? SCOPE_READ
                                          : SCOPE_PUBLIC;
}

enum scope tokens_check(struct tokens *t, const char *token, pawl_mem *mem, pawl_str *retqueues)
{
    static const struct token nobody;
    const struct token *found = &nobody;
    uint8_t hash[32];
    look(t);
    sha256(token, strlen(token), hash);
    for (size_t i = 0; i < t->count; i++) {
        size_t n = strlen(t->items[i].info.id);
        if (strncmp(token, "pawl_", 5) == 0 && strncmp(token + 5, t->items[i].info.id, n) == 0 &&
            token[5 + n] == '_')
            found = &t->items[i];
    }
    bool same = same_bytes(hash, found->hash, sizeof(hash));
    if (!same || found == &nobody)
        return SCOPE_PUBLIC;
    *retqueues = pawl_mem_dup(mem, found->info.queues);
    return scope_of(found->info.scope);
}

/* ---- pawl/server.h ------------------------------------------------------------------- */

static bool is_plain(const char *text, bool spaces)
{
    for (; *text; text++)
        if ((unsigned char)*text < (spaces ? 0x20 : 0x21) || *text == 0x7f)
            return false;
    return true;
}

static void hex_of(const uint8_t *bytes, size_t n, char *out)
{
    for (size_t i = 0; i < n; i++)
        (void)snprintf(out + i * 2, 3, "%02x", bytes[i]);
}

pawl_status pawl_token_new(const char *file, const char *scope, const char *queues,
                           const char *name, int64_t now_ms, char rettoken[PAWL_TOKEN_BYTES],
                           pawl_error *reterr)
{
    if (scope_of(scope) == SCOPE_PUBLIC) {
        error_set(reterr, PAWL_INVALID, "there is no scope '%s'; use read, operate or admin",
                  scope);
        return PAWL_INVALID;
    }
    if ((queues && (strlen(queues) > 500 || !is_plain(queues, false))) ||
        (name && (strlen(name) > 500 || !is_plain(name, true)))) {
        error_set(reterr, PAWL_INVALID,
                  "queues and name: at most 500 bytes, no control characters");
        return PAWL_INVALID;
    }
    if (queues && strcmp(queues, "-") == 0) { /* in the file that is: every queue */
        error_set(reterr, PAWL_INVALID, "'-' alone cannot be a prefix of queues");
        return PAWL_INVALID;
    }
    int fd = begin_change(file, reterr);
    if (fd < 0)
        return PAWL_UNAVAILABLE;
    pawl_mem *mem = pawl_mem_new();
    struct token *items;
    size_t count;
    pawl_status rc = read_file(file, mem, &items, &count, reterr);
    if (rc == PAWL_OK) {
        struct token *all = pawl_mem_alloc(mem, (count + 1) * sizeof(*all)), *t = all + count;
        uint8_t bits[36];
        char secret[65];
        if (count)
            memcpy(all, items, count * sizeof(*all));
        random_bytes(bits, sizeof(bits));
        hex_of(bits, 4, t->info.id);
        hex_of(bits + 4, 32, secret);
        (void)snprintf(t->info.scope, sizeof(t->info.scope), "%s", scope);
        t->info.created_ms = now_ms;
        t->info.queues = pawl_s(queues);
        t->info.name = pawl_s(name);
        (void)snprintf(rettoken, PAWL_TOKEN_BYTES, "pawl_%s_%s", t->info.id, secret);
        sha256(rettoken, strlen(rettoken), t->hash);
        rc = write_file(file, fd, all, count + 1, reterr);
    }
    close(fd);
    pawl_mem_free(mem);
    return rc;
}

pawl_status pawl_token_list(const char *file, pawl_mem *mem, const pawl_token_info **ret,
                            size_t *retcount, pawl_error *reterr)
{
    struct token *items;
    pawl_status rc = read_file(file, mem, &items, retcount, reterr);
    if (rc != PAWL_OK)
        return rc;
    pawl_token_info *list = pawl_mem_alloc(mem, (*retcount + 1) * sizeof(*list));
    for (size_t i = 0; items && i < *retcount; i++)
        list[i] = items[i].info;
    *ret = list;
    return PAWL_OK;
}

pawl_status pawl_token_revoke(const char *file, const char *id, pawl_error *reterr)
{
    int fd = begin_change(file, reterr);
    if (fd < 0)
        return PAWL_UNAVAILABLE;
    pawl_mem *mem = pawl_mem_new();
    struct token *items;
    size_t count, kept = 0;
    pawl_status rc = read_file(file, mem, &items, &count, reterr);
    for (size_t i = 0; rc == PAWL_OK && i < count; i++)
        if (strcmp(items[i].info.id, id) != 0)
            items[kept++] = items[i];
    if (rc == PAWL_OK && kept == count) {
        error_set(reterr, PAWL_NOT_FOUND, "there is no token '%s'", id);
        rc = PAWL_NOT_FOUND;
    }
    if (rc == PAWL_OK)
        rc = write_file(file, fd, items, kept, reterr);
    close(fd);
    pawl_mem_free(mem);
    return rc;
}
