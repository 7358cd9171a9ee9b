/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz.h -- what the fuzz targets share.
 *
 * A target is one file fuzz_NAME.c with LLVMFuzzerTestOneInput: any bytes in,
 * nothing out.  It may refuse its input, it may not crash, hang, leak or break
 * one of the promises it states with must().  Built with libFuzzer it searches
 * (make fuzz), built with replay.c it runs committed inputs (make corpus).
 */
#ifndef PAWL_TESTS_FUZZ_H
#define PAWL_TESTS_FUZZ_H

#include "pawl/types.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A promise of the code under test; broken: the input is a finding. */
#define must(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond))                                                                               \
            fuzz_broken(#cond, __FILE__, __LINE__);                                                \
    } while (0)
__attribute__((noreturn)) void fuzz_broken(const char *what, const char *file, int line);

/* Input read piece by piece; at its end every number is 0 and every text empty. */
struct feed {
    const uint8_t *at, *end;
};

static inline struct feed feed_of(const uint8_t *data, size_t size)
{
    return (struct feed){data, data + size};
}

uint8_t feed_byte(struct feed *f);
uint64_t feed_number(struct feed *f, unsigned bytes); /* 1..8, little end first */
/* A length of one byte and as many bytes, or what is left; a slice of the input. */
pawl_str feed_text(struct feed *f);
pawl_str feed_line(struct feed *f); /* up to a newline, which is eaten */
pawl_str feed_rest(struct feed *f);

/* A directory of this process, in memory where there is such; removed at exit. */
const char *fuzz_dir(void);
/* The path of a file in it; two live at a time. */
const char *fuzz_path(const char *name);
void fuzz_write(const char *path, pawl_str bytes);
/* Empty a directory, itself and a store's reserve kept. */
void fuzz_clear(const char *dir);
/* The whole file into mem; empty when there is none. */
pawl_str fuzz_read(const char *path, pawl_mem *mem);
/* Between these, what the code under test says on stderr goes nowhere (unless
 * PAWL_FUZZ_LOUD is set, to look at one input). */
void fuzz_hush(bool on);

#endif
