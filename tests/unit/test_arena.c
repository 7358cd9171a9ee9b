/* SPDX-License-Identifier: MIT */
/* tests/unit/test_arena.c -- memory that dies together. */
#include "base/arena.h"
#include "child.h"
#include "random.h"

#include <setjmp.h>
#include <stdlib.h>

static bool is_zero(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

TEST(an_arena_takes_nothing_until_the_first_allocation)
{
    pawl_mem mem;

    arena_init(&mem);
    arena_check(&mem);
    ck_assert_uint_eq(arena_bytes(&mem), 0);
    arena_alloc(&mem, 1);
    ck_assert_uint_eq(arena_bytes(&mem), 4096);
    arena_deinit(&mem);
    ck_assert_uint_eq(arena_bytes(&mem), 0);
    arena_check(&mem);
}

/* How many of the first n bytes have this value: one assertion for all of them,
 * because each assertion is a message to the harness. */
static size_t same_bytes(const char *bytes, size_t n, int value)
{
    size_t same = 0;

    while (same < n && (unsigned char)bytes[same] == value)
        same++;
    return same;
}

TEST(allocations_are_aligned_and_do_not_overlap)
{
    static char *got[2000];
    static size_t sizes[2000];
    uint64_t state = 1;
    pawl_mem mem;

    arena_init(&mem);
    for (size_t i = 0; i < 2000; i++) {
        sizes[i] = random_below(&state, i % 50 == 0 ? 100000 : 300);
        got[i] = arena_alloc(&mem, sizes[i]);
        ck_assert_uint_eq((uintptr_t)got[i] % 16, 0);
        memset(got[i], (int)(i % 251), sizes[i]);
    }
    arena_check(&mem);
    for (size_t i = 0; i < 2000; i++)
        ck_assert_uint_eq(same_bytes(got[i], sizes[i], (int)(i % 251)), sizes[i]);
    arena_deinit(&mem);
}

TEST(zeroed_memory_is_zero_also_after_a_reset)
{
    pawl_mem *mem = pawl_mem_new();

    for (int round = 0; round < 3; round++) {
        for (size_t size = 0; size < 5000; size += 497) {
            char *p = pawl_mem_alloc(mem, size);
            ck_assert(is_zero(p, size));
            memset(p, 0xa5, size);
        }
        pawl_mem_reset(mem);
    }
    pawl_mem_free(mem);
}

TEST(allocations_of_nothing_are_distinct)
{
    pawl_mem mem;

    arena_init(&mem);
    ck_assert_ptr_ne(arena_alloc(&mem, 0), arena_alloc(&mem, 0));
    arena_deinit(&mem);
}

TEST(texts_are_joined_in_order)
{
    pawl_mem mem;
    const pawl_str parts[] = {pawl_s("one"), {0}, pawl_s(", two"), pawl_s("")};

    arena_init(&mem);
    pawl_str all = arena_join(&mem, parts, 4);
    ck_assert_str_eq(all.ptr, "one, two");
    ck_assert_uint_eq(all.len, 8);
    ck_assert_str_eq(arena_join(&mem, NULL, 0).ptr, "");
    arena_deinit(&mem);
}

TEST(blocks_double_up_to_a_mebibyte)
{
    pawl_mem mem;
    size_t last = 0, grown = 0, most = 0;

    arena_init(&mem);
    for (int i = 0; i < 100000; i++) {
        arena_alloc(&mem, 64);
        if (arena_bytes(&mem) == last)
            continue;
        size_t block = arena_bytes(&mem) - last;
        ck_assert(block == grown || block == grown * 2 || grown == 0);
        grown = block;
        most = block > most ? block : most;
        last = arena_bytes(&mem);
    }
    ck_assert_uint_eq(most, 1024 * 1024);
    arena_deinit(&mem);
}

TEST(a_large_allocation_leaves_the_open_block_in_use)
{
    pawl_mem mem;

    arena_init(&mem);
    char *before = arena_alloc(&mem, 16);
    arena_alloc(&mem, 3 * 1024 * 1024);
    char *after = arena_alloc(&mem, 16);
    ck_assert_int_lt(after - before, 4096);
    ck_assert_int_gt(after - before, 0);
    ck_assert_uint_lt(arena_bytes(&mem), 3 * 1024 * 1024 + 2 * 4096);
    arena_check(&mem);
    arena_deinit(&mem);
}

TEST(a_reset_keeps_only_the_first_block)
{
    pawl_mem mem;

    arena_init(&mem);
    arena_alloc(&mem, 9000000);
    for (int i = 0; i < 1000; i++)
        arena_alloc(&mem, 1000);
    arena_reset(&mem);
    ck_assert_uint_eq(arena_bytes(&mem), 4096);
    arena_check(&mem);
    char *a = arena_alloc(&mem, 100);
    arena_reset(&mem);
    ck_assert_ptr_eq(arena_alloc(&mem, 100), a);
    arena_deinit(&mem);
    arena_reset(&mem); /* of nothing */
    arena_check(&mem);
}

TEST(recycling_keeps_the_block_it_has_grown_to)
{
    pawl_mem mem;
    arena_init(&mem);
    arena_recycle(&mem, 1 << 20); /* of nothing */
    ck_assert_uint_eq(arena_bytes(&mem), 0);
    for (int i = 0; i < 3000; i++)
        (void)arena_alloc(&mem, 100);
    (void)arena_alloc(&mem, 3 << 20);
    size_t grown = arena_bytes(&mem);
    arena_recycle(&mem, 1 << 20);
    arena_check(&mem);
    size_t kept = arena_bytes(&mem);
    ck_assert_uint_ge(kept, 100 * 1024);
    ck_assert_uint_lt(kept, grown - (3 << 20));
    for (size_t n = 0; n + 256 < kept; n += 128) /* it is there to be used */
        memset(arena_alloc(&mem, 100), 1, 100);
    ck_assert_uint_eq(arena_bytes(&mem), kept);
    arena_recycle(&mem, kept - 1); /* too much to keep */
    arena_check(&mem);
    ck_assert_uint_le(arena_bytes(&mem), kept);
    arena_deinit(&mem);
}

TEST(long_and_short_texts_are_printed_alike)
{
    pawl_mem mem;
    arena_init(&mem);
    for (int n = 250; n < 262; n++) {
        pawl_str text = pawl_mem_printf(&mem, "%0*d", n, 7);
        ck_assert_uint_eq(text.len, (size_t)n);
        ck_assert_uint_eq(strlen(text.ptr), (size_t)n);
        ck_assert(text.ptr[n - 1] == '7' && text.ptr[0] == '0');
    }
    arena_deinit(&mem);
}

TEST(copies_end_with_a_nul_that_is_not_counted)
{
    pawl_mem *mem = pawl_mem_new();
    char source[] = {'a', '\0', 'b'};
    pawl_str copy = pawl_mem_dup(mem, (pawl_str){source, 3});

    source[0] = 'x';
    ck_assert_uint_eq(copy.len, 3);
    ck_assert_mem_eq(copy.ptr, "a\0b", 4);
    ck_assert_str_eq(pawl_mem_dup(mem, (pawl_str){0}).ptr, "");
    pawl_mem_free(mem);
    pawl_mem_free(NULL);
}

TEST(printing_gives_exactly_the_text)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_str text = pawl_mem_printf(mem, "%s-%03d", "order", 7);

    ck_assert_str_eq(text.ptr, "order-007");
    ck_assert_uint_eq(text.len, 9);
    ck_assert_str_eq(pawl_mem_printf(mem, "%s", "").ptr, "");
    pawl_str wide = pawl_mem_printf(mem, "%70000d", 1);
    ck_assert_uint_eq(wide.len, 70000);
    ck_assert_int_eq(wide.ptr[69999], '1');
    pawl_mem_free(mem);
}

TEST(rewinding_frees_what_came_after_and_nothing_else)
{
    pawl_mem mem;

    arena_init(&mem);
    char *kept = arena_alloc(&mem, 100);
    memset(kept, 7, 100);
    char *kept_large = arena_alloc(&mem, 70000);
    memset(kept_large, 8, 70000);
    size_t bytes = arena_bytes(&mem);
    struct arena_mark mark = arena_mark(&mem);
    char *next = arena_alloc(&mem, 10);
    for (int i = 0; i < 300; i++)
        arena_alloc(&mem, i % 10 ? 900 : 80000);
    arena_rewind(&mem, mark);
    arena_check(&mem);
    ck_assert_uint_eq(arena_bytes(&mem), bytes);
    ck_assert_ptr_eq(arena_alloc(&mem, 10), next);
    ck_assert_int_eq(kept[99], 7);
    ck_assert_int_eq(kept_large[69999], 8);
    arena_deinit(&mem);
}

TEST(a_large_allocation_right_after_a_mark_is_freed_by_it)
{
    pawl_mem mem;

    arena_init(&mem);
    arena_alloc(&mem, 10);
    arena_alloc(&mem, 50000);
    size_t bytes = arena_bytes(&mem);
    for (int i = 0; i < 3; i++) {
        struct arena_mark mark = arena_mark(&mem);
        arena_alloc(&mem, 50000);
        arena_rewind(&mem, mark);
        ck_assert_uint_eq(arena_bytes(&mem), bytes);
    }
    arena_deinit(&mem);
}

TEST(a_mark_of_an_empty_arena_rewinds_to_nothing)
{
    pawl_mem mem;

    arena_init(&mem);
    struct arena_mark mark = arena_mark(&mem);
    arena_alloc(&mem, 100000);
    arena_rewind(&mem, mark);
    ck_assert_uint_eq(arena_bytes(&mem), 0);
    arena_check(&mem);
    arena_alloc(&mem, 1);
    arena_deinit(&mem);
}

TEST(random_scopes_keep_their_contents)
{
    struct scope {
        struct arena_mark mark;
        char *bytes;
        size_t n;
    } scopes[40];
    uint64_t state = 42;
    int depth = 0;
    pawl_mem mem;

    arena_init(&mem);
    for (int i = 0; i < 20000; i++) {
        if (depth < 40 && random_below(&state, 5) < 3) {
            struct scope *s = &scopes[depth];
            s->mark = arena_mark(&mem);
            s->n = random_below(&state, random_below(&state, 20) ? 400 : 40000);
            s->bytes = arena_alloc(&mem, s->n);
            memset(s->bytes, depth + 1, s->n);
            depth++;
        } else if (depth > 0) {
            struct scope *s = &scopes[--depth];
            ck_assert_uint_eq(same_bytes(s->bytes, s->n, depth + 1), s->n);
            arena_rewind(&mem, s->mark);
        }
        arena_check(&mem);
    }
    arena_deinit(&mem);
}

static jmp_buf exhausted_to;

static void jump_out(void *user)
{
    ++*(int *)user;
    longjmp(exhausted_to, 1);
}

TEST(at_the_limit_the_hook_is_called_and_the_arena_stays_whole)
{
    static pawl_mem mem;
    static int calls;
    static size_t used;

    arena_init(&mem);
    mem.limit = 100000;
    mem.exhausted = jump_out;
    mem.user = &calls;
    if (setjmp(exhausted_to) == 0)
        for (;; used += 100)
            arena_alloc(&mem, 100);
    ck_assert_int_eq(calls, 1);
    ck_assert_uint_le(arena_bytes(&mem), 100000);
    ck_assert_uint_ge(used, 70000); /* most of it could be used */
    arena_check(&mem);
    arena_reset(&mem);
    arena_alloc(&mem, 100);
    arena_deinit(&mem);
}

TEST(a_limit_is_met_exactly_by_one_large_allocation)
{
    static pawl_mem mem;
    static int calls;

    arena_init(&mem);
    mem.limit = 1 << 20;
    mem.exhausted = jump_out;
    mem.user = &calls;
    arena_alloc(&mem, (1 << 20) - 4096 - 64);
    ck_assert_int_eq(calls, 0);
    if (setjmp(exhausted_to) == 0)
        arena_alloc(&mem, 8192);
    ck_assert_int_eq(calls, 1);
    arena_deinit(&mem);
}

TEST(a_size_that_cannot_be_is_refused_through_the_hook)
{
    static pawl_mem mem;
    static int calls;

    arena_init(&mem);
    mem.exhausted = jump_out;
    mem.user = &calls;
    if (setjmp(exhausted_to) == 0)
        arena_alloc(&mem, SIZE_MAX);
    if (setjmp(exhausted_to) == 0)
        arena_alloc(&mem, SIZE_MAX / 2);
    ck_assert_int_eq(calls, 2);
    arena_deinit(&mem);
}

static void exhaust_without_hook(void *arg)
{
    pawl_mem mem;

    (void)arg;
    arena_init(&mem);
    mem.limit = 8192;
    arena_alloc(&mem, 10000);
}

static void return_from_hook(void *arg)
{
    (void)arg;
}

static void exhaust_with_returning_hook(void *arg)
{
    pawl_mem mem;

    (void)arg;
    arena_init(&mem);
    mem.limit = 8192;
    mem.exhausted = return_from_hook;
    arena_alloc(&mem, 10000);
}

TEST(without_a_hook_the_process_stops_with_a_line)
{
    must_abort(exhaust_without_hook, NULL, "pawl: out of memory: ");
    must_abort(exhaust_with_returning_hook, NULL, "exhausted hook returned");
}

static void rewind_twice_in_wrong_order(void *arg)
{
    pawl_mem mem;

    (void)arg;
    arena_init(&mem);
    arena_alloc(&mem, 1);
    struct arena_mark outer = arena_mark(&mem);
    for (int i = 0; i < 100; i++)
        arena_alloc(&mem, 1000);
    struct arena_mark inner = arena_mark(&mem);
    arena_rewind(&mem, outer);
    arena_rewind(&mem, inner);
}

TEST(marks_out_of_order_stop_the_process)
{
    must_abort(rewind_twice_in_wrong_order, NULL, "broken invariant");
}
