/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_shared_text.c -- server/shared_text.h: how many texts are made, by count and never
 * by the clock of the test.
 */
#include "../harness.h"

#include "server/shared_text.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static struct shared_text *shared;
static pawl_mem *mem;

static void setup(void)
{
    shared = shared_create();
    mem = pawl_mem_new();
    ck_assert(shared && mem);
}

static void teardown(void)
{
    shared_destroy(shared);
    pawl_mem_free(mem);
}

/* Look, and make it where it must be made: the text says when. */
static struct shared_view look(int64_t now_ms, uint64_t changes)
{
    struct shared_view view;
    if (!shared_look(shared, now_ms, changes, mem, &view))
        shared_put(shared, pawl_mem_printf(mem, "%lld", (long long)now_ms), changes, 1000, &view);
    return view;
}

TEST(viewers_share_a_text_for_its_time)
{
    setup();
    for (int64_t now = 0; now < 10000; now++) /* each millisecond a viewer, and a change */
        (void)look(now, (uint64_t)now);
    ck_assert_uint_eq(look(9999, 10000).made, 10);
    struct shared_view last = look(9999, 10000);
    ck_assert(pawl_str_is(last.text, "9000") && !last.current);
    ck_assert_uint_eq(last.as_of, 9000);
    teardown();
}

TEST(nothing_is_made_while_nothing_changes)
{
    setup();
    ck_assert_uint_eq(look(0, 7).made, 1);
    for (int64_t now = 1; now < SHARED_STILL_MS; now++) {
        struct shared_view view = look(now, 7);
        ck_assert(view.made == 1 && view.current);
    }
    ck_assert_uint_eq(look(SHARED_STILL_MS, 7).made, 2); /* ages in it have grown */
    teardown();
}

TEST(a_change_after_its_time_makes_a_new_one_at_once)
{
    setup();
    (void)look(0, 1);
    ck_assert(!look(999, 2).current);
    struct shared_view view = look(1000, 2);
    ck_assert(view.made == 2 && view.current);
    teardown();
}

TEST(a_text_with_an_older_part_is_not_current)
{
    setup();
    struct shared_view view;
    ck_assert(!shared_look(shared, 0, 5, mem, &view));
    shared_put(shared, pawl_s("x"), 4, 1000, &view);
    ck_assert(!view.current);
    ck_assert(!look(999, 5).current);
    ck_assert_uint_eq(look(1000, 5).made, 2); /* not kept as one to which nothing happened */
    teardown();
}

TEST(others_get_the_old_one_while_a_new_one_is_made)
{
    setup();
    struct shared_view view;
    (void)look(0, 1);
    ck_assert(!shared_look(shared, 5000, 2, mem, &view)); /* ours to make */
    ck_assert(shared_look(shared, 5000, 2, mem, &view));
    ck_assert(pawl_str_is(view.text, "0") && !view.current);
    shared_give_up(shared);
    ck_assert(!shared_look(shared, 5000, 2, mem, &view)); /* the next one tries */
    shared_put(shared, pawl_s("new"), 2, 1000, &view);
    ck_assert(shared_look(shared, 5000, 2, mem, &view) && pawl_str_is(view.text, "new"));
    teardown();
}

static atomic_int made;

static void *view_first(void *arg)
{
    struct shared_view view;
    pawl_mem *own = pawl_mem_new();
    (void)arg;
    if (!shared_look(shared, 1, 1, own, &view)) {
        atomic_fetch_add(&made, 1);
        shared_put(shared, pawl_s("first"), 1, 1000, &view);
    }
    ck_assert(pawl_str_is(view.text, "first"));
    pawl_mem_free(own);
    return NULL;
}

TEST(the_first_text_is_made_once_for_all_who_come_together)
{
    setup();
    pthread_t threads[16];
    atomic_store(&made, 0);
    for (size_t i = 0; i < 16; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, view_first, NULL), 0);
    for (size_t i = 0; i < 16; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(atomic_load(&made), 1);
    teardown();
}
