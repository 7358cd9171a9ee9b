/* SPDX-License-Identifier: MIT */
/*
 * tests/http/load.c -- many busy connections on one thread, for the stall test
 * and for figures.
 *
 *     load PORT start|push|cycle CONNECTIONS SECONDS
 *
 * start: POST an Echo, then GET its wait, over and over on each connection.
 * push: push to one queue.  cycle: push, pop with require_ack, acknowledge, on a
 * queue of the connection's own.  Prints one JSON line: requests and rounds a
 * second, the slowest request, and how many had an unexpected status.
 */
#include <arpa/inet.h>
#include <errno.h>
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
    char in[8192];
    size_t have;
    char name[32]; /* instance or lock id */
};

static const char *mode;
static int64_t worst_us, sum_us;
static long requests, rounds, odd;

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

/* A whole answer is in c->in. */
static void take_answer(struct conn *c, const char *body)
{
    int status = atoi(c->in + 9);
    int64_t took = now_us() - c->sent_us;
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
    if (argc != 5)
        return 2;
    int port = atoi(argv[1]), count = atoi(argv[3]), poll_fd = epoll_create1(0);
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
    int64_t stalled = 0;
    for (int i = 0; i < count; i++)
        if (now_us() - conns[i].sent_us > stalled)
            stalled = now_us() - conns[i].sent_us;
    double took = (double)(now_us() - began) / 1e6;
    printf("{\"mode\":\"%s\",\"connections\":%d,\"requests_per_s\":%.0f,\"rounds_per_s\":%.0f,"
           "\"mean_us\":%.0f,\"worst_ms\":%.1f,\"open_ms\":%.1f,\"odd\":%ld}\n",
           mode, count, (double)requests / took, (double)rounds / took,
           requests ? (double)sum_us / (double)requests : 0, (double)worst_us / 1000,
           (double)stalled / 1000, odd);
    return odd != 0;
}
