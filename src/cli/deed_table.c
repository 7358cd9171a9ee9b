/* SPDX-License-Identifier: MIT */
/*
 * cli/deed_table.c -- find the row for the words of a command line, and check its words and flags.
 *
 * Also the paths of the rows' requests to a server.
 */
#include "base/near.h"
#include "cli/deed.h"
#include "cli/flags.h"

#include <string.h>

/* "ls, push, … or rm" */
static const char *all_words(struct cli *cli, const struct deed *deeds, size_t count)
{
    const char *text = "";
    for (size_t i = 0; i < count; i++)
        text = pawl_mem_printf(cli->mem, "%s%s%s", text,
                               i == 0          ? ""
                               : i + 1 < count ? ", "
                                               : " or ",
                               deeds[i].word)
                   .ptr;
    return text;
}

static int refuse_deed(struct cli *cli, const struct deed *deeds, size_t count)
{
    const char *verb = cli->verb->name, *names[DEEDS_MAX] = {NULL};
    for (size_t i = 0; i < count; i++)
        names[i] = deeds[i].word;
    const char *near = nearest_word(cli->words[0], names, count);
    if (near)
        return cli_fail(cli, EXIT_USAGE, "unknown verb '%s %s'; did you mean '%s %s'?", verb,
                        cli->words[0], verb, near);
    return cli_fail(cli, EXIT_USAGE, "say what: %s; see: %s %s --help",
                    all_words(cli, deeds, count), cli->prog, verb);
}

static bool takes(const struct deed *deed, const char *flag)
{
    size_t n = strlen(flag);
    for (const char *at = deed->flags; (at = strstr(at, flag)); at += n)
        if ((at == deed->flags || at[-1] == ' ') && (!at[n] || at[n] == ' '))
            return true;
    return false;
}

/* Refuse the flag of another row, which would otherwise be ignored. */
static int check_deed(struct cli *cli, const struct deed *deed, uint64_t group)
{
    const char *verb = cli->verb->name;
    if (cli->word_count < deed->min || cli->word_count > deed->max)
        return cli_fail(cli, EXIT_USAGE, "write: %s %s %s%s%s; see: %s %s --help", cli->prog, verb,
                        deed->word, deed->usage[0] ? " " : "", deed->usage, cli->prog, verb);
    for (size_t i = 0; i < cli->given_count; i++) {
        const struct flag *f = cli->given[i];
        if (!(f->groups & group) || takes(deed, f->name))
            continue;
        if (!deed->flags[0])
            return cli_fail(cli, EXIT_USAGE, "'%s %s' does not take --%s", verb, deed->word,
                            f->name);
        return cli_fail(cli, EXIT_USAGE, "'%s %s' does not take --%s; it takes: %s", verb,
                        deed->word, f->name, deed->flags);
    }
    if (cli->args.all && cli->args.limit)
        return cli_fail(cli, EXIT_USAGE, "--all and --limit contradict each other; give one");
    return 0;
}

int deed_find(struct cli *cli, const struct deed *deeds, size_t count, uint64_t group,
              const struct deed **ret)
{
    assert_that(count <= DEEDS_MAX);
    for (size_t i = 0; i < count; i++)
        if (strcmp(deeds[i].word, cli->words[0]) == 0) {
            *ret = &deeds[i];
            return check_deed(cli, &deeds[i], group);
        }
    return refuse_deed(cli, deeds, count);
}

int deed_run(struct cli *cli, const struct deed *deed)
{
    struct session session;
    int status = session_open(cli, SESSION_LOOK, &session);
    if (status)
        return status;
    status = deed->run(cli, &session, deed);
    session_close(&session);
    return status;
}

/* ---- Paths ---------------------------------------------------------------------------- */

pawl_str deed_with(struct cli *cli, pawl_str path, const char *key, const char *value)
{
    return pawl_mem_printf(cli->mem, "%.*s%c%s=%s", PAWL_FMT(path),
                           memchr(path.ptr, '?', path.len) ? '&' : '?', key,
                           http_escape(cli->mem, value).ptr);
}

pawl_str deed_with_number(struct cli *cli, pawl_str path, const char *key, uint64_t n)
{
    return deed_with(cli, path, key, pawl_mem_printf(cli->mem, "%llu", (unsigned long long)n).ptr);
}
