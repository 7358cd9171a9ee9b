/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz_answer.c -- a hostile server, seen by the command line's client.
 *
 * First byte: how the answer is cut into pieces; from 128 on it is heard as a stream.  A thread listens, reads the
 * request and says the rest of the input.  The client answers OK with a body of
 * exactly what was framed, or an error with a text; it never waits beyond its time.
 */
#include "base/clock.h"
#include "cli/changes.h"
#include "cli/http.h"
#include "fuzz.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct {
    int listener;
    unsigned port;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pawl_str bytes;
    size_t piece;
    bool ready;
} other = {.listener = -1, .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static void answer(int fd, pawl_str bytes, size_t piece)
{
    char request[4096];
    if (recv(fd, request, sizeof(request), 0) > 0)
        while (bytes.len) {
            size_t n = piece && piece < bytes.len ? piece : bytes.len;
            if (send(fd, bytes.ptr, n, MSG_NOSIGNAL) != (ssize_t)n)
                break;
            bytes.ptr += n;
            bytes.len -= n;
        }
    (void)shutdown(fd, SHUT_WR);
    close(fd);
}

static void *serve(void *arg)
{
    (void)arg;
    for (;;) {
        pthread_mutex_lock(&other.lock);
        while (!other.ready)
            pthread_cond_wait(&other.wake, &other.lock);
        pthread_mutex_unlock(&other.lock);
        int fd = accept(other.listener, NULL, NULL);
        if (fd >= 0)
            answer(fd, other.bytes, other.piece);
        pthread_mutex_lock(&other.lock);
        other.ready = false;
        pthread_cond_broadcast(&other.wake);
        pthread_mutex_unlock(&other.lock);
    }
    return NULL;
}

static void need_server(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t n = sizeof(at);
    pthread_t thread;
    if (other.listener >= 0)
        return;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    other.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(bind(other.listener, (struct sockaddr *)&at, sizeof(at)) == 0 &&
         listen(other.listener, 8) == 0 &&
         getsockname(other.listener, (struct sockaddr *)&at, &n) == 0);
    other.port = ntohs(at.sin_port);
    must(pthread_create(&thread, NULL, serve, NULL) == 0);
    must(pthread_detach(thread) == 0);
}

static void post(pawl_str bytes, size_t piece)
{
    pthread_mutex_lock(&other.lock);
    other.bytes = bytes;
    other.piece = piece;
    other.ready = true;
    pthread_cond_broadcast(&other.wake);
    pthread_mutex_unlock(&other.lock);
}

static void await_end(void)
{
    pthread_mutex_lock(&other.lock);
    while (other.ready)
        pthread_cond_wait(&other.wake, &other.lock);
    pthread_mutex_unlock(&other.lock);
}

static void on_event(void *arg, const char *event, pawl_str data)
{
    (void)arg;
    must(strlen(event) < 64 && data.len);
    (void)changes_tell_of(data, "x");
}

/* The answer as a stream of events, to its end. */
static void hear_stream(struct http *h, size_t most, pawl_mem *mem)
{
    struct http_reply reply = {0};
    struct buf in;
    pawl_error err = {0};
    buf_init(&in, 1 << 20);
    if (http_stream(h, "/x", 2000, mem, &reply, &err) == PAWL_OK && reply.status == 200) {
        for (int i = 0; i < 2000 && http_stream_read(h, &in); i++) {
            struct pollfd p = {.fd = http_fd(h), .events = POLLIN};
            must(poll(&p, 1, 2000) > 0);
            must(in.len <= most);
            changes_parse(&in, on_event, NULL);
        }
        changes_parse(&in, on_event, NULL);
        must(http_fd(h) < 0);
    }
    buf_deinit(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = feed_of(data, size);
    size_t piece = feed_byte(&f);
    pawl_str bytes = feed_rest(&f);
    char url[64];
    pawl_error err = {0};
    struct http_reply reply = {0};
    pawl_mem *mem = pawl_mem_new();
    need_server();
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", other.port);
    struct http *h = http_open(url, NULL, NULL, &err);
    must(h);
    post(bytes, piece % 128);
    int64_t began = clock_mono_ms();
    if (piece >= 128) {
        hear_stream(h, bytes.len, mem);
        await_end();
        http_close(h);
        pawl_mem_free(mem);
        return 0;
    }
    pawl_status rc = http_call(h, "GET", "/x", (pawl_str){0}, NULL, 2000, mem, &reply, &err);
    must(clock_mono_ms() - began < 15000);
    if (rc == PAWL_OK)
        must(reply.status && reply.body.len <= bytes.len);
    else
        must(err.text[0]);
    await_end();
    http_close(h);
    pawl_mem_free(mem);
    return 0;
}
