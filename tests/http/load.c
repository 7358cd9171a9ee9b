/* SPDX-License-Identifier: MIT */
/*
 * tests/http/load.c -- many busy connections on one thread, for the stall test
 * and for figures.
 *
 *     load PORT start|push|cycle CONNECTIONS SECONDS [FILE]
 *
 * start: POST an Echo, then GET its wait, over and over on each connection.
 * push: push to one queue.  cycle: push, pop with require_ack, acknowledge, on a
 * queue of the connection's own.  Prints one JSON line: requests and rounds a
 * second, the slowest request, and how many had an unexpected status.
 *
 * Whose fault is a slow answer?  In a fair server each of N connections gets about one
 * answer while one of them waits for its own, however slow disk and machine are.  So a
 * request is `stalled` when it took over 100 ms and more than 4 N answers went to the others
 * meanwhile: that is what a lost wake-up looks like.  `quiet_ms` is the longest time without
 * any answer; beside it what the machine did to a thread that only sleeps (`control_ms`)
 * and to one that syncs FILE (`sync_ms`).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <netinet/tcp.h>

struct conn {
    int fd, number, step;
    long round;
    int64_t sent_us;
    long sent_at; /* answers to anybody before */
    char in[8192];
    size_t have;
    char name[32]; /* instance or lock id */
};

static const char *mode;
static int64_t worst_us, sum_us;
static long requests, rounds, odd, slow, stalled, overtaken;
static int64_t quiet_us, last_us;
static int count;
static _Atomic int64_t control_us, sync_us;
static atomic_bool over;

#define SLOW_US 100000

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

static void send_request(struct conn *c, const char *method, const char *path, const char *body)
{
    char out[1024];
    int n = snprintf(out, sizeof(out),
                     "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n%s", method,
                     path, strlen(body), body);
    c->sent_us = now_us();
    c->sent_at = requests;
    if (write(c->fd, out, (size_t)n) != n)
        odd++;
}

static void next_request(struct conn *c)
{
    char path[128], body[256];
    if (strcmp(mode, "start") == 0 && c->step == 0) {
        snprintf(c->name, sizeof(c->name), "i-%d-%ld-%d", c->number, c->round, (int)getpid());
        snprintf(body, sizeof(body),
                 "{\"orchestration\":\"Echo\",\"input\":{\"n\":%ld},\"instance\":\"%s\"}", c->round,
                 c->name);
        send_request(c, "POST", "/api/v1/instances", body);
    } else if (strcmp(mode, "start") == 0) {
        snprintf(path, sizeof(path), "/api/v1/instances/%s/wait", c->name);
        send_request(c, "GET", path, "");
    } else if (strcmp(mode, "push") == 0) {
        send_request(c, "POST", "/queue/load/push",
                     "{\"item\":{\"id\":1,\"name\":\"performance-test\"}}");
    } else if (c->step == 0) {
        snprintf(path, sizeof(path), "/queue/q-%d-%d/push", (int)getpid(), c->number);
        send_request(c, "POST", path, "{\"item\":{\"id\":1,\"name\":\"performance-test\"}}");
    } else if (c->step == 1) {
        snprintf(path, sizeof(path), "/queue/q-%d-%d/pop?require_ack=true", (int)getpid(),
                 c->number);
        send_request(c, "POST", path, "");
    } else {
        snprintf(path, sizeof(path), "/queue/q-%d-%d/acknowledge", (int)getpid(), c->number);
        snprintf(body, sizeof(body), "{\"lock_id\":\"%s\"}", c->name);
        send_request(c, "POST", path, body);
    }
}

/* How long it took, or takes so far, against what the others got meanwhile. */
static void judge(const struct conn *c, int64_t now)
{
    long others = requests - c->sent_at;
    if (others > overtaken)
        overtaken = others;
    if (now - c->sent_us <= SLOW_US)
        return;
    slow++;
    stalled += others > 4L * count;
}

static void note_quiet(int64_t now)
{
    if (last_us && now - last_us > quiet_us)
        quiet_us = now - last_us;
    last_us = now;
}

/* What the machine does to a thread that wants next to nothing. */
static void *control(void *arg)
{
    (void)arg;
    while (!over) {
        int64_t began = now_us();
        usleep(1000);
        int64_t gap = now_us() - began - 1000;
        if (gap > control_us)
            control_us = gap;
    }
    return NULL;
}

static void *control_sync(void *arg)
{
    int fd = open(arg, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    char page[4096] = {1};
    while (!over && fd >= 0) {
        int64_t began = now_us();
        if (pwrite(fd, page, sizeof(page), 0) != sizeof(page) || fdatasync(fd) != 0)
            break;
        int64_t took = now_us() - began;
        if (took > sync_us)
            sync_us = took;
        usleep(20000);
    }
    if (fd >= 0)
        close(fd);
    return NULL;
}

/* A whole answer is in c->in. */
static void take_answer(struct conn *c, const char *body)
{
    int status = atoi(c->in + 9);
    int64_t now = now_us(), took = now - c->sent_us;
    judge(c, now);
    note_quiet(now);
    requests++;
    sum_us += took;
    if (took > worst_us)
        worst_us = took;
    if (status != 200 && status != 201)
        odd++;
    const char *lock = strstr(body, "\"lock_id\":\"");
    if (lock)
        snprintf(c->name, sizeof(c->name), "%.11s", lock + 11);
    int steps = strcmp(mode, "start") == 0 ? 2 : strcmp(mode, "push") == 0 ? 1 : 3;
    c->step = (c->step + 1) % steps;
    if (c->step == 0) {
        c->round++;
        rounds++;
    }
}

static bool on_readable(struct conn *c)
{
    ssize_t n = read(c->fd, c->in + c->have, sizeof(c->in) - 1 - c->have);
    if (n <= 0)
        return n < 0 && errno == EAGAIN;
    c->have += (size_t)n;
    c->in[c->have] = 0;
    char *end = strstr(c->in, "\r\n\r\n"), *length = strstr(c->in, "Content-Length: ");
    if (!end || !length)
        return true;
    size_t want = (size_t)(end + 4 - c->in) + strtoul(length + 16, NULL, 10);
    if (c->have < want)
        return true;
    take_answer(c, end + 4);
    c->have = 0;
    next_request(c);
    return true;
}

static int connect_to(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
        return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

int main(int argc, char **argv)
{
    if (argc != 5 && argc != 6)
        return 2;
    int port = atoi(argv[1]), poll_fd = epoll_create1(0);
    pthread_t sleeper, syncer;
    count = atoi(argv[3]);
    int64_t seconds = atoi(argv[4]);
    struct conn *conns = calloc((size_t)count, sizeof(*conns));
    mode = argv[2];
    for (int i = 0; i < count; i++) {
        conns[i].fd = connect_to(port);
        conns[i].number = i;
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = &conns[i]};
        if (conns[i].fd < 0 || epoll_ctl(poll_fd, EPOLL_CTL_ADD, conns[i].fd, &e) != 0)
            return 1;
    }
    if (pthread_create(&sleeper, NULL, control, NULL) != 0 ||
        (argc == 6 && pthread_create(&syncer, NULL, control_sync, argv[5]) != 0))
        return 1;
    int64_t began = now_us(), end = began + seconds * 1000000;
    for (int i = 0; i < count; i++)
        next_request(&conns[i]);
    while (now_us() < end) {
        struct epoll_event events[256];
        int n = epoll_wait(poll_fd, events, 256, 100);
        for (int i = 0; i < n; i++)
            if (!on_readable(events[i].data.ptr)) {
                odd++;
                epoll_ctl(poll_fd, EPOLL_CTL_DEL, ((struct conn *)events[i].data.ptr)->fd, NULL);
            }
    }
    int64_t open_us = 0, now = now_us();
    note_quiet(now);
    for (int i = 0; i < count; i++) {
        judge(&conns[i], now);
        if (now - conns[i].sent_us > open_us)
            open_us = now - conns[i].sent_us;
    }
    double took = (double)(now_us() - began) / 1e6;
    over = true;
    pthread_join(sleeper, NULL);
    if (argc == 6)
        pthread_join(syncer, NULL);
    printf("{\"mode\":\"%s\",\"connections\":%d,\"requests_per_s\":%.0f,\"rounds_per_s\":%.0f,"
           "\"mean_us\":%.0f,\"worst_ms\":%.1f,\"open_ms\":%.1f,\"odd\":%ld,"
           "\"slow\":%ld,\"stalled\":%ld,\"overtaken\":%.1f,\"quiet_ms\":%.1f,\"control_ms\":%.1f,"
           "\"sync_ms\":%.1f}\n",
           mode, count, (double)requests / took, (double)rounds / took,
           requests ? (double)sum_us / (double)requests : 0, (double)worst_us / 1000,
           (double)open_us / 1000, odd, slow, stalled, (double)overtaken / count,
           (double)quiet_us / 1000, (double)control_us / 1000, (double)sync_us / 1000);
    return odd != 0;
}
