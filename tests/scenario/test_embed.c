/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_embed.c -- a runtime stepped inside poll(): its descriptor and its time-out. */
#include "scene.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

static bool is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void took(void *arg, const pawl_reply *reply)
{
    *(pawl_status *)arg = reply->status;
}

static pawl_result nap(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_result r = pawl_sleep(ctx, 700);
    return r.ok ? pawl_call(ctx, "Echo", pawl_s("rested")) : r;
}

static void submit(struct scene *s, const char *id, pawl_status *got)
{
    *got = PAWL_BUSY;
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_START, .instance = id, .name = "Nap"),
                                 took, got, NULL),
              PAWL_OK);
}

/* What an event loop does: wait for the descriptor or the time, then step. */
static void loop_until(struct scene *s, int64_t ms)
{
    int fd = pawl_runtime_fd(s->rt);
    for (int64_t end = s->mono + ms;;) {
        int64_t wait = pawl_runtime_timeout_ms(s->rt);
        if (wait != 0 && !is_readable(fd)) {
            if (wait < 0 || s->mono + wait > end)
                break;
            s->mono += wait;
            s->now += wait;
        }
        (void)pawl_runtime_step(s->rt, 0);
    }
}

SCENARIO(c18_the_descriptor_is_readable_when_something_arrived)
{
    pawl_status got;
    scene_flow(s, "Nap", nap);
    scene_up(s);
    scene_settle(s);
    int fd = pawl_runtime_fd(s->rt);
    ck_assert_int_gt(fd, 2);
    expect_is(pawl_runtime_fd(s->rt), fd);
    ck_assert(is_readable(fd)); /* what came before was told to nobody */
    (void)pawl_runtime_step(s->rt, 0);
    ck_assert(!is_readable(fd));
    expect_is(pawl_runtime_timeout_ms(s->rt), -1); /* idle: nothing is due */
    submit(s, "i", &got);
    ck_assert(is_readable(fd));
    expect_is(pawl_runtime_timeout_ms(s->rt), 0);
    while (pawl_runtime_timeout_ms(s->rt) == 0)
        (void)pawl_runtime_step(s->rt, 0);
    ck_assert(!is_readable(fd));
    expect_is(got, PAWL_OK);
    expect_is(pawl_runtime_timeout_ms(s->rt), 700); /* the timer */
}

SCENARIO(c18_an_event_loop_drives_it_to_the_end)
{
    pawl_status got[3];
    static const char *const ids[] = {"a", "b", "c"};
    scene_flow(s, "Nap", nap);
    scene_up(s);
    for (int i = 0; i < 3; i++) {
        submit(s, ids[i], &got[i]);
        loop_until(s, 100);
        expect_is(got[i], PAWL_OK);
    }
    loop_until(s, 10000);
    for (int i = 0; i < 3; i++)
        scene_expect(s, ids[i], PAWL_COMPLETED, "rested");
    expect_is(pawl_runtime_timeout_ms(s->rt), -1);
}

static void *submit_elsewhere(void *arg)
{
    static pawl_status got;
    submit(arg, "far", &got);
    return NULL;
}

SCENARIO(c18_another_threads_request_wakes_the_loop)
{
    pthread_t other;
    scene_flow(s, "Nap", nap);
    scene_up(s);
    scene_settle(s);
    struct pollfd p = {.fd = pawl_runtime_fd(s->rt), .events = POLLIN};
    (void)pawl_runtime_step(s->rt, 0);
    ck_assert(!is_readable(p.fd));
    expect_is(pthread_create(&other, NULL, submit_elsewhere, s), 0);
    expect_is(poll(&p, 1, 60000), 1);
    expect_is(pthread_join(other, NULL), 0);
    loop_until(s, 1000);
    scene_expect(s, "far", PAWL_COMPLETED, "rested");
}

/* Whoever closed standard input did not mean to get this one, or to have it held. */
SCENARIO(c18_the_descriptor_is_none_of_the_standard_ones)
{
    scene_up(s);
    int kept = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 100);
    ck_assert_int_ge(kept, 100);
    close(STDIN_FILENO);
    int fd = pawl_runtime_fd(s->rt);
    int there = fcntl(STDIN_FILENO, F_GETFD);
    expect_is(dup2(kept, STDIN_FILENO), STDIN_FILENO);
    close(kept);
    ck_assert_int_gt(fd, STDERR_FILENO);
    ck_assert_int_lt(there, 0);
}

SCENARIO(c18_a_runtime_with_threads_has_no_descriptor)
{
    scene_threads(s);
    scene_up(s);
    expect_is(pawl_runtime_fd(s->rt), -1);
    expect_is(pawl_runtime_timeout_ms(s->rt), -1);
}

SCENARIO(c18_the_descriptor_is_closed_with_the_runtime)
{
    scene_up(s);
    int fd = pawl_runtime_fd(s->rt);
    ck_assert_int_gt(fd, 2);
    for (int i = 0; i < 20; i++) { /* each has a place of its own if the one before is still open */
        scene_restart(s);
        expect_is(pawl_runtime_fd(s->rt), fd);
    }
}
