/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/replay.c -- run a fuzz target on files: the main of `make corpus`.
 *
 *     fuzz_json FILE-OR-DIRECTORY …
 *
 * Each input lies in memory of exactly its size, so that a byte read beyond it is
 * seen by the address sanitizer.  The name of the input is on stderr before it
 * runs: whoever dies is known.
 */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int passed;

static void run_file(const char *path)
{
    FILE *f = fopen(path, "rbe");
    if (!f || fseek(f, 0, SEEK_END) != 0) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(2);
    }
    size_t n = (size_t)ftell(f);
    uint8_t *bytes = malloc(n ? n : 1);
    rewind(f);
    if (!bytes || fread(bytes, 1, n, f) != n)
        exit(2);
    fclose(f);
    (void)alarm(60); /* one that hangs is a failure */
    fprintf(stderr, "%s\n", path);
    (void)LLVMFuzzerTestOneInput(bytes, n);
    free(bytes);
    passed++;
}

static void run_dir(const char *path)
{
    struct dirent **names;
    int count = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char file[600];
        (void)snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.')
            run_file(file);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    else
        run_file(path);
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    for (int i = 1; i < argc; i++)
        run_dir(argv[i]);
    printf("%s: %d passed, %d failed\n", slash ? slash + 1 : argv[0], passed, passed == 0);
    return passed == 0;
}
