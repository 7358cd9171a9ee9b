/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_work.c -- taking work for activities.
 *
 * Free work of a name is found in four places:
 *
 *   fresh     work_fresh by (name, id): never tried; its event says what it is
 *   ready     index work_free at the time 0: was never delayed or leased
 *   due       index work_free by (name, time it gets free, id)
 *   loose     known by id: held in its table, or given back behind a place that was read
 *
 * One round trip reads all that the names asked for may have.  Due rows come as ids first, and a
 * second round trip reads the rows that were chosen.  What memory knows by name (pg_work_names.h)
 * saves queries that would find nothing.
 *
 * The indexes by name have the rows of all lanes, and the server leaves out those of other shards.
 * Few of them are ever passed: rows of ours have ids below the end of our block (E4), and when there
 * is nothing for a name, the places move to the ids that are given out now.
 *
 * At most DUE_WINDOW due rows are looked at, in the order of their time.  When fewer are due, the
 * oldest id comes first (W1).
 */
#include "base/attr.h"
#include "store/postgres/pg_work_names.h"
#include "store/sql/columns.h"

#define DUE_WINDOW 1024
#define ORDINAL    (PG_WORK_SHARD + 1) /* behind the columns of a work row */

enum source { FRESH, READY, DUE, LOOSE, SOURCES };

struct candidate_row {
    uint64_t id;
    struct pg_name *n;
    enum source from;
    const pawl_work *row; /* NULL: to be read */
};

/* A fetch in progress. */
struct work_fetch {
    struct pg_store *s;
    pawl_mem *mem;
    int64_t now_ms;
    uint32_t limit;
    LIST(struct candidate_row) found;
    bool more[SOURCES];        /* to be asked, or asked again */
    bool ended[2];             /* fresh, ready: all there is was read */
    uint64_t floor[2];         /* fresh, ready: the last id of the page before */
    size_t count[2];           /* fresh, ready: rows found */
    enum source sent[SOURCES]; /* what the results are answers to */
    size_t sent_count;
    LIST(struct pg_name *) due; /* by their ordinal */
    uint64_t *loose;            /* ids asked for */
    size_t loose_count;
};

/* ---- Abandoned work -------------------------------------------------------------------------- */

static void settle_row(struct pg_store *s, const PGresult *r, int row, int64_t now_ms)
{
    struct pg_name *n = work_name_of(&s->names->known, value_view(r, row, 1));
    uint64_t id = value_id(r, row, 0);
    int64_t free_ms = value_i64(r, row, 2);
    bool is_found = value_i64(r, row, 3) != 0; /* by a page, when its time comes */

    need_memory(n != NULL);
    if (is_found && free_ms > now_ms)
        work_name_look_again(&n->known, id, free_ms);
    else if (!idset_has(&s->names->known.taken, id))
        work_name_loosen(&s->names->known, &n->known, id, free_ms);
}

pawl_status pg_work_settle(struct pg_store *s, int64_t now_ms, pawl_mem *mem, pawl_error *reterr)
{
    struct idset *all = &s->names->known.abandoned;
    pawl_status status;

    if (!all->count)
        return PAWL_OK;
    uint64_t *ids = arena_array(mem, uint64_t, all->count);
    idset_list(all, ids);
    params_reset(&s->params);
    params_ids(&s->params, ids, all->count);
    params_id(&s->params, s->fence.shards);
    PGresult *r =
        link_run(&s->writer, ST_PG_WORK_PLACES, &s->params, "fetch work", &status, reterr);
    if (!r)
        return status;
    for (int i = 0; i < pq.ntuples(r); i++)
        settle_row(s, r, i, now_ms);
    pq.clear(r);
    idset_reset(all);
    return PAWL_OK;
}

/* ---- Which names ------------------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Forget ids that are no longer loose.  True: some of the others are free. */
static bool trim_loose(struct work_fetch *f, struct pg_name *n)
{
    size_t kept = 0;
    bool any = false;

    for (size_t i = 0; i < n->known.loose.count; i++) {
        if (!idset_has(&f->s->names->known.loose, n->known.loose.items[i].id))
            continue;
        any |= n->known.loose.items[i].free_ms <= f->now_ms;
        n->known.loose.items[kept++] = n->known.loose.items[i];
    }
    n->known.loose.count = kept;
    return any;
}

/* Note what must be asked for this name. */
static bool consider(struct work_fetch *f, struct pg_name *n)
{
    bool due = n->known.look_ms <= f->now_ms, loose = n->known.loose.count && trim_loose(f, n);

    if (n->turn == f->s->names->turn)
        return true; /* it was named twice */
    n->turn = f->s->names->turn;
    n->page_ms = n->known.due_ms;
    n->page_id = n->known.due_id;
    n->page_full = due;
    n->due_found = 0;
    n->stopped[FRESH] = n->stopped[READY] = false;
    f->more[FRESH] |= n->known.ready;
    f->more[READY] |= n->known.ready;
    f->more[DUE] |= due;
    f->more[LOOSE] |= loose;
    if (!n->known.ready && !due && !loose)
        return true;
    struct pg_name **slot = vec_push(&f->s->names->look);
    if (slot)
        *slot = n;
    return slot != NULL;
}

/* A name for every one that has free work. */
static pawl_status find_names(struct work_fetch *f, pawl_error *reterr)
{
    struct pg_store *s = f->s;
    pawl_status status;
    bool good = true;

    params_reset(&s->params);
    params_id(&s->params, s->fence.shards);
    PGresult *r = link_run(&s->writer, ST_PG_WORK_NAMES, &s->params, "fetch work", &status, reterr);
    if (!r)
        return status;
    for (int i = 0; i < pq.ntuples(r) && good; i++)
        good = work_name_of(&s->names->known, value_view(r, i, 0)) != NULL;
    pq.clear(r);
    return good ? PAWL_OK : PAWL_NO_MEMORY;
}

static pawl_status choose_names(struct work_fetch *f, const pawl_str *names, size_t count,
                                pawl_error *reterr)
{
    pawl_status status = count ? PAWL_OK : find_names(f, reterr);
    size_t cursor = 0;
    struct pg_name *n;
    bool good = status == PAWL_OK;

    vec_reset(&f->s->names->look);
    f->s->names->turn++;
    for (size_t i = 0; i < count && good; i++)
        good = (n = work_name_of(&f->s->names->known, names[i])) && consider(f, n);
    while (!count && good && (n = map_next(&f->s->names->known.by_name, &cursor)))
        good = consider(f, n);
    if (good || status != PAWL_OK)
        return status;
    error_set(reterr, PAWL_NO_MEMORY, "out of memory");
    return PAWL_NO_MEMORY;
}

/* ---- Asking --------------------------------------------------------------------------------------- */

/* The name at *at, and *at moves on; NULL: there are no more. */
static struct pg_name *next_name(const struct work_fetch *f, size_t *at)
{
    return *at < f->s->names->look.count ? f->s->names->look.items[(*at)++] : NULL;
}

static void put_names(struct work_fetch *f, const struct pg_array *names)
{
    params_reset(&f->s->params);
    params_array(&f->s->params, names);
}

static void send(struct work_fetch *f, enum source from, int statement)
{
    (void)link_send(&f->s->writer, statement, &f->s->params); /* link_reap tells */
    f->sent[f->sent_count++] = from;
}

static void ask_page(struct work_fetch *f, enum source from)
{
    struct pg_array *names = &f->s->scratch[0], *after = &f->s->scratch[1];
    struct pg_name *n;

    array_reset(names);
    array_reset(after);
    names->type = PG_TEXT;
    after->type = PG_INT8;
    for (size_t at = 0; (n = next_name(f, &at));) {
        if (!n->known.ready)
            continue;
        array_str(names, n->known.name);
        array_id(after, from == FRESH ? n->known.fresh_id : n->known.ready_id);
    }
    put_names(f, names);
    params_array(&f->s->params, after);
    params_i64(&f->s->params, f->limit);
    params_id(&f->s->params, f->floor[from]);
    params_id(&f->s->params, f->s->fence.shards);
    params_id(&f->s->params, f->s->fence.end_id);
    send(f, from, from == FRESH ? ST_PG_FRESH_PAGE : ST_PG_READY_PAGE);
}

static void ask_due(struct work_fetch *f)
{
    struct pg_array *column = f->s->scratch;
    struct pg_name *n;

    f->due.count = 0;
    for (int i = 0; i < 3; i++) {
        array_reset(&column[i]);
        column[i].type = i ? PG_INT8 : PG_TEXT;
    }
    for (size_t at = 0; (n = next_name(f, &at));) {
        if (!n->page_full)
            continue;
        *list_add(f->mem, &f->due) = n;
        array_str(&column[0], n->known.name);
        array_i64(&column[1], n->page_ms);
        array_id(&column[2], n->page_id);
        n->page_full = false;
    }
    put_names(f, &column[0]);
    params_array(&f->s->params, &column[1]);
    params_array(&f->s->params, &column[2]);
    params_i64(&f->s->params, f->now_ms);
    params_i64(&f->s->params, DUE_WINDOW);
    params_id(&f->s->params, f->s->fence.shards);
    send(f, DUE, ST_PG_DUE_PAGE);
}

/* The oldest loose ones, no more than are wanted. */
static void ask_loose(struct work_fetch *f)
{
    LIST(uint64_t) ids = {0};
    size_t kept = 0;
    struct pg_name *n;

    for (size_t at = 0; (n = next_name(f, &at));)
        for (size_t k = 0; k < n->known.loose.count; k++)
            if (n->known.loose.items[k].free_ms <= f->now_ms)
                *list_add(f->mem, &ids) = n->known.loose.items[k].id;
    if (ids.count)
        qsort(ids.items, ids.count, sizeof *ids.items, compare_ids);
    for (size_t i = 0; i < ids.count && kept < f->limit; i++)
        if (kept == 0 || ids.items[i] != ids.items[kept - 1])
            ids.items[kept++] = ids.items[i];
    f->loose = ids.items;
    f->loose_count = kept;
    params_reset(&f->s->params);
    params_ids(&f->s->params, ids.items, kept);
    send(f, LOOSE, ST_PG_WORK_BY_IDS);
}

/* ---- Answers ---------------------------------------------------------------------------------------- */

static void propose(struct work_fetch *f, enum source from, struct pg_name *n, uint64_t id,
                    const pawl_work *row)
{
    *list_add(f->mem, &f->found) =
        (struct candidate_row){.id = id, .n = n, .from = from, .row = row};
}

/* The row, or NULL when it is damaged: then it is marked as taken and not run. */
static const pawl_work *decode(struct work_fetch *f, const PGresult *r, int at)
{
    pawl_work *w = arena_new(f->mem, pawl_work);

    if (pg_decode_work(r, at, f->mem, w) == SQL_SOUND)
        return w;
    damage_note(&f->s->sql.base, "work", value_id(r, at, WORK_id));
    need_memory(idset_add(&f->s->names->known.taken, value_id(r, at, WORK_id)));
    return NULL;
}

static void see_page(struct work_fetch *f, enum source from, const PGresult *r)
{
    int rows = pq.ntuples(r);

    for (int i = 0; i < rows; i++) {
        uint64_t id = f->floor[from] = value_id(r, i, WORK_id);
        struct pg_name *n = map_gets(&f->s->names->known.by_name, value_view(r, i, WORK_name));
        if (!n)
            continue; /* its name is not the one in the index */
        if (idset_has(&f->s->names->known.taken, id)) {
            if (!n->stopped[from])
                *(from == FRESH ? &n->known.fresh_id : &n->known.ready_id) = id;
            continue;
        }
        const pawl_work *w = decode(f, r, i);
        if (!w)
            continue;
        propose(f, from, n, id, w);
        n->stopped[from] = true;
        f->count[from]++;
    }
    f->ended[from] = (uint32_t)rows < f->limit;
    f->more[from] = !f->ended[from] && f->count[from] < f->limit;
}

/* A row of the window, or the first behind it. */
static void see_due_row(struct work_fetch *f, struct pg_name *n, uint64_t id, int64_t free_ms)
{
    if (free_ms > f->now_ms) {
        if (!n->due_found && !n->page_full)
            n->known.look_ms = free_ms;
        return;
    }
    n->page_ms = free_ms;
    n->page_id = id;
    if (!idset_has(&f->s->names->known.taken, id)) {
        n->due_found++;
        propose(f, DUE, n, id, NULL);
    } else if (!n->due_found) {
        n->known.due_ms = free_ms;
        n->known.due_id = id;
    }
}

static void see_due(struct work_fetch *f, const PGresult *r)
{
    int rows = pq.ntuples(r), at = 0;

    f->more[DUE] = false;
    for (size_t i = 0; i < f->due.count; i++) {
        struct pg_name *n = f->due.items[i];
        int first = at, due = 0;
        for (; at < rows && value_id(r, at, 0) == i + 1; at++)
            due += value_i64(r, at, 2) <= f->now_ms;
        n->page_full = due == DUE_WINDOW;
        int64_t before = n->known.look_ms;
        n->known.look_ms = INT64_MAX;
        for (int k = first; k < at; k++)
            see_due_row(f, n, value_id(r, k, 1), value_i64(r, k, 2));
        if (n->due_found || n->page_full)
            n->known.look_ms = before;
        n->page_full &= n->due_found < f->limit; /* too many are taken: read the next page */
        f->more[DUE] |= n->page_full;
    }
}

static void see_loose(struct work_fetch *f, const PGresult *r)
{
    f->more[LOOSE] = false;
    for (size_t i = 0; i < f->loose_count; i++) /* … but for those that are there */
        idset_remove(&f->s->names->known.loose, f->loose[i]);
    for (int i = 0; i < pq.ntuples(r); i++) {
        uint64_t id = value_id(r, i, WORK_id);
        struct pg_name *n = map_gets(&f->s->names->known.by_name, value_view(r, i, WORK_name));
        const pawl_work *w =
            n && !idset_has(&f->s->names->known.taken, id) ? decode(f, r, i) : NULL;
        if (!w)
            continue;
        need_memory(idset_add(&f->s->names->known.loose, id)); /* its slot was just freed */
        bool leased = w->lock_token.len && w->lock_until_ms > f->now_ms;
        if (w->visible_ms <= f->now_ms && !leased)
            propose(f, LOOSE, n, id, w);
    }
}

static void on_result(void *user, size_t index, const PGresult *r)
{
    struct work_fetch *f = user;
    enum source from = f->sent[index];

    if (from == DUE)
        see_due(f, r);
    else if (from == LOOSE)
        see_loose(f, r);
    else
        see_page(f, from, r);
}

/* One round trip: every page that is wanted. */
static pawl_status look_once(struct work_fetch *f, pawl_error *reterr)
{
    struct link_report report;

    f->sent_count = 0;
    if (link_pipe(&f->s->writer)) {
        if (f->more[FRESH])
            ask_page(f, FRESH);
        if (f->more[READY])
            ask_page(f, READY);
        if (f->more[DUE])
            ask_due(f);
        if (f->more[LOOSE])
            ask_loose(f);
    }
    link_reap(&f->s->writer, on_result, f, &report);
    return report.end == LINK_DONE ? PAWL_OK : link_error(&report, "fetch work", reterr);
}

static bool wants_more(const struct work_fetch *f)
{
    return f->more[FRESH] || f->more[READY] || f->more[DUE] || f->more[LOOSE];
}

/* ---- Choosing ----------------------------------------------------------------------------------------- */

/* By id; if an id was found twice, the candidate with its row comes first. */
static int compare_candidates(const void *a, const void *b)
{
    const struct candidate_row *x = a, *y = b;

    return x->id != y->id ? (x->id < y->id ? -1 : 1) : (x->row == NULL) - (y->row == NULL);
}

static void sort_candidates(struct work_fetch *f)
{
    struct candidate_row *all = f->found.items;
    size_t kept = 0;

    if (f->found.count)
        qsort(all, f->found.count, sizeof *all, compare_candidates);
    for (size_t i = 0; i < f->found.count; i++)
        if (kept == 0 || all[i].id != all[kept - 1].id)
            all[kept++] = all[i];
    f->found.count = kept;
}

/* The rows of chosen candidates of which only the ids are known. */
static pawl_status read_chosen(struct work_fetch *f, size_t count, pawl_error *reterr)
{
    struct candidate_row *all = f->found.items;
    uint64_t *ids = arena_array(f->mem, uint64_t, count + 1);
    size_t *which = arena_array(f->mem, size_t, count + 1), wanted = 0;
    pawl_status status;

    for (size_t i = 0; i < count; i++) {
        if (all[i].row)
            continue;
        which[wanted] = i;
        ids[wanted++] = all[i].id;
    }
    if (!wanted)
        return PAWL_OK;
    params_reset(&f->s->params);
    params_ids(&f->s->params, ids, wanted);
    PGresult *r =
        link_run(&f->s->writer, ST_PG_WORK_BY_IDS, &f->s->params, "fetch work", &status, reterr);
    if (!r)
        return status;
    for (int i = 0; i < pq.ntuples(r); i++)
        all[which[value_id(r, i, ORDINAL) - 1]].row = decode(f, r, i);
    pq.clear(r);
    return PAWL_OK;
}

/* Nothing is free at once under this name, unless some of it was left: what comes has newer ids.
 * (An older one that becomes free, or comes late, moves the places back.) */
static void pass_all(const struct pg_store *s, struct pg_name *n)
{
    uint64_t last = s->fence.next_id - 1;

    n->known.ready = n->known.ready && (n->stopped[FRESH] || n->stopped[READY]);
    if (n->known.ready)
        return;
    if (n->known.fresh_id < last)
        n->known.fresh_id = last;
    if (n->known.ready_id < last)
        n->known.ready_id = last;
}

/* Rows that were taken need not be read again: move the places behind them. */
static void pass_taken(struct work_fetch *f, size_t chosen)
{
    struct pg_name *n;

    for (size_t at = 0; (n = next_name(f, &at));)
        n->stopped[FRESH] = n->stopped[READY] = false;
    for (size_t i = 0; i < f->found.count; i++) {
        const struct candidate_row *c = &f->found.items[i];
        if (c->from > READY || c->n->stopped[c->from])
            continue;
        if (i >= chosen)
            c->n->stopped[c->from] = true;
        else
            *(c->from == FRESH ? &c->n->known.fresh_id : &c->n->known.ready_id) = c->id;
    }
    if (f->ended[FRESH] && f->ended[READY])
        for (size_t at = 0; (n = next_name(f, &at));)
            pass_all(f->s, n);
}

static pawl_status take_chosen(struct work_fetch *f, pawl_work_list *ret, pawl_error *reterr)
{
    size_t chosen = f->found.count < f->limit ? f->found.count : f->limit, count = 0;
    pawl_status status = read_chosen(f, chosen, reterr);

    if (status != PAWL_OK)
        return status;
    if (!idset_reserve(&f->s->names->known.taken, chosen)) {
        error_set(reterr, PAWL_NO_MEMORY, "out of memory");
        return PAWL_NO_MEMORY;
    }
    pawl_work *items = arena_array(f->mem, pawl_work, chosen + 1);
    for (size_t i = 0; i < chosen; i++) {
        const struct candidate_row *c = &f->found.items[i];
        if (!c->row)
            continue;
        items[count++] = *c->row;
        idset_remove(&f->s->names->known.loose, c->id);
        assert_that(idset_add(&f->s->names->known.taken, c->id)); /* room was made */
    }
    pass_taken(f, chosen);
    *ret = (pawl_work_list){.items = items, .count = count};
    return PAWL_OK;
}

pawl_status pg_fetch_work(pawl_store *base, int64_t now_ms, const pawl_str *names,
                          size_t name_count, uint32_t limit, pawl_mem *mem, pawl_work_list *ret,
                          pawl_error *reterr)
{
    struct work_fetch f = {.s = pg_of(base), .mem = mem, .now_ms = now_ms, .limit = limit};

    *ret = (pawl_work_list){0};
    pawl_status status = pg_attach(f.s, reterr);
    if (status != PAWL_OK || limit == 0)
        return status;
    work_names_trim(&f.s->names->known);
    status = pg_work_settle(f.s, now_ms, mem, reterr);
    if (status == PAWL_OK)
        status = choose_names(&f, names, name_count, reterr);
    while (status == PAWL_OK && wants_more(&f))
        status = look_once(&f, reterr);
    if (status != PAWL_OK)
        return status;
    sort_candidates(&f);
    return take_chosen(&f, ret, reterr);
}
