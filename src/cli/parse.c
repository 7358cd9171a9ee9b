/* SPDX-License-Identifier: MIT */
/*
 * cli/parse.c -- a command line becomes struct args.
 *
 * Split argv first (a flag may stand before the verb), then ask the verb which
 * flags it takes, then apply environment and command line in that order.
 * Called once, by pawl_main().
 */
#include "cli/flags.h"

#include "base/near.h"
#include "view/units.h"

#include <stdlib.h>
#include <string.h>

/* One flag as it was found. */
struct seen {
    const struct flag *flag; /* NULL: there is none of that name */
    const char *text;        /* the argument, for messages */
    const char *value;       /* NULL: none given */
    bool before_verb;
};

struct arg_scan {
    struct cli *cli;
    struct seen *seen;
    size_t count;
    bool verb_found;
};

/* Two verbs may have different flags with one name: prefer that of the verb, if it is known. */
static const struct flag *find_flag(const char *name, size_t len, const struct verb *verb)
{
    const struct flag *found = NULL;
    for (const struct flag *f = cli_flags; f->name; f++) {
        if (len == 1 ? f->letter != name[0] : strncmp(f->name, name, len) != 0 || f->name[len])
            continue;
        if (!found || (verb && (f->groups & verb->takes)))
            found = f;
    }
    return found;
}

static int refuse_choice(struct cli *cli, const struct flag *flag, const char *source,
                         const char *value)
{
    char words[200] = "";
    size_t n = 0;
    for (size_t i = 0; flag->words[i]; i++) {
        const char *link = i == 0 ? "" : flag->words[i + 1] ? ", " : " or ";
        n += (size_t)snprintf(words + n, sizeof(words) - n, "%s%s", link, flag->words[i]);
    }
    size_t count = 0;
    while (flag->words[count])
        count++;
    const char *near = nearest_word(value, flag->words, count);
    return cli_fail(cli, EXIT_USAGE, "%s takes %s, not '%s'%s%s%s", source, words, value,
                    near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int set_choice(struct cli *cli, const struct flag *flag, const char *source,
                      const char *value, void *field)
{
    for (int i = 0; flag->words[i]; i++) {
        if (strcmp(flag->words[i], value) != 0)
            continue;
        if (flag->kind == FLAG_EITHER)
            *(bool *)field = i == 1;
        else
            *(int *)field = i;
        return 0;
    }
    return refuse_choice(cli, flag, source, value);
}

static int set_switch(struct cli *cli, const char *source, const char *value, bool *field)
{
    static const char *const words[] = {"false", "true", "0", "1", "no", "yes", "off", "on"};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strcasecmp(words[i], value) != 0)
            continue;
        *field = i % 2 == 1;
        return 0;
    }
    return cli_fail(cli, EXIT_USAGE, "%s takes true or false, not '%s'", source, value);
}

static int set_size(struct cli *cli, const char *source, const char *value, size_t *field)
{
    uint64_t n;
    if (!parse_size(value, &n) || n == 0 || n > SIZE_MAX)
        return cli_fail(cli, EXIT_USAGE, "%s takes a size such as 64K, 2M or 1G, not '%s'", source,
                        value);
    *field = (size_t)n;
    return 0;
}

static int set_number(struct cli *cli, const struct flag *flag, const char *source,
                      const char *value, void *field)
{
    bool count = flag->kind == FLAG_COUNT;
    uint64_t n;
    if (!parse_count(value, count ? UINT32_MAX : INT64_MAX, &n))
        return cli_fail(cli, EXIT_USAGE, "%s takes a whole number, not '%s'", source, value);
    if (count && n == 0)
        return cli_fail(cli, EXIT_USAGE, "%s must be at least 1", source);
    if (count)
        *(uint32_t *)field = (uint32_t)n;
    else
        *(uint64_t *)field = n;
    return 0;
}

static int set_time(struct cli *cli, const struct flag *flag, const char *source, const char *value,
                    int64_t *field)
{
    if (!parse_duration(value, field))
        return cli_fail(cli, EXIT_USAGE,
                        "%s takes a duration with a unit, such as 500ms, 10s, 2h or 30d, not '%s'",
                        source, value);
    if (flag->kind == FLAG_LIMIT && *field == 0)
        *field = 1;
    return 0;
}

static int set_moment(struct cli *cli, const char *source, const char *value, int64_t *field)
{
    if (parse_time(value, field))
        return 0;
    return cli_fail(cli, EXIT_USAGE,
                    "%s takes a time such as 2026-01-31T09:30:00Z or 2026-01-31T09:30:00+01:00, "
                    "not '%s'",
                    source, value);
}

static int add_to_list(struct cli *cli, const char *source, const char *value,
                       struct cli_list *list)
{
    if (list->count == CLI_LIST_MAX)
        return cli_fail(cli, EXIT_USAGE, "%s was given more than %d times", source, CLI_LIST_MAX);
    list->items[list->count++] = value;
    return 0;
}

static int set_flag(struct cli *cli, const struct flag *flag, const char *source, const char *value)
{
    void *field = (char *)&cli->args + flag->at;
    switch (flag->kind) {
    case FLAG_TEXT:
        *(const char **)field = value;
        return 0;
    case FLAG_LIST:
        return add_to_list(cli, source, value, field);
    case FLAG_SWITCH:
        return set_switch(cli, source, value ? value : "true", field);
    case FLAG_EITHER:
    case FLAG_CHOICE:
        return set_choice(cli, flag, source, value, field);
    case FLAG_COUNT:
    case FLAG_NUMBER:
        return set_number(cli, flag, source, value, field);
    case FLAG_SIZE:
        return set_size(cli, source, value, field);
    case FLAG_MOMENT:
        return set_moment(cli, source, value, field);
    case FLAG_TIME:
    case FLAG_LIMIT:
        return set_time(cli, flag, source, value, field);
    }
    return 0;
}

/* PAWL_LOAD=a.so:b.so; PAWL_RAISE holds one event (its data may hold colons). */
static int set_list_from_environment(struct cli *cli, const struct flag *flag, const char *variable,
                                     const char *value)
{
    if (flag->at != offsetof(struct args, load))
        return set_flag(cli, flag, variable, value);
    while (*value) {
        size_t len = strcspn(value, ":");
        pawl_str part = pawl_mem_dup(cli->mem, (pawl_str){value, len});
        int status = len ? set_flag(cli, flag, variable, part.ptr) : 0;
        if (status)
            return status;
        value += len + (value[len] == ':');
    }
    return 0;
}

static int take_environment(struct cli *cli)
{
    for (const struct flag *f = cli_flags; f->name; f++) {
        char variable[64];
        const char *value =
            f->groups & cli->verb->takes ? getenv(flag_variable(f, variable)) : NULL;
        if (!value || !*value || f->at == offsetof(struct args, help))
            continue;
        int status = f->kind == FLAG_LIST ? set_list_from_environment(cli, f, variable, value)
                                          : set_flag(cli, f, variable, value);
        if (status)
            return status;
    }
    return 0;
}

static int refuse_unknown(struct cli *cli, const struct seen *seen)
{
    const char *names[FLAGS_MAX], *name = seen->text;
    size_t count = 0;
    for (const struct flag *f = cli_flags; f->name; f++)
        if (!cli->verb || f->groups & cli->verb->takes)
            names[count++] = f->name;
    name += strspn(name, "-");
    pawl_str bare = pawl_mem_dup(cli->mem, (pawl_str){name, strcspn(name, "=")});
    const char *near = nearest_word(bare.ptr, names, count);
    const char *verb = cli->verb ? cli->verb->name : "", *gap = cli->verb ? " " : "";
    if (near)
        return cli_fail(cli, EXIT_USAGE, "unknown flag '%s'; did you mean --%s?", seen->text, near);
    return cli_fail(cli, EXIT_USAGE, "unknown flag '%s'; see: %s %s%s--help", seen->text, cli->prog,
                    verb, gap);
}

/* `raise ID EVENT --data JSON` and `--data DIR` share a name.  Before the verb
 * it is the directory; after it, JSON is the event's data and a path is not JSON. */
static bool is_event_data(const struct cli *cli, const struct seen *seen)
{
    if (!(cli->verb->takes & TAKES_RAISE) ||
        seen->flag->at != offsetof(struct args, options.data) || seen->before_verb)
        return false;
    const char *value = seen->value;
    return strchr("{[\"@", value[0]) || strcmp(value, "-") == 0 ||
           pawl_json_valid(pawl_s(value), NULL);
}

static void note_given(struct args *args, size_t at)
{
    args->url_given |= at == offsetof(struct args, url);
    args->load_given |= at == offsetof(struct args, load);
    args->store_given |=
        at == offsetof(struct args, options.data) || at == offsetof(struct args, options.store);
}

/* A server or a directory: a flag for one beats a variable for the other. */
static void settle_where(struct cli *cli)
{
    struct args *args = &cli->args;
    if (!(cli->verb->takes & TAKES_URL) || args->url_given == args->store_given)
        return;
    if (args->url_given)
        args->options.data = args->options.store = NULL;
    else
        args->url = NULL;
}

static int take_command_line(struct arg_scan *scan)
{
    struct cli *cli = scan->cli;
    for (size_t i = 0; i < scan->count; i++) {
        const struct seen *seen = &scan->seen[i];
        if (!(seen->flag->groups & cli->verb->takes))
            return cli_fail(cli, EXIT_USAGE, "'%s' does not take %s; see: %s %s --help",
                            cli->verb->name, seen->text, cli->prog, cli->verb->name);
        if (!seen->value && seen->flag->kind != FLAG_SWITCH)
            return cli_fail(cli, EXIT_USAGE, "%s needs a value: %s %s", seen->text, seen->text,
                            seen->flag->value);
        if (is_event_data(cli, seen)) {
            cli->args.payload = seen->value;
            continue;
        }
        note_given(&cli->args, seen->flag->at);
        cli->given[cli->given_count++] = seen->flag;
        char source[64];
        snprintf(source, sizeof(source), "--%s", seen->flag->name);
        int status = set_flag(cli, seen->flag, source, seen->value);
        if (status)
            return status;
    }
    return 0;
}

/* Flags given on the command line replace what the environment said. */
static void forget_lists(struct arg_scan *scan)
{
    for (size_t i = 0; i < scan->count; i++)
        if (scan->seen[i].flag->kind == FLAG_LIST) {
            void *field = (char *)&scan->cli->args + scan->seen[i].flag->at;
            ((struct cli_list *)field)->count = 0;
        }
}

static void take_word(struct arg_scan *scan, const char *word)
{
    struct cli *cli = scan->cli;
    if (scan->verb_found) {
        cli->words[cli->word_count++] = word;
        return;
    }
    scan->verb_found = true;
    for (const struct verb *v = cli_verbs; v->name; v++)
        if (strcmp(v->name, word) == 0)
            cli->verb = v;
    if (!cli->verb)
        cli->words[cli->word_count++] = word; /* kept for the message */
}

/* Returns how many arguments the flag took. */
static int take_flag(struct arg_scan *scan, char **argv)
{
    const char *text = argv[0], *name = text + (text[1] == '-' ? 2 : 1);
    size_t len = strcspn(name, "=");
    struct seen *seen = &scan->seen[scan->count++];
    pawl_str shown = pawl_mem_dup(scan->cli->mem, (pawl_str){text, (size_t)(name - text) + len});
    *seen = (struct seen){.text = shown.ptr, .before_verb = !scan->verb_found};
    bool letter = text[1] != '-';
    seen->flag = letter == (len == 1) ? find_flag(name, len, scan->cli->verb) : NULL;
    if (name[len] == '=')
        seen->value = name + len + 1;
    else if (seen->flag && seen->flag->kind != FLAG_SWITCH && argv[1]) {
        seen->value = argv[1];
        return 2;
    }
    return 1;
}

/* After the name of a queue: a lock id that begins with a dash.  No flag looks like that. */
static bool is_lock_id(const struct arg_scan *scan, const char *arg)
{
    const struct cli *cli = scan->cli;
    return cli->verb && (cli->verb->takes & TAKES_QUEUE) && cli->word_count >= 2 && arg[1] != '-' &&
           arg[2] && arg[2] != '=';
}

static void split(struct arg_scan *scan, char **argv)
{
    while (*argv) {
        const char *arg = *argv;
        if (strcmp(arg, "--") == 0) {
            while (*++argv)
                take_word(scan, *argv);
            return;
        }
        if (arg[0] == '-' && arg[1] && !is_lock_id(scan, arg)) {
            argv += take_flag(scan, argv);
            continue;
        }
        take_word(scan, arg);
        argv++;
    }
}

int flags_parse(struct cli *cli, int argc, char **argv)
{
    size_t room = (size_t)argc + 1;
    struct arg_scan scan = {.cli = cli};
    scan.seen = pawl_mem_alloc(cli->mem, room * sizeof(*scan.seen));
    cli->words = pawl_mem_alloc(cli->mem, room * sizeof(*cli->words));
    cli->given = pawl_mem_alloc(cli->mem, room * sizeof(*cli->given));
    split(&scan, argv + 1);
    for (size_t i = 0; i < scan.count; i++)
        if (scan.seen[i].flag && scan.seen[i].flag->at == offsetof(struct args, help)) {
            cli->args.help = true;
            return 0;
        }
    for (size_t i = 0; i < scan.count; i++)
        if (!scan.seen[i].flag)
            return refuse_unknown(cli, &scan.seen[i]);
    if (!cli->verb)
        return 0; /* the caller prints the error */
    int status = take_environment(cli);
    if (status)
        return status;
    forget_lists(&scan);
    status = take_command_line(&scan);
    settle_where(cli);
    return status;
}
