/* SPDX-License-Identifier: MIT */
/*
 * cli/flags.h -- the table of flags, and how a command line becomes struct args.
 *
 * `--flag value` and `--flag=value` mean the same; a switch stands alone or
 * takes =true or =false; `--` ends the flags.  Every flag but --help can come
 * from the environment as PAWL_<FLAG>; the command line wins.
 */
#ifndef PAWL_CLI_FLAGS_H
#define PAWL_CLI_FLAGS_H

#include "cli/cli.h"

enum flag_kind {
    FLAG_TEXT,   /* const char * */
    FLAG_LIST,   /* struct cli_list; may be repeated, ':' separates in the environment */
    FLAG_SWITCH, /* bool */
    FLAG_EITHER, /* bool: the second of two words is true */
    FLAG_CHOICE, /* int: index into words */
    FLAG_COUNT,  /* uint32_t, at least 1 */
    FLAG_NUMBER, /* uint64_t */
    FLAG_SIZE,   /* size_t, at least 1 */
    FLAG_TIME,   /* int64_t milliseconds */
    FLAG_MOMENT, /* int64_t milliseconds since 1970 */
    FLAG_LIMIT,  /* the same as FLAG_TIME, and 0 becomes 1: the library takes 0 for its default */
};

struct flag {
    const char *name;
    char letter; /* 0: none */
    enum flag_kind kind;
    size_t at;                /* in struct args */
    const char *value;        /* its name in help; NULL for a switch */
    const char *const *words; /* of a choice; NULL-terminated */
    uint64_t groups;
    const char *help;
};

#define FLAGS_MAX 192
extern const struct flag cli_flags[]; /* ends with a row without a name */

/* PAWL_MAX_PAYLOAD for --max-payload. */
const char *flag_variable(const struct flag *flag, char out[64]);

/* Fill in cli->verb, args and words.  Returns 0, or an exit status: the error
 * was printed. */
int flags_parse(struct cli *cli, int argc, char **argv);

#endif
