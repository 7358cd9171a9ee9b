/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz_database.c -- a database file with wrong bytes in it.
 *
 * The input is damage: a page, a place in it, bytes; or the file's length.  Whoever
 * opens the file refuses it with a text, or works with what can be read: never a
 * crash, never a hang.
 */
#include "fuzz.h"
#include "used.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096

static pawl_str whole; /* the file as it was */
static char store[300];

static void need_database(void)
{
    if (whole.ptr)
        return;
    (void)snprintf(store, sizeof(store), "sqlite:%s", fuzz_path("pawl.db"));
    used_make(store, fuzz_dir());
    static pawl_mem *volatile kept; /* never read: but the leak checker looks for it here */
    kept = pawl_mem_new();
    whole = fuzz_read(fuzz_path("pawl.db"), kept);
    must(whole.len > 10 * PAGE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = feed_of(data, size);
    need_database();
    fuzz_clear(fuzz_dir());
    char *file = malloc(whole.len);
    size_t len = whole.len;
    memcpy(file, whole.ptr, len);
    while (f.at < f.end) {
        size_t page = feed_byte(&f), at = (page * PAGE + feed_number(&f, 2) % PAGE) % whole.len;
        pawl_str bytes = feed_text(&f);
        if (!bytes.len)
            len = at;
        else
            memcpy(file + at, bytes.ptr, bytes.len < whole.len - at ? bytes.len : whole.len - at);
    }
    fuzz_write(fuzz_path("pawl.db"), (pawl_str){file, len});
    free(file);
    used_use(store, fuzz_dir());
    return 0;
}
