/* SPDX-License-Identifier: MIT */
/*
 * cli/help.c -- help out of the tables, so that it cannot be out of date.
 */
#include "base/near.h"
#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/out.h"
#include "pawl/sqlite.h"

#include <string.h>

#define FLAG_COLUMN 32 /* where the help of a flag begins */
#define VERB_COLUMN 26 /* what a verb and its words may take in the list */

/* Examples say {} where the program's name goes. */
static void print_examples(const struct cli *cli, const char *text, FILE *to)
{
    for (const char *hole; (hole = strstr(text, "{} ")); text = hole + 2)
        fprintf(to, "%.*s%s", (int)(hole - text), text, cli->prog);
    fputs(text, to);
}

/* Words from column `at` on, with lines of at most 80 columns indented to `indent`. */
static void print_wrapped(const char *text, size_t at, size_t indent, FILE *to)
{
    while (*text) {
        size_t len = strcspn(text, " ");
        if (at > indent && at + 1 + len > 80) {
            fprintf(to, "\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            fputc(' ', to);
            at++;
        }
        fprintf(to, "%.*s", (int)len, text);
        at += len;
        text += len;
        text += strspn(text, " ");
    }
    fputc('\n', to);
}

static void print_flag(const struct flag *flag, FILE *to)
{
    char letter[8] = "    ";
    if (flag->letter)
        snprintf(letter, sizeof(letter), "-%c, ", flag->letter);
    int n = fprintf(to, "  %s--%s%s%s", letter, flag->name, flag->value ? " " : "",
                    flag->value ? flag->value : "");
    if (n >= FLAG_COLUMN - 1)
        n = fprintf(to, "\n") - 1;
    fprintf(to, "%*s", FLAG_COLUMN - n, "");
    print_wrapped(flag->help, FLAG_COLUMN, FLAG_COLUMN, to);
}

static void print_flags(const struct verb *verb, uint64_t groups, const char *title, FILE *to)
{
    bool any = false;
    for (const struct flag *f = cli_flags; f->name; f++) {
        if (!(f->groups & verb->takes) || !!(f->groups & TAKES_ENGINE) != !!(groups & TAKES_ENGINE))
            continue;
        if (!any)
            fprintf(to, "\n%s\n", title);
        any = true;
        print_flag(f, to);
    }
}

void help_verb(const struct cli *cli, const struct verb *verb, FILE *to)
{
    fprintf(to, "%s%s %s%s%s [flags]%s\n", out_begin(cli, to, TONE_BOLD), cli->prog, verb->name,
            verb->words[0] ? " " : "", verb->words, out_end(cli, to));
    bool asks = verb->summary[strlen(verb->summary) - 1] == '?';
    fprintf(to, "\n%c%s%s\n", verb->summary[0] & ~0x20, verb->summary + 1, asks ? "" : ".");
    if (verb->about[0])
        print_wrapped(verb->about, 0, 0, to);
    print_flags(verb, 0, "Flags:", to);
    print_flags(verb, TAKES_ENGINE, "Flags of the engine:", to);
    fputs("\nEvery flag has an environment variable: --max-payload is PAWL_MAX_PAYLOAD.\n", to);
    fputs("\nExamples:\n", to);
    print_examples(cli, verb->examples, to);
}

/* Choices that do not fit into the list of verbs have a name there. */
static const char *brief_words(const struct verb *verb)
{
    if (strlen(verb->name) + 1 + strlen(verb->words) <= VERB_COLUMN)
        return verb->words;
    return verb->takes & TAKES_BENCH ? "WORKLOAD" : "VERB";
}

void help_all(const struct cli *cli, FILE *to)
{
    fprintf(to,
            "%s%s%s -- durable execution: a step that was recorded is never lost and never redone\n"
            "\nusage: %s VERB [flags]\n\n",
            out_begin(cli, to, TONE_BOLD), cli->prog, out_end(cli, to), cli->prog);
    for (const struct verb *v = cli_verbs; v->name; v++) {
        char left[40];
        snprintf(left, sizeof(left), "%s %s", v->name, brief_words(v));
        fprintf(to, "  %-*s %s\n", VERB_COLUMN, left, v->summary);
    }
    fprintf(to,
            "\nData is kept in ./pawl-data; --data DIR or PAWL_DATA names another directory.\n"
            "Exit status: 0 ok, 1 the instance failed, 2 usage, 3 no store, 4 not found or\n"
            "conflict, 5 time-out, 75 commit outcome unknown (run it again).\n"
            "More: %s help VERB\n",
            cli->prog);
}

int verb_help(struct cli *cli)
{
    if (cli->word_count == 0) {
        help_all(cli, stdout);
        return EXIT_OK;
    }
    const char *names[64], *near;
    size_t count = 0;
    for (const struct verb *v = cli_verbs; v->name; v++) {
        if (strcmp(v->name, cli->words[0]) == 0) {
            help_verb(cli, v, stdout);
            return EXIT_OK;
        }
        names[count++] = v->name;
    }
    near = nearest_word(cli->words[0], names, count);
    return cli_fail(cli, EXIT_USAGE, "unknown verb '%s'; %s%s%s", cli->words[0],
                    near ? "did you mean '" : "see: ", near ? near : cli->prog,
                    near ? "'?" : " help");
}

int verb_version(struct cli *cli)
{
    if (cli->args.output == OUTPUT_TABLE) {
        printf("pawl %s (SQLite %s)\n", PAWL_VERSION, pawl_sqlite_version());
        return EXIT_OK;
    }
    pawl_json *w = pawl_json_new(cli->mem);
    pawl_json_object(w);
    pawl_json_key(w, "version");
    pawl_json_cstr(w, PAWL_VERSION);
    pawl_json_key(w, "sqlite");
    pawl_json_cstr(w, pawl_sqlite_version());
    pawl_json_key(w, "module_abi");
    pawl_json_num(w, PAWL_MODULE_ABI);
    pawl_json_end(w);
    out_json(cli, w);
    return EXIT_OK;
}
