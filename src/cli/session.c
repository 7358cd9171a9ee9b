/* SPDX-License-Identifier: MIT */
/*
 * cli/session.c -- open a store for a verb, and the few things all verbs do with
 * it.
 *
 * Looking and steering never make a data directory: a mistyped path must not
 * turn into an empty store.
 */
#include "cli/session.h"

#include "cli/out.h"
#include "view/render.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_DATA "./pawl-data"
#define DEFAULT_URL  "http://127.0.0.1:8000"
#define PAYLOAD_MAX  (1U << 30) /* the runtime has the real limit */

const char *session_data(const struct cli *cli)
{
    return cli->args.options.data ? cli->args.options.data : DEFAULT_DATA;
}

/* main.c has looked at the URL. */
static struct store_place place_of(const struct cli *cli)
{
    const char *store = cli->args.options.store;
    struct store_place place = {.kind = PLACE_NOTHING, .path = ""};
    if (!store)
        return (struct store_place){
            .kind = PLACE_FILE,
            .path = pawl_mem_printf(cli->mem, "%s/pawl.db", session_data(cli)).ptr};
    (void)store_place_read(store, &place);
    return place;
}

enum scheme_place session_place(const struct cli *cli)
{
    return place_of(cli).kind;
}

const char *session_file(const struct cli *cli)
{
    struct store_place place = place_of(cli);
    return place.kind == PLACE_FILE ? place.path : NULL;
}

const char *session_shown(const struct cli *cli)
{
    if (session_place(cli) != PLACE_SERVER)
        return session_data(cli);
    size_t size = strlen(cli->args.options.store) + 8;
    return store_url_shown(cli->args.options.store, pawl_mem_alloc(cli->mem, size), size);
}

/* ---- Opening ----------------------------------------------------------------- */

int session_must_exist(struct cli *cli)
{
    struct store_place place = place_of(cli);
    const char *file = place.path;
    struct stat st;
    if (place.kind == PLACE_SERVER) /* opening it says */
        return 0;
    if (place.kind == PLACE_NOTHING)
        return cli_fail(cli, EXIT_USAGE,
                        "'%s' needs a store that outlives a process; '%s' does not: use --data DIR",
                        cli->verb->name, cli->args.options.store);
    if (stat(file, &st) == 0)
        return 0;
    int error = errno;
    if (!cli->args.options.store && stat(session_data(cli), &st) == 0 && !S_ISDIR(st.st_mode))
        return cli_fail(cli, EXIT_NO_STORE, "'%s' is not a directory; name one with --data DIR",
                        session_data(cli));
    if (error == EACCES)
        return cli_fail(cli, EXIT_NO_STORE,
                        "'%s' cannot be read by this user; run as its owner, or use --data DIR",
                        file);
    return cli_fail(cli, EXIT_NO_STORE,
                    "there is no store in '%s'; name its directory with --data DIR, or make one "
                    "with '%s run' or '%s start'",
                    session_data(cli), cli->prog, cli->prog);
}

int session_load(struct cli *cli)
{
    for (uint32_t i = 0; i < cli->args.load.count; i++) {
        pawl_error err;
        if (pawl_app_load(cli->app, cli->args.load.items[i], &err) != PAWL_OK)
            return cli_fail(cli, EXIT_USAGE, "%s", err.text);
    }
    return 0;
}

/* No place was given: a server at the default address, or the default directory. */
static bool has_default_server(struct cli *cli)
{
    pawl_error err;
    if (cli->args.load.count) /* loaded code must run in this process */
        return false;
    struct http *h = http_open(DEFAULT_URL, NULL, NULL, &err);
    bool listens = http_listens(h);
    http_close(h);
    return listens;
}

bool session_is_remote(struct cli *cli)
{
    if (!(cli->verb->takes & TAKES_URL) || cli->args.options.data || cli->args.options.store)
        return false;
    if (!cli->where_known)
        cli->is_remote =
            !(cli->verb->takes & TAKES_STORE) || cli->args.url || has_default_server(cli);
    cli->where_known = true;
    return cli->is_remote;
}

static int open_remote(struct cli *cli, struct session *ret)
{
    pawl_error err = {0};
    ret->remote =
        http_open(cli->args.url ? cli->args.url : DEFAULT_URL, cli->args.token, cli->args.ca, &err);
    return ret->remote ? 0 : cli_fail(cli, EXIT_USAGE, "%s", err.text);
}

/* The exit status when a store cannot be opened.  A URL that cannot be read is a mistake in the
 * command line. */
static int exit_of_open(const struct cli *cli, pawl_status status)
{
    if (status == PAWL_INVALID && session_place(cli) == PLACE_SERVER)
        return EXIT_USAGE;
    return status == PAWL_UNKNOWN ? EXIT_UNKNOWN : EXIT_NO_STORE;
}

static pawl_runtime *open_runtime(struct cli *cli, enum session_use use, pawl_error *reterr)
{
    pawl_options options = cli->args.options;
    options.data = session_data(cli);
    options.read_only = use == SESSION_LOOK;
    options.steers_only = use == SESSION_STEER;
    int level = cli->args.log_level;
    if (level < 0) /* missing code matters only to a command that runs it */
        level = use == SESSION_RUN ? PAWL_LOG_WARN : PAWL_LOG_ERROR;
    options.log_level = (pawl_log_level)level;
    *reterr = (pawl_error){.status = PAWL_UNAVAILABLE};
    return pawl_runtime_open(cli->app, &options, reterr);
}

/* The runtime is there: its client, and its threads where everything runs. */
static int begin(struct cli *cli, enum session_use use, struct session *ret)
{
    pawl_error err = {0};
    ret->client = pawl_runtime_client(ret->rt);
    if (use != SESSION_RUN || pawl_runtime_start(ret->rt, &err) == PAWL_OK)
        return 0;
    session_close(ret);
    return cli_fail_error(cli, &err);
}

int session_await(struct cli *cli, bool (*wait)(struct cli *cli, const pawl_error *why),
                  struct session *ret)
{
    pawl_error err;
    *ret = (struct session){.cli = cli};
    while (!(ret->rt = open_runtime(cli, SESSION_RUN, &err)) && err.status == PAWL_UNAVAILABLE)
        if (!wait(cli, &err))
            return 0;
    return ret->rt ? begin(cli, SESSION_RUN, ret)
                   : cli_fail(cli, exit_of_open(cli, err.status), "%s", err.text);
}

int session_open(struct cli *cli, enum session_use use, struct session *ret)
{
    bool makes = use == SESSION_START || use == SESSION_RUN;
    *ret = (struct session){.cli = cli};
    if (use != SESSION_RUN && session_is_remote(cli))
        return open_remote(cli, ret);
    if (cli->args.url && (cli->verb->takes & TAKES_URL))
        return cli_fail(cli, EXIT_USAGE, "%s",
                        cli->args.url_given
                            ? "--url and --data (or --store) name two places; give one of them"
                            : "PAWL_URL and PAWL_DATA (or PAWL_STORE) name two places; unset one, "
                              "or give --url or --data");
    int status = makes ? 0 : session_must_exist(cli);
    if (status)
        return status;
    pawl_error err;
    ret->rt = open_runtime(cli, use, &err);
    if (!ret->rt)
        return cli_fail(cli, exit_of_open(cli, err.status), "%s%s", err.text,
                        (cli->verb->takes & TAKES_URL) && !makes && session_file(cli) &&
                                session_owner(cli) > 0
                            ? ", or talk to it, if it is a server, with --url"
                            : "");
    return begin(cli, use, ret);
}

void session_close(struct session *s)
{
    pawl_runtime_close(s->rt);
    http_close(s->remote);
    *s = (struct session){0};
}

/* ---- Payloads ------------------------------------------------------------------ */

static int read_all(struct cli *cli, const char *name, FILE *from, pawl_str *ret)
{
    size_t cap = 1 << 16, len = 0;
    char *bytes = pawl_mem_alloc(cli->mem, cap);
    for (size_t n; (n = fread(bytes + len, 1, cap - len, from)) > 0;) {
        len += n;
        if (len < cap)
            continue;
        if (cap >= PAYLOAD_MAX)
            return cli_fail(cli, EXIT_USAGE, "'%s' is larger than any payload may be", name);
        char *more = pawl_mem_alloc(cli->mem, cap * 2);
        memcpy(more, bytes, len);
        bytes = more;
        cap *= 2;
    }
    if (ferror(from))
        return cli_fail(cli, EXIT_USAGE, "cannot read '%s': %s", name, strerror(errno));
    while (len && strchr(" \t\r\n", bytes[len - 1]))
        len--; /* the newline an editor put there is not part of the payload */
    *ret = (pawl_str){bytes, len};
    return 0;
}

static int read_payload_file(struct cli *cli, const char *path, pawl_str *ret)
{
    FILE *from = fopen(path, "re");
    if (!from)
        return cli_fail(cli, EXIT_USAGE, "cannot read '%s': %s", path, strerror(errno));
    int status = read_all(cli, path, from, ret);
    fclose(from);
    return status;
}

int session_text(struct cli *cli, const char *text, pawl_str *ret)
{
    *ret = pawl_s(text);
    if (text && strcmp(text, "-") == 0)
        return read_all(cli, "standard input", stdin, ret);
    if (text && text[0] == '@')
        return read_payload_file(cli, text + 1, ret);
    return 0;
}

int session_payload(struct cli *cli, const char *flag, const char *text, pawl_str *ret)
{
    int status = session_text(cli, text, ret);
    size_t offset = 0;
    if (status || ret->len == 0 || pawl_json_valid(*ret, &offset))
        return status;
    return cli_fail(cli, EXIT_USAGE,
                    "%s is not JSON at byte %zu; a text needs its quotes: '\"text\"'", flag,
                    offset);
}

int session_attributes(struct cli *cli, const char *const *items, size_t count, pawl_str *ret)
{
    pawl_json *w = pawl_json_new(cli->mem);
    *ret = (pawl_str){0};
    if (!count)
        return 0;
    pawl_json_object(w);
    for (size_t i = 0; i < count; i++) {
        pawl_where one;
        pawl_error err;
        if (!pawl_where_parse(cli->mem, pawl_s(items[i]), &one, &err))
            return cli_fail(cli, EXIT_USAGE, "%s: %s", items[i], err.text);
        if (one.op != PAWL_WHERE_EQ)
            return cli_fail(cli, EXIT_USAGE, "%s: an attribute is given as NAME=VALUE", items[i]);
        pawl_json_key(w, pawl_mem_dup(cli->mem, one.name).ptr);
        bool quoted = items[i][one.name.len + 1] == '"';
        if (one.is_number)
            pawl_json_num(w, one.number);
        else if (pawl_str_is(one.text, "null") && !quoted)
            pawl_json_null(w);
        else
            pawl_json_str(w, one.text);
    }
    pawl_json_end(w);
    *ret = pawl_json_done(w);
    return 0;
}

/* ---- Calls, here or there --------------------------------------------------------- */

pawl_status session_write(struct session *s, const pawl_request *request, pawl_reply *ret)
{
    return s->remote ? remote_write(s->remote, request, s->cli->mem, ret)
                     : pawl_client_call(s->client, request, ret);
}

pawl_status session_fetch(struct session *s, const char *id, uint64_t execution, pawl_mem *mem,
                          pawl_info *ret, pawl_error *reterr)
{
    return s->remote ? remote_get(s->remote, id, execution, mem, ret, reterr)
                     : pawl_client_get(s->client, id, execution, mem, ret, reterr);
}

pawl_status session_list(struct session *s, const pawl_filter *filter, pawl_mem *mem,
                         pawl_page *ret, pawl_error *reterr)
{
    return s->remote ? remote_list(s->remote, filter, mem, ret, reterr)
                     : pawl_client_list(s->client, filter, mem, ret, reterr);
}

pawl_status session_history(struct session *s, const char *id, uint64_t execution, uint64_t after,
                            uint32_t limit, pawl_mem *mem, pawl_history *ret, pawl_error *reterr)
{
    return s->remote
               ? remote_history(s->remote, id, execution, after, limit, mem, ret, reterr)
               : pawl_client_history(s->client, id, execution, after, limit, mem, ret, reterr);
}

/* ---- One instance ---------------------------------------------------------------- */

int session_get(struct cli *cli, struct session *s, const char *id, uint64_t execution,
                pawl_info *ret)
{
    pawl_error err;
    if (session_fetch(s, id, execution, cli->mem, ret, &err) == PAWL_OK)
        return 0;
    return cli_fail_error(cli, &err);
}

static int say_ending(struct cli *cli, const pawl_info *info)
{
    const char *state = pawl_state_name(info->state);
    switch (info->state) {
    case PAWL_COMPLETED:
    case PAWL_CONTINUED_AS_NEW:
        return EXIT_OK;
    case PAWL_FAILED:
    case PAWL_CANCELLED:
        return cli_fail(cli, EXIT_FAILED, "instance '%.*s' %s%s: %.*s", PAWL_FMT(info->instance),
                        info->state == PAWL_FAILED ? "" : "was ", state, PAWL_FMT(info->error));
    case PAWL_BLOCKED:
        return cli_fail(
            cli, EXIT_FAILED, "instance '%.*s' is blocked: %.*s; repair that, then: %s retry %.*s",
            PAWL_FMT(info->instance), PAWL_FMT(info->finding), cli->prog, PAWL_FMT(info->instance));
    case PAWL_SUSPENDED:
        return cli_fail(cli, EXIT_FAILED,
                        "instance '%.*s' is suspended; continue it with: %s resume %.*s",
                        PAWL_FMT(info->instance), cli->prog, PAWL_FMT(info->instance));
    case PAWL_PENDING:
    case PAWL_RUNNING:
        break;
    }
    return cli_fail(cli, EXIT_TIMEOUT, "instance '%.*s' is still %s; ask: %s why %.*s",
                    PAWL_FMT(info->instance), state, cli->prog, PAWL_FMT(info->instance));
}

int session_report(struct cli *cli, const pawl_info *info)
{
    if (cli->args.output == OUTPUT_IDS) {
        out_id(cli, info->instance);
    } else if (cli->args.output != OUTPUT_TABLE) {
        pawl_json *w = pawl_json_new(cli->mem);
        pawl_json_object(w);
        render_instance_members(w, cli->mem, info);
        pawl_json_end(w);
        out_json(cli, w);
    } else if (info->state == PAWL_COMPLETED && info->output.len) {
        out_text(cli, info->output);
    }
    return say_ending(cli, info);
}
