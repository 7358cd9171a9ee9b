/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz_cli.c -- a command line, one argument a line.
 *
 * Parsed as pawl_main() does; help and refusals are made too.  An accepted line
 * has a verb or asks for help, and nothing points outside the arguments.
 */
#include "cli/cli.h"
#include "cli/flags.h"
#include "fuzz.h"

#include <string.h>

#define ARGS_MAX 40

static void check_args(struct cli *cli)
{
    const struct args *a = &cli->args;
    must(cli->verb || a->help || cli->word_count == 0 || cli->words[0]);
    must(a->load.count <= CLI_LIST_MAX && a->raise.count <= CLI_LIST_MAX);
    must(a->timeout_ms >= -1 && a->older_than_ms >= -1 && a->ttl_ms >= 0 && a->wait_ms >= 0);
    if (cli->verb) {
        FILE *nowhere = fopen("/dev/null", "we");
        help_verb(cli, cli->verb, nowhere);
        help_all(cli, nowhere);
        fclose(nowhere);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = feed_of(data, size);
    struct cli cli = {.prog = "pawl", .mem = pawl_mem_new()};
    char *argv[ARGS_MAX + 2] = {NULL};
    char name[] = "pawl";
    int argc = 0;
    cli.args = (struct args){.options = {.size = sizeof(pawl_options)},
                             .log_level = -1,
                             .timeout_ms = -1,
                             .older_than_ms = -1};
    argv[argc++] = name;
    while (f.at < f.end && argc < ARGS_MAX) {
        pawl_str line = feed_line(&f);
        argv[argc] = pawl_mem_alloc(cli.mem, line.len + 1);
        memcpy(argv[argc], line.ptr, line.len);
        argv[argc++][line.len] = 0;
    }
    fuzz_hush(true); /* its complaints are many */
    int status = flags_parse(&cli, argc, argv);
    fuzz_hush(false);
    if (status == 0)
        check_args(&cli);
    else
        must(status == EXIT_USAGE);
    pawl_mem_free(cli.mem);
    return 0;
}
