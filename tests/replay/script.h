/* SPDX-License-Identifier: MIT */
/*
 * tests/replay/script.h -- the small language of replay scripts.
 *
 * A script is lines of words.  "…" is one word (\n \" \\ \xNN inside), x*300 is
 * 300 times x, '# ' begins a comment.  A line `program NAME` opens a program;
 * its lines go to the next line without indentation.  Everything else is a
 * directive: see README in this directory for all of them.
 */
#ifndef PAWL_TESTS_REPLAY_SCRIPT_H
#define PAWL_TESTS_REPLAY_SCRIPT_H

#include "engine/engine.h"

#define WORDS_MAX    24
#define LINES_MAX    2000
#define PROGRAMS_MAX 12

struct line {
    int number;
    bool indented;
    int count;
    pawl_str words[WORDS_MAX];
};

struct program {
    const char *name;
    const struct line *lines;
    int count;
};

struct script {
    const char *path;
    pawl_mem *mem; /* owned: all words */
    struct line lines[LINES_MAX];
    int count;
    struct program programs[PROGRAMS_MAX];
    int program_count;
};

/* Read a script; exits the test with a message when it cannot be read. */
struct script *script_read(const char *path);
void script_free(struct script *s);
const struct program *script_program(const struct script *s, pawl_str name);
/* The word after `prefix` among the words of a line from `from` on; NULL ptr when absent. */
pawl_str line_option(const struct line *l, int from, const char *prefix);
bool line_has(const struct line *l, int from, const char *word);
int64_t word_number(pawl_str word);

/* The orchestration that runs a struct program (pawl_user). */
pawl_result program_run(pawl_ctx *ctx, pawl_str input);
/* How often program_run() was entered in this process. */
extern int program_entries;

/* Run the directives of a script; fails the test with file and line. */
void runner_run(const char *path);

void script_fail(const struct script *s, const struct line *l, const char *format, ...)
    PAWL_PRINTF(3, 4) __attribute__((noreturn));

#endif
