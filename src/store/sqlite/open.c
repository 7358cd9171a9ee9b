/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/open.c -- opening and closing a store.
 *
 * The order matters: first the owner of the directory (lock), then whether the file
 * can be trusted (dirty mark), then whether it is ours and which schema it has,
 * and only then is anything in it changed.  A read-only opener takes no lock and
 * changes nothing; it may run beside the owner.
 */
#include "base/attr.h"
#include "base/limits.h"
#include "base/misuse.h"
#include "pawl/sqlite.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static void sqlite_close(pawl_store *base);
static void sqlite_caps(pawl_store *base, pawl_store_caps *ret);

static const pawl_store_ops ops = {
    .size = sizeof(pawl_store_ops),
    .abi = PAWL_STORE_ABI,
    .name = "sqlite",
    .caps = sqlite_caps,
    .take = sqlite_take,
    .commit = sqlite_commit,
    .outcome = sqlite_outcome,
    .fetch_messages = sqlite_fetch_messages,
    .fetch_work = sqlite_fetch_work,
    .list_work_names = sqlite_list_work_names,
    .read_named_work = sqlite_read_named_work,
    .fetch_deadlines = sqlite_fetch_deadlines,
    .abandon_messages = sqlite_abandon_messages,
    .abandon_work = sqlite_abandon_work,
    .next_due = sqlite_next_due,
    .find = sql_find,
    .find_uid = sql_find_uid,
    .find_execution = sql_find_execution,
    .read_history = sql_read_history,
    .read_event = sql_read_event,
    .read_messages = sql_read_messages,
    .read_work = sql_read_work,
    .has_key = sql_has_key,
    .list = sql_list,
    .depths = sql_depths,
    .read_quarantine = sql_read_quarantine,
    .purge = sqlite_purge,
    .prune_executions = sqlite_prune_executions,
    .space = sqlite_space,
    .close = sqlite_close,
    .queues = &sql_queue_ops,
    .figures = sqlite_figures,
    .read_object = sql_read_object,
    .list_objects = sql_list_objects,
    .search = sql_search,
    .count_values = sql_count_values,
};

/* Locks and shared memory do not work over these. */
static pawl_status check_file_system(const char *dir, pawl_error *reterr)
{
    static const struct {
        unsigned long magic;
        const char *name;
    } refused[] = {
        {0x6969,     "NFS" },
        {0x517b,     "SMB" },
        {0xff534d42, "CIFS"},
        {0xfe534d42, "SMB2"},
    };
    struct statfs fs;

    if (statfs(dir, &fs) != 0) {
        pawl_status status = errno == ENOENT ? PAWL_NOT_FOUND : PAWL_UNAVAILABLE;
        error_set(reterr, status, "cannot use data directory %s: %s", dir, strerror(errno));
        return status;
    }
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        if (((unsigned long)fs.f_type & 0xffffffffUL) == refused[i].magic) {
            error_set(reterr, PAWL_UNSUPPORTED,
                      "data directory %s is on %s, where file locks cannot be relied on; use a "
                      "local disk",
                      dir, refused[i].name);
            return PAWL_UNSUPPORTED;
        }
    }
    return PAWL_OK;
}

/* The file exists and only its owner can read it. */
static pawl_status make_file(const char *file, pawl_error *reterr)
{
    int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd >= 0) {
        struct stat st;
        if (fstat(fd, &st) == 0 && (st.st_mode & 0077))
            (void)fchmod(fd, 0600); /* another owner's file stays as it is */
        (void)close(fd);
        return PAWL_OK;
    }
    error_set(reterr, PAWL_UNAVAILABLE, "cannot open database %s: %s", file, strerror(errno));
    return PAWL_UNAVAILABLE;
}

/* Read the schema of the file before anything is set or written.  Only the owner opens it for
 * writing: a power loss while the file was made can leave a journal that must be rolled back before
 * the file can be read.  The WAL is not touched. */
static pawl_status look_at_schema(const char *file, bool owner, int *ret, pawl_error *reterr)
{
    sqlite3 *db = NULL;
    int rc = conn_open_file(&db, file, owner);
    pawl_status status;

    if (rc == SQLITE_OK) {
        (void)sqlite3_busy_timeout(db, 1000);
        (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        status = schema_check(db, file, schema_version, ret, reterr);
    } else {
        status = (rc & 0xff) == SQLITE_NOMEM ? PAWL_NO_MEMORY : PAWL_UNAVAILABLE;
        error_set(reterr, status, "cannot open database %s: %s", file, sqlite3_errmsg(db));
    }
    (void)sqlite3_close(db);
    return status;
}

/* Check the file and those SQLite makes beside it, before anything is opened or made. */
static pawl_status check_files(const char *file, pawl_error *reterr)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal", "-committed"};
    pawl_status status = PAWL_OK;

    for (size_t i = 0; i < COUNT_OF(suffixes) && status == PAWL_OK; i++)
        status = file_check(file, suffixes[i], reterr);
    return status;
}

static pawl_status open_reader(struct sqlite_store *s, pawl_error *reterr)
{
    int version = 0;

    if (access(s->file, R_OK) != 0) {
        pawl_status status = errno == ENOENT ? PAWL_NOT_FOUND : PAWL_UNAVAILABLE;
        error_set(reterr, status, "cannot read database %s: %s; %s", s->file, strerror(errno),
                  status == PAWL_NOT_FOUND ? "use another --data"
                                           : "run this as the user who owns it");
        return status;
    }
    pawl_status status = look_at_schema(s->file, false, &version, reterr);
    if (status == PAWL_OK && version < schema_oldest_read) {
        error_set(reterr, PAWL_UNSUPPORTED,
                  "database schema %d is older than this pawl (%d); bring it up to date with: pawl "
                  "work --until-idle",
                  version, schema_version);
        return PAWL_UNSUPPORTED;
    }
    return status;
}

static int load_fence(struct sqlite_store *s)
{
    sqlite3_stmt *stmt = conn_statement(&s->writer, ST_FENCE_READ);

    if (!stmt)
        return sqlite3_extended_errcode(s->writer.db);
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        s->fence = (pawl_fence){.epoch = column_id(stmt, 0),
                                .group_no = column_id(stmt, 1),
                                .next_id = column_id(stmt, 2)};
    (void)sqlite3_reset(stmt);
    return rc == SQLITE_ROW ? SQLITE_OK : rc == SQLITE_DONE ? SQLITE_CORRUPT : rc;
}

static pawl_status open_writer(struct sqlite_store *s, int64_t now_ms, pawl_error *reterr)
{
    int version = 0;

    s->lock_fd = lock_open(s->dir, reterr);
    if (s->lock_fd < 0)
        return reterr ? reterr->status : PAWL_UNAVAILABLE;
    pawl_status status = dirty_repair(s->dir, s->file, reterr);
    if (status == PAWL_OK)
        status = make_file(s->file, reterr);
    if (status == PAWL_OK)
        status = look_at_schema(s->file, true, &version, reterr);
    if (status == PAWL_OK)
        status = conn_open(&s->writer, s->file, true, reterr);
    if (status == PAWL_OK && version < schema_version)
        status =
            schema_migrate(s->writer.db, schema_steps, version, schema_version, now_ms, reterr);
    if (status != PAWL_OK)
        return status;
    (void)sqlite3_wal_hook(s->writer.db, commit_saw_wal, s);
    int rc = load_fence(s);
    if (rc != SQLITE_OK)
        return conn_error(&s->writer, rc, "read the fence", reterr);
    status = committed_open(s, reterr);
    if (status != PAWL_OK)
        return status;
    if (!there_note(&s->file_there, s->file, "") || !there_note(&s->wal_there, s->file, "-wal") ||
        !reserve_open(&s->reserve, s->dir)) {
        error_set(reterr, PAWL_NO_MEMORY, "out of memory");
        return PAWL_NO_MEMORY;
    }
    if (s->reserve.bytes < CHECKPOINT_PAGES * (int64_t)PAGE_BYTES) /* a small disk */
        s->checkpoint_pages = s->checkpoint_at = CHECKPOINT_PAGES_SMALL;
    return PAWL_OK;
}

char *directory_of(const char *file)
{
    const char *slash = strrchr(file, '/');

    if (!slash)
        return strdup(".");
    return slash == file ? strdup("/") : strndup(file, (size_t)(slash - file));
}

static struct sqlite_store *create(const char *file)
{
    struct sqlite_store *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->sql.base.ops = &ops;
    s->sql.driver = &sqlite_driver;
    s->lock_fd = -1;
    s->checkpoint_pages = s->checkpoint_at = CHECKPOINT_PAGES;
    s->seen_ms = INT64_MIN;
    idset_init(&s->messages);
    work_names_init(&s->names, sizeof(struct work_name));
    (void)pthread_mutex_init(&s->pool_lock, NULL);
    (void)pthread_cond_init(&s->pool_free, NULL);
    s->file = strdup(file);
    s->dir = directory_of(file);
    if (s->file && s->dir)
        return s;
    sqlite_close(&s->sql.base);
    return NULL;
}

pawl_store *pawl_sqlite_store(const char *file, const pawl_store_open_opts *opts,
                              pawl_error *reterr)
{
    pawl_store_open_opts room;
    if (!IS_THERE(file && *file, "a file name", reterr) ||
        !(opts = OPTIONS_OF(&room, opts, "pawl_store_open_opts", reterr)))
        return NULL;
    struct sqlite_store *s = create(file);
    if (!s) {
        error_set(reterr, PAWL_NO_MEMORY, "out of memory");
        return NULL;
    }
    s->read_only = opts->read_only;
    pawl_status status = pawl_sqlite_check(reterr);
    if (status == PAWL_OK)
        status = check_file_system(s->dir, reterr);
    if (status == PAWL_OK)
        status = check_files(s->file, reterr);
    if (status == PAWL_OK)
        status = s->read_only ? open_reader(s, reterr) : open_writer(s, opts->now_ms, reterr);
    if (status == PAWL_OK)
        return &s->sql.base;
    sqlite_close(&s->sql.base);
    return NULL;
}

/* Close the readers first: the last connection to close checkpoints, and that must be the writer. */
static void sqlite_close(pawl_store *base)
{
    struct sqlite_store *s = sqlite_of(base);

    pool_close(s);
    conn_close(&s->writer);
    reserve_close(&s->reserve);
    committed_close(s);
    there_deinit(&s->file_there);
    there_deinit(&s->wal_there);
    idset_deinit(&s->messages);
    vec_deinit(&s->fetched);
    vec_deinit(&s->unreadable);
    work_names_deinit(&s->names);
    vec_deinit(&s->candidates);
    pending_deinit(s);
    (void)pthread_mutex_destroy(&s->pool_lock);
    (void)pthread_cond_destroy(&s->pool_free);
    lock_close(s->lock_fd);
    free(s->file);
    free(s->dir);
    free(s);
}

static void sqlite_caps(pawl_store *base, pawl_store_caps *ret)
{
    (void)base;
    static const pawl_store_caps caps = {.atomic_rounds = true,
                                         .delayed_visibility = true,
                                         .durable = true,
                                         .queues = true,
                                         .objects = true};
    pawl_fill(ret, &caps, sizeof(caps));
}

/* Bytes of the file that are free again, because rows were purged or pruned. */
static int64_t bytes_inside(struct sqlite_store *s)
{
    static const char sql[] = "SELECT f.freelist_count*p.page_size FROM"
                              " pragma_freelist_count() f,pragma_page_size() p";
    sqlite3_stmt *stmt = NULL;
    int64_t bytes = 0;

    if (sqlite3_prepare_v2(s->writer.db, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        bytes = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    return bytes;
}

/* After the reserve is spent, new work is taken again when the file has as much free room inside as
 * the reserve needs outside: on a disk that has only this file, no other room can be freed. */
pawl_status sqlite_space(pawl_store *base)
{
    struct sqlite_store *s = sqlite_of(base);

    if (s->reserve.spent && s->reserve.path)
        reserve_refill(&s->reserve);
    if (!s->reserve.spent || bytes_inside(s) >= 2 * s->reserve.bytes)
        return PAWL_OK;
    return PAWL_DISK_FULL;
}

/* ---- Damage, for tests ------------------------------------------------------ */

static bool damage(pawl_store *base, int which, uint64_t id)
{
    struct conn *c = &sqlite_of(base)->writer;
    sqlite3_stmt *stmt = conn_statement(c, which);

    if (!stmt)
        return false;
    bind_id(stmt, 1, id);
    return conn_run(c, which) == SQLITE_OK && sqlite3_changes(c->db) == 1;
}

bool sqlite_damage_message(pawl_store *base, uint64_t id)
{
    return damage(base, ST_MESSAGE_DAMAGE, id);
}

bool sqlite_damage_event(pawl_store *base, uint64_t rid)
{
    return damage(base, ST_EVENT_DAMAGE, rid);
}
