/* SPDX-License-Identifier: MIT */
/*
 * base/arena.c -- bump allocation in a chain of blocks.
 *
 * Every context, activity, turn and request has one: what belongs together is
 * freed together, and a fiber that is dropped loses nothing that matters.
 *
 *     head -> [big] -> [16 KiB] -> [8 KiB] -> [big] -> [4 KiB] -> NULL
 *      ^ the only block with free space: at..end
 *
 * Blocks double from 4 KiB to 1 MiB.  What is too large to share a block gets
 * one of exactly its size, hung *behind* the head, so that the free space of
 * the head stays in use.  A mark remembers the head and what was behind it;
 * everything in front of either was made later, which is all rewinding needs.
 *
 * Invariants: see arena_check().  Under ASan free space is poisoned and every
 * allocation is followed by a gap.
 */
#include "base/arena.h"
#include "base/misuse.h"

#include "base/asan.h"
#include "base/attr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALIGN           ((size_t)16)
#define BLOCK_FIRST     ((size_t)4096)
#define BLOCK_MAX       ((size_t)1024 * 1024)
#define ALLOCATION_MAX  (SIZE_MAX / 4) /* sums below cannot wrap */
#define ROUND_UP(n)     (((n) + ALIGN - 1) & ~(ALIGN - 1))
#define BLOCK_HEADER    ROUND_UP(sizeof(struct arena_block))
#define BLOCK_DATA(blk) ((char *)(blk) + BLOCK_HEADER)

#ifdef HAVE_ASAN
#define GAP ALIGN
#else
#define GAP ((size_t)0)
#endif

struct arena_block {
    struct arena_block *behind; /* older; owned */
    size_t size;                /* with this header */
    bool large;                 /* holds one allocation, is never the head */
};

static void *take_slow(pawl_mem *mem, size_t need);
static void open_block(pawl_mem *mem, size_t want, size_t least);
static void *add_large(pawl_mem *mem, size_t need);
static struct arena_block *add_block(pawl_mem *mem, size_t want, size_t least);
static void free_block(pawl_mem *mem, struct arena_block *block);
static void free_first(pawl_mem *mem);
static void set_head(pawl_mem *mem, struct arena_block *head, char *at);
NORETURN static void give_up(pawl_mem *mem, size_t need);

/* Free the blocks in front of `keep`; most often there are none. */
INLINED void free_down_to(pawl_mem *mem, const struct arena_block *keep)
{
    while (UNLIKELY(mem->head != keep))
        free_first(mem);
}

void arena_init(pawl_mem *mem)
{
    *mem = (pawl_mem){0};
}

void arena_deinit(pawl_mem *mem)
{
    free_down_to(mem, NULL);
    set_head(mem, NULL, NULL);
}

void arena_reset(pawl_mem *mem)
{
    struct arena_block *first = NULL;

    for (struct arena_block *b = mem->head; b; b = b->behind)
        if (!b->large)
            first = b;
    if (!first)
        return;
    free_down_to(mem, first);
    while (first->behind) {
        struct arena_block *gone = first->behind;
        first->behind = gone->behind;
        free_block(mem, gone);
    }
    set_head(mem, first, BLOCK_DATA(first));
}

/* The head is the largest of those that share. */
void arena_recycle(pawl_mem *mem, size_t most)
{
    struct arena_block *keep = mem->head;

    if (!keep || keep->size > most) {
        arena_reset(mem);
        return;
    }
    while (keep->behind) {
        struct arena_block *gone = keep->behind;
        keep->behind = gone->behind;
        free_block(mem, gone);
    }
    set_head(mem, keep, BLOCK_DATA(keep));
}

void *arena_alloc(pawl_mem *mem, size_t size)
{
    if (UNLIKELY(size > ALLOCATION_MAX))
        give_up(mem, size);
    size_t need = ROUND_UP(size ? size : 1) + GAP;
    char *got;

    if (LIKELY(need <= (size_t)(mem->end - mem->at))) {
        got = mem->at;
        mem->at += need;
    } else {
        got = take_slow(mem, need);
    }
    asan_unpoison(got, size);
    return got;
}

void *arena_zalloc(pawl_mem *mem, size_t size)
{
    void *got = arena_alloc(mem, size);

    return size ? memset(got, 0, size) : got;
}

pawl_str arena_dup(pawl_mem *mem, pawl_str text)
{
    if (text.len == 0)
        return (pawl_str){.ptr = "", .len = 0};
    if (text.len > ALLOCATION_MAX)
        give_up(mem, text.len);
    MUST_HAVE("the bytes of a text that has a length", text.ptr);
    char *copy = arena_alloc(mem, text.len + 1);

    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return (pawl_str){.ptr = copy, .len = text.len};
}

pawl_str arena_join(pawl_mem *mem, const pawl_str *parts, size_t count)
{
    size_t len = 0;

    for (size_t i = 0; i < count; i++)
        len += parts[i].len;
    char *text = arena_alloc(mem, len + 1), *at = text;
    for (size_t i = 0; i < count; i++)
        if (parts[i].len)
            at = mempcpy(at, parts[i].ptr, parts[i].len);
    *at = '\0';
    return (pawl_str){.ptr = text, .len = len};
}

pawl_str arena_vprintf(pawl_mem *mem, const char *format, va_list args)
{
    char most[256]; /* most texts: printed once */
    va_list again;

    va_copy(again, args);
    int n = vsnprintf(most, sizeof most, format, again);
    va_end(again);
    if (n <= 0)
        return (pawl_str){.ptr = "", .len = 0};
    char *text = arena_alloc(mem, (size_t)n + 1);
    if ((size_t)n < sizeof most)
        memcpy(text, most, (size_t)n + 1);
    else
        (void)vsnprintf(text, (size_t)n + 1, format, args);
    return (pawl_str){.ptr = text, .len = (size_t)n};
}

size_t arena_bytes(const pawl_mem *mem)
{
    return mem->total;
}

struct arena_mark arena_mark(pawl_mem *mem)
{
    return (struct arena_mark){
        .head = mem->head, .behind = mem->head ? mem->head->behind : NULL, .at = mem->at};
}

void arena_rewind(pawl_mem *mem, struct arena_mark mark)
{
    free_down_to(mem, mark.head);
    while (mark.head && mark.head->behind != mark.behind) {
        struct arena_block *gone = mark.head->behind;
        assert_that(gone); /* else the mark was rewound past, or is another arena's */
        mark.head->behind = gone->behind;
        free_block(mem, gone);
    }
    set_head(mem, mark.head, mark.at);
}

void arena_check(const pawl_mem *mem)
{
    size_t total = 0;

    for (const struct arena_block *b = mem->head; b; b = b->behind) {
        assert_that(b->size > BLOCK_HEADER && b->size % ALIGN == 0);
        total += b->size;
    }
    assert_that(total == mem->total);
    assert_that(mem->at <= mem->end);
    assert_that((uintptr_t)mem->at % ALIGN == 0);
    if (!mem->head) {
        assert_that(!mem->at && !mem->end);
        return;
    }
    assert_that(!mem->head->large);
    assert_that(mem->at >= BLOCK_DATA(mem->head));
    assert_that(mem->end == (char *)mem->head + mem->head->size);
}

pawl_mem *pawl_mem_new(void)
{
    pawl_mem *mem = malloc(sizeof *mem);

    if (mem) {
        arena_init(mem);
        return mem;
    }
    give_up(&(pawl_mem){0}, sizeof *mem);
}

void pawl_mem_free(pawl_mem *mem)
{
    if (!mem)
        return;
    arena_deinit(mem);
    free(mem);
}

void pawl_mem_reset(pawl_mem *mem)
{
    MUST_HAVE("memory", mem);
    arena_reset(mem);
}

void *pawl_mem_alloc(pawl_mem *mem, size_t size)
{
    MUST_HAVE("memory", mem);
    return arena_zalloc(mem, size);
}

pawl_str pawl_mem_dup(pawl_mem *mem, pawl_str text)
{
    MUST_HAVE("memory", mem);
    return arena_dup(mem, text);
}

pawl_str pawl_mem_printf(pawl_mem *mem, const char *format, ...)
{
    MUST_HAVE("memory", mem);
    va_list args;

    va_start(args, format);
    pawl_str text = arena_vprintf(mem, format, args);
    va_end(args);
    return text;
}

/* The head has no room.  A request that would fill half of the next block gets
 * its own, exactly sized; others open the next block. */
static void *take_slow(pawl_mem *mem, size_t need)
{
    if (!mem->head) {
        open_block(mem, BLOCK_FIRST, BLOCK_HEADER + ALIGN);
    } else {
        size_t next = mem->head->size < BLOCK_MAX / 2 ? mem->head->size * 2 : BLOCK_MAX;
        if (need < next / 2)
            open_block(mem, next, BLOCK_HEADER + need);
    }
    if (need > (size_t)(mem->end - mem->at))
        return add_large(mem, need);
    mem->at += need;
    return mem->at - need;
}

static void open_block(pawl_mem *mem, size_t want, size_t least)
{
    struct arena_block *block = add_block(mem, want, least);

    block->behind = mem->head;
    set_head(mem, block, BLOCK_DATA(block));
}

static void *add_large(pawl_mem *mem, size_t need)
{
    struct arena_block *block = add_block(mem, BLOCK_HEADER + need, BLOCK_HEADER + need);

    block->large = true;
    block->behind = mem->head->behind;
    mem->head->behind = block;
    return BLOCK_DATA(block);
}

static size_t room(const pawl_mem *mem)
{
    const struct arena_budget *b = mem->budget;
    size_t left = !mem->limit ? SIZE_MAX : mem->limit > mem->total ? mem->limit - mem->total : 0;
    size_t shared = !b ? SIZE_MAX : b->most > b->used ? b->most - b->used : 0;

    return left < shared ? left : shared;
}

/* A block of `want` bytes, or as few as `least` when the limit is near. */
static struct arena_block *add_block(pawl_mem *mem, size_t want, size_t least)
{
    size_t size = want > least ? want : least;
    size_t left = room(mem);

    if (size > left)
        size = left & ~(ALIGN - 1);
    struct arena_block *block = size && size >= least ? malloc(size) : NULL;
    if (!block)
        give_up(mem, least);
    *block = (struct arena_block){.size = size};
    mem->total += size;
    if (mem->budget)
        mem->budget->used += size;
    asan_poison(BLOCK_DATA(block), size - BLOCK_HEADER);
    return block;
}

static void free_block(pawl_mem *mem, struct arena_block *block)
{
    mem->total -= block->size;
    if (mem->budget)
        mem->budget->used -= block->size;
    asan_unpoison(block, block->size);
    free(block);
}

static void free_first(pawl_mem *mem)
{
    struct arena_block *gone = mem->head;
    assert_that(gone); /* else what is to be kept is not of this arena any more */
    mem->head = gone->behind;
    free_block(mem, gone);
}

static void set_head(pawl_mem *mem, struct arena_block *head, char *at)
{
    mem->head = head;
    mem->at = at;
    mem->end = head ? (char *)head + head->size : NULL;
    if (head)
        asan_poison(mem->at, (size_t)(mem->end - mem->at));
}

/* Leave through the owner's hook, or stop: there is no way to go on. */
static void give_up(pawl_mem *mem, size_t need)
{
    mem->wanted = need;
    if (mem->exhausted)
        mem->exhausted(mem->user);
    char text[160];
    int n = snprintf(text, sizeof text, "pawl: out of memory: %zu bytes wanted, %zu held%s\n", need,
                     mem->total, mem->exhausted ? " (exhausted hook returned)" : "");
    if (n > 0 && write(STDERR_FILENO, text, (size_t)n) < 0)
        abort();
    abort();
}
