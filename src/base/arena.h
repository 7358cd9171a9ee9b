/* SPDX-License-Identifier: MIT */
/*
 * base/arena.h -- memory that dies together.
 *
 * A chain of blocks, bump-allocated, never returning NULL: when the system is
 * out of memory, or `limit` bytes or those of the budget are used, the arena calls `exhausted`, which
 * must not return (a fiber switches away, a request unwinds).  Without a hook
 * the process aborts with a message.  pawl_mem of the public API is this.
 *
 * Invariants (arena_check): used <= size of the blocks; marks are only rewound
 * to in LIFO order; the first block is kept by reset.
 */
#ifndef PAWL_BASE_ARENA_H
#define PAWL_BASE_ARENA_H

#include "pawl/types.h"

#include <stdarg.h>

struct arena_block;

/* Shared by arenas that have one limit together. */
struct arena_budget {
    size_t used; /* bytes in all their blocks */
    size_t most;
};

struct pawl_mem {
    struct arena_block *head;      /* newest block; owned chain */
    char *at;                      /* next free byte of head */
    char *end;                     /* end of head */
    size_t total;                  /* bytes in all blocks */
    size_t limit;                  /* 0: none */
    void (*exhausted)(void *user); /* does not return; NULL: abort */
    void *user;
    struct arena_budget *budget; /* NULL: none; counts blocks from then on */
    size_t wanted;               /* by the allocation that was refused */
};

struct arena_mark {
    struct arena_block *head;
    struct arena_block *behind; /* large blocks are hung behind the head */
    char *at;
};

void arena_init(pawl_mem *mem);   /* no memory yet: the first allocation takes a block */
void arena_deinit(pawl_mem *mem); /* free all; usable again */
void arena_reset(pawl_mem *mem);  /* forget all, keep one block */
/* The same for memory that is filled alike again and again: keeps a block it has grown to, when
 * that is no larger than `most`, so that it need not grow once more. */
void arena_recycle(pawl_mem *mem, size_t most);
void *arena_alloc(pawl_mem *mem, size_t size);    /* 16-aligned, not zeroed, never NULL */
void *arena_zalloc(pawl_mem *mem, size_t size);   /* zeroed */
pawl_str arena_dup(pawl_mem *mem, pawl_str text); /* NUL-terminated copy */
pawl_str arena_join(pawl_mem *mem, const pawl_str *parts, size_t count); /* one text of them */
pawl_str arena_vprintf(pawl_mem *mem, const char *format, va_list args) PAWL_PRINTF(2, 0);
size_t arena_bytes(const pawl_mem *mem); /* held from the system */
struct arena_mark arena_mark(pawl_mem *mem);
void arena_rewind(pawl_mem *mem, struct arena_mark mark); /* free what came after */
void arena_check(const pawl_mem *mem);

#define arena_new(mem, T)      ((T *)arena_zalloc((mem), sizeof(T)))
#define arena_array(mem, T, n) ((T *)arena_zalloc((mem), sizeof(T) * (n)))

#endif
