/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz_files.c -- the small files of a data directory.
 *
 * First byte: which file.  `tokens` is read by the server and by `pawl token`,
 * `slots` by the next start, `lock` by whoever wants to know the owner.
 */
#include "fuzz.h"
#include "pawl/server.h"
#include "runtime/core/slots.h"
#include "server/server.h"
#include "store/lock.h"

#include <string.h>

static void try_tokens(pawl_str bytes)
{
    const char *file = fuzz_path("tokens");
    pawl_mem *mem = pawl_mem_new();
    const pawl_token_info *list = NULL;
    size_t count = 0, kept = 0;
    pawl_error err = {0};
    fuzz_write(file, bytes);
    const struct logger quiet = {.level = PAWL_LOG_ERROR};
    struct tokens *t = tokens_open(file, &quiet, NULL);
    must(t);
    (void)tokens_exist(t, &err);
    struct call call = {.mem = mem};
    enum token_scope scope = SCOPE_PUBLIC;
    /* nobody gets in by a file of noise: the hash of this one is not in it */
    (void)tokens_check(t, "pawl_0123abcd_feedfacefeedface", &call, &scope);
    must(scope == SCOPE_PUBLIC && !call.caller.token[0]);
    (void)tokens_check(t, "", &call, &scope);
    must(scope == SCOPE_PUBLIC && !call.caller.token[0]);
    tokens_close(t);
    err = (pawl_error){0};
    if (pawl_token_list(file, mem, &list, &count, &err) == PAWL_OK && count) {
        char token[PAWL_TOKEN_BYTES];
        must(strlen(list[0].id) < sizeof(list[0].id));
        /* with a line that is no token: refused, and nothing is dropped */
        bool made = pawl_token_new(file, "read", "q-", "n", 1, token, &err) == PAWL_OK;
        must(made || err.text[0]);
        must(pawl_token_list(file, mem, &list, &kept, &err) == PAWL_OK && kept == count + made);
        must(!made || pawl_token_revoke(file, list[count].id, &err) == PAWL_OK);
    } else {
        must(err.text[0] || !count);
    }
    pawl_mem_free(mem);
}

static void try_slots(pawl_str bytes)
{
    static struct slots_past past;
    fuzz_write(fuzz_path("slots"), bytes);
    struct slots *s = slots_open(fuzz_dir(), &past);
    must(s && past.work_count <= SLOTS_WORKERS);
    must(past.unclean || (!past.work_count && !past.turn_uid));
    slots_close(s, true);
    s = slots_open(fuzz_dir(), &past);
    must(s && !past.unclean);
    slots_close(s, true);
}

static void try_lock(pawl_str bytes)
{
    pawl_error err = {0};
    fuzz_write(fuzz_path("lock"), bytes);
    int fd = lock_open(fuzz_dir(), &err);
    must(fd >= 0);
    lock_close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = feed_of(data, size);
    uint8_t which = feed_byte(&f);
    pawl_str bytes = feed_rest(&f);
    if (which % 4 < 2)
        try_tokens(bytes);
    else if (which % 4 == 2)
        try_slots(bytes);
    else
        try_lock(bytes);
    return 0;
}
