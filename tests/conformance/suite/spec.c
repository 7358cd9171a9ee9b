/* SPDX-License-Identifier: MIT */
/*
 * suite/spec.c -- interleavings of two or three engines, written as text.
 *
 *     # clauses T3 T4                 what it is about
 *     a   take
 *     a   start order-1
 *     a   mail order-1 hello
 *     a   fetch            -> hello
 *     b   take
 *     b   fetch            -> hello
 *     a   append order-1 x -> fenced  what a commit says; without "->": ok
 *     clock +31s
 *     die                             the process dies, the data is opened again
 *
 * An actor (a, b, c) is an engine: it has its own fence and its own idea of every
 * instance, as of its last successful round or `look`.  `lost` before a verb lets
 * its commit happen and its reply get lost.  An actor that joins is a lane beside the others, with
 * a handle of its own.  docs/internals/store.md has the verbs.
 */
#include "suite.h"

#include "store/fault/fault.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACTORS    3
#define NAMES_MAX 16
#define WORDS_MAX 8

struct named {
    char name[64];
    uint64_t id;            /* message or work */
    pawl_row views[ACTORS]; /* instance, as each actor knows it */
};

struct spec {
    struct probe *t;
    pawl_fence fences[ACTORS];
    pawl_store *stores[ACTORS]; /* of actors that joined; NULL: the first one */
    struct named names[NAMES_MAX];
    size_t name_count;
    int actor;
    bool lost;
    char *words[WORDS_MAX]; /* of the line, after the actor */
    size_t count;
};

typedef const char *verb_fn(struct spec *s);

static struct named *named(struct spec *s, const char *name)
{
    struct probe *t = s->t;
    for (size_t i = 0; i < s->name_count; i++) {
        if (strcmp(s->names[i].name, name) == 0)
            return &s->names[i];
    }
    CHECK(s->name_count < NAMES_MAX);
    struct named *n = &s->names[s->name_count++];
    snprintf(n->name, sizeof(n->name), "%s", name);
    return n;
}

static const char *word(struct spec *s, size_t i)
{
    struct probe *t = s->t;
    CHECK(i < s->count);
    return s->words[i];
}

static pawl_row *view(struct spec *s, size_t i)
{
    return &named(s, word(s, i))->views[s->actor];
}

/* "+31s", "+5" (ms), "" when there is no such word. */
static int64_t span(struct spec *s, size_t i)
{
    if (i >= s->count)
        return 0;
    char *end;
    int64_t n = strtoll(s->words[i], &end, 10);
    return *end == 's' ? n * 1000 : n;
}

static int64_t later(struct spec *s, size_t i)
{
    return i < s->count ? s->t->now + span(s, i) : 0;
}

static struct fault after(void *user, enum fault_op op, uint64_t call)
{
    (void)user, (void)call;
    return (struct fault){.kind = op == FAULT_OP_commit ? FAULT_AFTER : FAULT_NONE,
                          .status = PAWL_UNKNOWN};
}

static const char *say(struct spec *s, struct draft *d)
{
    struct probe *t = s->t;
    if (s->lost)
        t->store = fault_store(t->store, after, NULL);
    pawl_status status = commit(d);
    if (s->lost)
        t->store = fault_store_release(t->store);
    return pawl_status_code(status);
}

static const char *do_take(struct spec *s)
{
    take(s->t);
    return "ok";
}

static const char *do_start(struct spec *s)
{
    struct draft *d = insert(s->t, word(s, 1));
    d->row.shard = s->count > 2 ? (uint32_t)atoi(word(s, 2)) : 0;
    d->from = view(s, 1);
    return say(s, d);
}

static const char *do_append(struct spec *s)
{
    struct draft *d = change(s->t, view(s, 1));
    draft_event(d, word(s, 2));
    return say(s, d);
}

static const char *do_continue(struct spec *s)
{
    struct draft *d = change_all(s->t, view(s, 1));
    draft_continue(d, word(s, 2));
    return say(s, d);
}

static const char *do_remove(struct spec *s)
{
    return say(s, remove_round(s->t, view(s, 1)));
}

static const char *do_purge(struct spec *s)
{
    purge_all(s->t);
    return "ok";
}

static const char *do_look(struct spec *s)
{
    pawl_row row = find(s->t, word(s, 1)), *mine = view(s, 1);
    *mine = row;
    return row.uid ? "ok" : "not_found";
}

static const char *do_mail(struct spec *s)
{
    struct draft *d = free_round(s->t);
    uint64_t id = draft_message(d, (pawl_message){.uid = view(s, 1)->uid,
                                                  .shard = view(s, 1)->shard,
                                                  .data = pawl_s(word(s, 2)),
                                                  .visible_ms = later(s, 3)});
    named(s, word(s, 2))->id = id;
    const char *said = say(s, d);
    s->t->store->ops->abandon_messages(s->t->store, &id, 1);
    return said;
}

static const char *do_work(struct spec *s)
{
    struct draft *d = change(s->t, view(s, 1));
    uint64_t id = draft_scheduled(d, word(s, 2));
    d->work[0].visible_ms = later(s, 3);
    named(s, word(s, 2))->id = id;
    return say(s, d);
}

/* A worker's completion: ack the work, append the result. */
static const char *do_done(struct spec *s)
{
    struct draft *d = change(s->t, view(s, 1));
    draft_need_work(d, named(s, word(s, 2))->id);
    draft_event(d, word(s, 3));
    return say(s, d);
}

static const char *do_drop(struct spec *s)
{
    struct draft *d = free_round(s->t);
    draft_drop_message(d, named(s, word(s, 1))->id);
    draft_drop_work(d, named(s, word(s, 1))->id);
    return say(s, d);
}

static const char *do_delay(struct spec *s)
{
    struct draft *d = free_round(s->t);
    uint64_t id = named(s, word(s, 1))->id;
    draft_update_message(d, (pawl_message_update){.id = id, .visible_ms = later(s, 2)});
    draft_update_work(d, (pawl_work_update){.id = id, .visible_ms = later(s, 2)});
    return say(s, d);
}

static const char *do_lease(struct spec *s)
{
    struct draft *d = free_round(s->t);
    draft_update_work(d, (pawl_work_update){.id = named(s, word(s, 1))->id,
                                            .lock_token = pawl_s(word(s, 2)),
                                            .lock_until_ms = later(s, 3)});
    return say(s, d);
}

static const char *do_abandon(struct spec *s)
{
    uint64_t id = named(s, word(s, 1))->id;
    s->t->store->ops->abandon_messages(s->t->store, &id, 1);
    s->t->store->ops->abandon_work(s->t->store, &id, 1);
    return "ok";
}

static const char *do_fetch(struct spec *s)
{
    return fetch(s->t, 100);
}
static const char *do_jobs(struct spec *s)
{
    return fetch_jobs(s->t, 100);
}

static const char *do_history(struct spec *s)
{
    pawl_row row = find(s->t, word(s, 1));
    uint64_t execution = s->count > 2 ? (uint64_t)span(s, 2) : row.execution;
    return history(s->t, row.uid, execution);
}

static const char *do_mailbox(struct spec *s)
{
    return mailbox(s->t, find(s->t, word(s, 1)).uid, NULL);
}

/* ---- Lanes ---------------------------------------------------------------- */

static const char *do_join(struct spec *s)
{
    if (!s->stores[s->actor])
        s->stores[s->actor] = another(s->t).store;
    s->t->store = s->stores[s->actor];
    return pawl_status_code(shared(s->t)->join(s->t->store, 0, s->t->now, &s->t->fence, NULL));
}

static uint64_t shard_at(struct spec *s, size_t i)
{
    return UINT64_C(1) << atoi(word(s, i));
}

/* The epoch of the actor that the word names; "free": of none. */
static uint64_t epoch_at(struct spec *s, size_t i)
{
    struct probe *t = s->t;
    const char *who = word(s, i);
    if (strcmp(who, "free") == 0)
        return 0;
    CHECK(who[0] >= 'a' && who[0] < 'a' + ACTORS && !who[1]);
    return s->fences[who[0] - 'a'].epoch;
}

static const char *do_claim(struct spec *s)
{
    return pawl_status_code(shared(s->t)->claim(s->t->store, &s->t->fence, shard_at(s, 1), NULL));
}

static const char *do_adopt(struct spec *s)
{
    return pawl_status_code(shared(s->t)->adopt(s->t->store, &s->t->fence, NULL));
}

static const char *do_give(struct spec *s)
{
    return pawl_status_code(
        shared(s->t)->give(s->t->store, &s->t->fence, shard_at(s, 1), epoch_at(s, 2), NULL));
}

static const char *do_leave(struct spec *s)
{
    return pawl_status_code(shared(s->t)->leave(s->t->store, &s->t->fence, NULL));
}

static const char *do_bury(struct spec *s)
{
    return pawl_status_code(shared(s->t)->bury(s->t->store, epoch_at(s, 1), s->t->now, NULL));
}

static const char *do_hint(struct spec *s)
{
    hint(s->t, PAWL_SHARDS_ALL);
    return "ok";
}

/* A message goes where its instance is. */
static const char *do_relabel(struct spec *s)
{
    struct draft *d = free_round(s->t);
    draft_update_message(d, (pawl_message_update){.id = named(s, word(s, 1))->id,
                                                  .relabel = true,
                                                  .shard = (uint32_t)atoi(word(s, 2))});
    return say(s, d);
}

static const struct {
    const char *name;
    verb_fn *run;
} verbs[] = {
    {"take",     do_take    },
    {"start",    do_start   },
    {"append",   do_append  },
    {"continue", do_continue},
    {"remove",   do_remove  },
    {"purge",    do_purge   },
    {"look",     do_look    },
    {"mail",     do_mail    },
    {"work",     do_work    },
    {"done",     do_done    },
    {"drop",     do_drop    },
    {"delay",    do_delay   },
    {"lease",    do_lease   },
    {"abandon",  do_abandon },
    {"fetch",    do_fetch   },
    {"jobs",     do_jobs    },
    {"history",  do_history },
    {"mailbox",  do_mailbox },
    {"join",     do_join    },
    {"claim",    do_claim   },
    {"adopt",    do_adopt   },
    {"give",     do_give    },
    {"leave",    do_leave   },
    {"bury",     do_bury    },
    {"hint",     do_hint    },
    {"relabel",  do_relabel },
};

static const char *run_verb(struct spec *s)
{
    struct probe *t = s->t;
    s->lost = strcmp(word(s, 0), "lost") == 0;
    if (s->lost) {
        memmove(s->words, s->words + 1, (WORDS_MAX - 1) * sizeof(s->words[0]));
        s->count--;
    }
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(verbs[i].name, word(s, 0)) != 0)
            continue;
        t->store = s->stores[s->actor] ? s->stores[s->actor] : t->first;
        t->fence = s->fences[s->actor];
        const char *said = verbs[i].run(s);
        s->fences[s->actor] = t->fence;
        t->store = t->first;
        return said;
    }
    probe_fail(t, __FILE__, __LINE__, "no such verb: %s", s->words[0]);
}

static void split(struct spec *s, char *line)
{
    char *save = NULL;
    s->count = 0;
    for (char *w = strtok_r(line, " \t\n", &save); w && s->count < WORDS_MAX;
         w = strtok_r(NULL, " \t\n", &save))
        s->words[s->count++] = w;
}

static char *trimmed(char *text)
{
    text += strspn(text, " \t");
    for (size_t n = strlen(text); n > 0 && strchr(" \t", text[n - 1]); n--)
        text[n - 1] = '\0';
    return text;
}

static void run_line(struct spec *s, char *line, const char *file, int number)
{
    struct probe *t = s->t;
    line[strcspn(line, "#\n")] = '\0';
    char *arrow = strstr(line, "->");
    const char *want = arrow ? trimmed(arrow + 2) : "ok";
    if (arrow)
        *arrow = '\0';
    /* Words stay in use (ids, texts) until the spec ends. */
    size_t bytes = strlen(line) + 1;
    split(s, memcpy(pawl_mem_alloc(t->mem, bytes), line, bytes));
    if (s->count == 0)
        return;
    if (strcmp(s->words[0], "die") == 0) {
        die(t);
    } else if (strcmp(s->words[0], "clock") == 0) {
        tick(t, span(s, 1));
    } else {
        s->actor = s->words[0][0] - 'a';
        if (s->words[0][1] || s->actor < 0 || s->actor >= ACTORS)
            probe_fail(t, file, number, "no such actor: %s", s->words[0]);
        memmove(s->words, s->words + 1, (WORDS_MAX - 1) * sizeof(s->words[0]));
        s->count--;
        probe_text(t, file, number, run_verb(s), want);
    }
}

/* "# clauses T3 T4" and takeover.spec make the name "t3_t4_takeover". */
void spec_name(const char *file, char *name, size_t size)
{
    char line[512] = "";
    const char *base = strrchr(file, '/');
    size_t n = 0;
    FILE *f = fopen(file, "r");
    if (f && fgets(line, sizeof(line), f) && strncmp(line, "# clauses ", 10) == 0) {
        for (const char *c = line + 10; *c && *c != '\n' && n + 2 < size; c++)
            name[n++] = *c == ' ' ? '_' : (char)tolower((unsigned char)*c);
        name[n++] = '_';
    }
    if (f)
        fclose(f);
    base = base ? base + 1 : file;
    snprintf(name + n, size - n, "%.*s", (int)strcspn(base, "."), base);
}

void spec_run(struct probe *t)
{
    struct spec *s = pawl_mem_alloc(t->mem, sizeof(*s));
    char line[512];
    FILE *f = fopen(t->file, "r");
    if (!f)
        probe_fail(t, t->file, 0, "cannot be read");
    s->t = t;
    for (int number = 1; fgets(line, sizeof(line), f); number++)
        run_line(s, line, t->file, number);
    fclose(f);
}
