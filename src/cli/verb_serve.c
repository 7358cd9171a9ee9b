/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_serve.c -- pawl serve: the engine and the HTTP API in one process.
 *
 * SIGINT and SIGTERM stop it gracefully (status 0): no new requests, answers
 * under way go out, running activities may finish (--drain).  SIGHUP loads the
 * modules again for new versions; versions that are registered stay as they are, so
 * running instances keep the code they began with.  Tokens and certificates are read
 * again, too.  Under systemd it says when it is ready (Type=notify), and that it goes on
 * (WatchdogSec=) while it is healthy.
 *
 * With --standby it waits while another process has the store, or while the store cannot be
 * reached, and listens only once the store is its own: a balancer sees one server.  It looks once
 * a second.  Only the store decides which process owns it.
 */
#include "base/deadline.h"
#include "cli/out.h"
#include "cli/session.h"
#include "pawl/server.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define STOP_MS 10000
#define LOOK_MS 1000 /* of a process that stands by */
/* Blocks of arenas (1 MiB at most) stay in the heap; what is larger is one answer or body. */
#define MAPPED_BYTES (2 << 20)
#define KEPT_BYTES   (8 << 20)

static void block_signals(sigset_t *set, sigset_t *before)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, set, before);
    (void)signal(SIGPIPE, SIG_IGN);
}

/* Tell systemd, if it started this process. */
static void notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (!path || !path[0] || strlen(path) >= sizeof(to.sun_path))
        return;
    memcpy(to.sun_path, path, strlen(path));
    if (to.sun_path[0] == '@')
        to.sun_path[0] = 0;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    socklen_t n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    ssize_t sent = sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&to, n);
    (void)sent; /* no supervisor listens, and nothing depends on it */
    close(fd);
}

const char *serve_tokens(struct cli *cli)
{
    if (session_place(cli) == PLACE_SERVER)
        return cli->args.options.store;
    return pawl_mem_printf(cli->mem, "%s/tokens", session_data(cli)).ptr;
}

static pawl_server *listen_on(struct cli *cli, struct session *session, pawl_error *reterr)
{
    int level = cli->args.log_level;
    return pawl_server_start(
        session->rt,
        PAWL_SERVER_OPTS(.listen = cli->args.listen, .tokens = serve_tokens(cli),
                         .require_token = cli->args.require_token,
                         .insecure = cli->args.insecure_listen, .hosts = cli->args.allow_host,
                         .tls_cert = cli->args.tls_cert, .tls_key = cli->args.tls_key,
                         .max_body = cli->args.max_body, .lenient = cli->args.lenient,
                         .max_payload = cli->args.options.max_payload,
                         .log_level = (pawl_log_level)(level < 0 ? PAWL_LOG_WARN : level),
                         .log_json = cli->args.options.log_json),
        reterr);
}

static void reload(struct cli *cli, struct session *session, pawl_server *server)
{
    pawl_error trouble = {0};
    if (pawl_server_reload(server, &trouble) != PAWL_OK)
        cli_trouble(cli, "%s; going on with what is there", trouble.text);
    for (uint32_t i = 0; i < cli->args.load.count; i++) {
        pawl_error err;
        pawl_status rc = pawl_app_load(cli->app, cli->args.load.items[i], &err);
        if (rc == PAWL_OK ||
            rc == PAWL_EXISTS) /* names that are registered stay, new ones are added */
            cli_note(cli, "loaded %s again; versions that were there stay",
                     cli->args.load.items[i]);
        else
            cli_trouble(cli, "%s; going on with what is loaded", err.text);
    }
    /* An engine at rest looks at its registry when something arrives. */
    pawl_status rc = pawl_client_heartbeat(session->client, "w0", NULL);
    (void)rc; /* refused, because there is no such work; its arrival is what counts */
}

/* How often systemd wants to hear from us, in ms: half of what it waits; 0: never. */
static int64_t watchdog_ms(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    if (!usec || (pid && strtoll(pid, NULL, 10) != getpid()))
        return 0;
    int64_t ms = strtoll(usec, NULL, 10) / 2000;
    return ms < 10 ? 0 : ms;
}

/* Wait for the next signal.  Meanwhile tell systemd that the server is well, while it is. */
static int next_signal(struct cli *cli, pawl_server *server, const sigset_t *set, int64_t ms)
{
    struct timespec wait = deadline_at(ms);
    for (int number;;) {
        char trouble[PAWL_TROUBLE_BYTES] = "";
        number = ms ? sigtimedwait(set, NULL, &wait) : sigwaitinfo(set, NULL);
        if (number > 0)
            return number;
        if (errno != EAGAIN)
            continue;
        if (pawl_server_healthy(server, trouble))
            notify("WATCHDOG=1");
        else
            cli_trouble(cli, "%s; not telling the watchdog", trouble);
    }
}

static void serve_until_told(struct cli *cli, struct session *session, pawl_server *server,
                             const sigset_t *set)
{
    int64_t ms = watchdog_ms();
    notify("READY=1");
    while (next_signal(cli, server, set, ms) == SIGHUP)
        reload(cli, session, server);
    notify("STOPPING=1");
    cli_note(cli, "stopping; once more stops at once");
}

/* 0 or an exit status: a script that waits for the file must not wait for ever. */
static int write_url(struct cli *cli, const char *url)
{
    const char *path = cli->args.url_file;
    if (!path)
        return 0;
    FILE *f = fopen(path, "we");
    bool written = f && fprintf(f, "%s\n", url) > 0;
    if (f && fclose(f) != 0)
        written = false;
    if (written)
        return 0;
    return cli_fail(cli, EXIT_NO_STORE, "cannot write the address to '%s' (--url-file): %s", path,
                    strerror(errno));
}

static int serve(struct cli *cli, struct session *session, const sigset_t *set,
                 const sigset_t *before)
{
    pawl_error err = {0};
    pawl_server *server = listen_on(cli, session, &err);
    if (!server)
        return cli_fail(cli, err.status == PAWL_INVALID ? EXIT_USAGE : EXIT_NO_STORE, "%s",
                        err.text);
    cli_note(cli, "serving on %s, data in %s", pawl_server_url(server), session_shown(cli));
    int status = write_url(cli, pawl_server_url(server));
    if (!status)
        serve_until_told(cli, session, server, set);
    pthread_sigmask(SIG_SETMASK, before, NULL); /* from here on a second signal ends it */
    pawl_server_stop(server, STOP_MS);
    session_close(session);
    pawl_server_free(server);
    return status;
}

/* Without this the first large answer that is freed makes malloc keep all later ones: a
 * budget of 256 MiB for answers then took up to 1 GB of the machine. */
static void give_memory_back(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
}

/* ---- Standing by --------------------------------------------------------------------- */

/* Wait until the next look at the store.  False: SIGINT or SIGTERM came.  The reason is printed when
 * it changes. */
static bool stand_by(struct cli *cli, const pawl_error *why)
{
    static char said[sizeof(why->text)];
    struct timespec wait = deadline_at(LOOK_MS);
    sigset_t set;

    if (strcmp(said, why->text) != 0)
        cli_note(cli, "standing by: %s", why->text);
    memcpy(said, why->text, sizeof(said));
    notify("READY=1\nSTATUS=standing by\nWATCHDOG=1");
    block_signals(&set, NULL);
    int number = sigtimedwait(&set, NULL, &wait);
    return number < 0 || number == SIGHUP; /* tokens and certificates are read at the take-over */
}

/* Behind such a pooler the store cannot see its owner: a second process would take it over at once. */
static bool may_stand_by(struct cli *cli)
{
    const char *store = cli->args.options.store;
    return !store || !strstr(store, "pawl_pooler=transaction");
}

static int open_store(struct cli *cli, struct session *session)
{
    if (!cli->args.standby)
        return session_open(cli, SESSION_RUN, session);
    *session = (struct session){.cli = cli};
    if (!may_stand_by(cli))
        return cli_fail(cli, EXIT_USAGE,
                        "--standby needs a connection that is one session; leave out "
                        "pawl_pooler=transaction and connect directly");
    return session_await(cli, stand_by, session);
}

int verb_serve(struct cli *cli)
{
    give_memory_back();
    int status = session_load(cli);
    sigset_t set, before;
    if (status)
        return status;
    block_signals(&set, &before);
    struct session session;
    status = open_store(cli, &session);
    if (!status && session.rt)
        status = serve(cli, &session, &set, &before);
    session_close(&session);
    return status;
}
