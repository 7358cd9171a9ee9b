/* SPDX-License-Identifier: MIT */
/* tests/postgres/proxy.c -- see proxy.h. */
#include "proxy.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BLOCK    65536
#define QUIET_MS 30 /* a client that sends nothing for so long has sent all it has */

struct proxy {
    int listener;
    struct sockaddr_un server;
    pthread_mutex_t lock; /* all below */
    pthread_cond_t moved;
    struct proxy_plan plan;
    size_t counted;
    bool armed, released;
    int late_answers;
    int connections; /* made by clients */
    bool hole;       /* every byte is lost */
};

enum side { CLIENT, SERVER };

struct passage {
    struct proxy *proxy;
    int ends[2];
    bool swallow;
    char tail[6]; /* of what the server said last */
};

static bool put(int fd, const char *at, size_t count)
{
    while (count > 0) {
        ssize_t n = send(fd, at, count, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        at += n;
        count -= (size_t)n;
    }
    return true;
}

/* Does the server wait for the next request?  Its last message is ReadyForQuery. */
static bool is_answered(struct passage *p, const char *at, size_t count)
{
    static const char ready[5] = {'Z', 0, 0, 0, 5};
    char both[sizeof(p->tail) * 2];
    size_t last = count < sizeof(p->tail) ? count : sizeof(p->tail);
    memcpy(both, p->tail, sizeof(p->tail));
    memcpy(both + sizeof(p->tail), at + count - last, last);
    memcpy(p->tail, both + last, sizeof(p->tail));
    return memcmp(p->tail, ready, sizeof(ready)) == 0;
}

/* Is there a plan for one of these bytes?  It is ours then. */
static bool is_due(struct proxy *x, enum side from, size_t count, struct proxy_plan *ret)
{
    pthread_mutex_lock(&x->lock);
    bool counts = x->armed && x->plan.act != PROXY_RETAG && x->plan.to_client == (from == SERVER);
    bool due = counts && x->plan.bytes - x->counted < count;
    *ret = x->plan;
    ret->bytes -= x->counted;
    if (counts && !due)
        x->counted += count;
    if (due)
        x->armed = false;
    pthread_mutex_unlock(&x->lock);
    return due;
}

static bool is_hole(struct proxy *x)
{
    pthread_mutex_lock(&x->lock);
    bool hole = x->hole;
    pthread_mutex_unlock(&x->lock);
    return hole;
}

static void wait_for(struct proxy *x, int ms)
{
    if (ms >= 0) {
        (void)poll(NULL, 0, ms);
        return;
    }
    pthread_mutex_lock(&x->lock);
    while (!x->released)
        pthread_cond_wait(&x->moved, &x->lock);
    pthread_mutex_unlock(&x->lock);
}

/* ---- What a plan does --------------------------------------------------------------- */

/* More of what the client has sent, until it is silent. */
static size_t collect(int fd, char *block, size_t count)
{
    struct pollfd in = {.fd = fd, .events = POLLIN};
    while (count < BLOCK && poll(&in, 1, QUIET_MS) > 0) {
        ssize_t n = read(fd, block + count, BLOCK - count);
        if (n <= 0)
            break;
        count += (size_t)n;
    }
    return count;
}

static void hear_out(struct passage *p)
{
    char block[4096];
    for (ssize_t n; (n = read(p->ends[SERVER], block, sizeof(block))) > 0;) {
        if (is_answered(p, block, (size_t)n))
            break;
    }
    pthread_mutex_lock(&p->proxy->lock);
    p->proxy->late_answers++;
    pthread_mutex_unlock(&p->proxy->lock);
}

static bool come_late(struct passage *p, char *block, size_t count, const struct proxy_plan *plan)
{
    if (!put(p->ends[SERVER], block, plan->bytes))
        return false;
    count = collect(p->ends[CLIENT], block, count);
    close(p->ends[CLIENT]);
    p->ends[CLIENT] = -1;
    wait_for(p->proxy, plan->ms);
    memset(p->tail, 0, sizeof(p->tail));
    if (put(p->ends[SERVER], block + plan->bytes, count - plan->bytes))
        hear_out(p);
    return false;
}

/* False: the connection ends. */
static bool act(struct passage *p, enum side from, char *block, size_t count,
                const struct proxy_plan *plan)
{
    int to = p->ends[!from];
    switch (plan->act) {
    case PROXY_CUT:
        (void)put(to, block, plan->bytes);
        return false;
    case PROXY_SWALLOW:
        p->swallow = true;
        return !is_answered(p, block, count);
    case PROXY_LATE:
        return come_late(p, block, count, plan);
    case PROXY_DELAY:
    case PROXY_RETAG:
        break;
    }
    if (!put(to, block, plan->bytes))
        return false;
    wait_for(p->proxy, plan->ms);
    return put(to, block + plan->bytes, count - plan->bytes);
}

/* The server's answer to COMMIT becomes what an aborted transaction gets; the new length. */
static size_t retag(struct proxy *x, char *block, size_t count)
{
    static const char commit[] = "C\0\0\0\013COMMIT", rollback[] = "C\0\0\0\015ROLLBACK";
    size_t more = sizeof(rollback) - sizeof(commit);
    pthread_mutex_lock(&x->lock);
    char *at = x->armed && x->plan.act == PROXY_RETAG ? memmem(block, count, commit, sizeof(commit))
                                                      : NULL;
    if (at)
        x->armed = false;
    pthread_mutex_unlock(&x->lock);
    if (!at)
        return count;
    memmove(at + sizeof(rollback), at + sizeof(commit),
            count - (size_t)(at - block) - sizeof(commit));
    memcpy(at, rollback, sizeof(rollback));
    return count + more;
}

/* ---- Connections ------------------------------------------------------------------------ */

static bool move(struct passage *p, enum side from)
{
    static __thread char block[BLOCK];
    struct proxy_plan plan;
    ssize_t n = read(p->ends[from], block, sizeof(block) / 2);
    if (n <= 0)
        return false;
    if (is_hole(p->proxy))
        return true;
    if (from == SERVER)
        n = (ssize_t)retag(p->proxy, block, (size_t)n);
    if (is_due(p->proxy, from, (size_t)n, &plan))
        return act(p, from, block, (size_t)n, &plan);
    bool answered = from == SERVER && is_answered(p, block, (size_t)n);
    if (from == SERVER && p->swallow)
        return !answered;
    return put(p->ends[!from], block, (size_t)n);
}

static void *serve(void *arg)
{
    struct passage *p = arg;
    bool open = true;
    while (open) {
        struct pollfd in[2] = {
            {.fd = p->ends[CLIENT], .events = POLLIN},
            {.fd = p->ends[SERVER], .events = POLLIN}
        };
        open = poll(in, 2, -1) > 0 || errno == EINTR;
        for (int side = CLIENT; side <= SERVER && open; side++)
            open = !in[side].revents || move(p, (enum side)side);
    }
    for (int side = CLIENT; side <= SERVER; side++)
        if (p->ends[side] >= 0)
            close(p->ends[side]);
    free(p);
    return NULL;
}

static void begin(struct proxy *x, int client)
{
    pthread_t thread;
    pthread_mutex_lock(&x->lock);
    x->connections++;
    pthread_mutex_unlock(&x->lock);
    struct passage *p = calloc(1, sizeof(*p));
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!p || connect(server, (struct sockaddr *)&x->server, sizeof(x->server)) != 0) {
        close(client);
        close(server);
        free(p);
        return;
    }
    *p = (struct passage){
        .proxy = x, .ends = {client, server}
    };
    if (pthread_create(&thread, NULL, serve, p) != 0)
        abort();
    pthread_detach(thread);
}

static void *listen_for_ever(void *arg)
{
    struct proxy *x = arg;
    for (;;) {
        int client = accept4(x->listener, NULL, NULL, SOCK_CLOEXEC);
        if (client >= 0)
            begin(x, client);
    }
    return NULL;
}

static struct sockaddr_un address(const char *dir)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof(at.sun_path), "%.80s/.s.PGSQL.5432", dir);
    return at;
}

struct proxy *proxy_start(const char *dir, const char *server_dir)
{
    struct proxy *x = calloc(1, sizeof(*x));
    struct sockaddr_un at = address(dir);
    pthread_t thread;
    if (!x)
        return NULL;
    (void)mkdir(dir, 0755);
    (void)unlink(at.sun_path);
    x->server = address(server_dir);
    x->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pthread_mutex_init(&x->lock, NULL);
    pthread_cond_init(&x->moved, NULL);
    if (bind(x->listener, (struct sockaddr *)&at, sizeof(at)) == 0 &&
        listen(x->listener, 16) == 0 && pthread_create(&thread, NULL, listen_for_ever, x) == 0) {
        pthread_detach(thread);
        return x;
    }
    fprintf(stderr, "cannot listen on %s: %s\n", at.sun_path, strerror(errno));
    free(x);
    return NULL;
}

void proxy_plan(struct proxy *x, struct proxy_plan plan)
{
    pthread_mutex_lock(&x->lock);
    x->plan = plan;
    x->counted = 0;
    x->armed = true;
    x->released = false;
    pthread_mutex_unlock(&x->lock);
}

bool proxy_is_armed(struct proxy *x)
{
    pthread_mutex_lock(&x->lock);
    bool armed = x->armed;
    pthread_mutex_unlock(&x->lock);
    return armed;
}

void proxy_disarm(struct proxy *x)
{
    pthread_mutex_lock(&x->lock);
    x->armed = false;
    pthread_mutex_unlock(&x->lock);
}

size_t proxy_counted(struct proxy *x)
{
    pthread_mutex_lock(&x->lock);
    size_t counted = x->counted;
    pthread_mutex_unlock(&x->lock);
    return counted;
}

void proxy_release(struct proxy *x)
{
    pthread_mutex_lock(&x->lock);
    x->released = true;
    pthread_cond_broadcast(&x->moved);
    pthread_mutex_unlock(&x->lock);
}

int proxy_late_answers(struct proxy *x)
{
    pthread_mutex_lock(&x->lock);
    int count = x->late_answers;
    pthread_mutex_unlock(&x->lock);
    return count;
}

void proxy_hole(struct proxy *x, bool on)
{
    pthread_mutex_lock(&x->lock);
    x->hole = on;
    pthread_mutex_unlock(&x->lock);
}

int proxy_connections(struct proxy *x)
{
    pthread_mutex_lock(&x->lock);
    int count = x->connections;
    pthread_mutex_unlock(&x->lock);
    return count;
}
