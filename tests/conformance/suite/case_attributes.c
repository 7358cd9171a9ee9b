/* SPDX-License-Identifier: MIT */
/*
 * suite/case_attributes.c -- attributes, conditions on them and counts: G1, G2, L7, L8.
 *
 * The model has two attributes, a text and a number, and compares them by itself.
 */
#include "suite.h"

#include <inttypes.h>
#include <string.h>

enum { INSTANCES = 240, QUERIES = 300 };

/* Texts that begin with one another, that look like numbers, and of several bytes a character. */
static const char *const colours[] = {"",     "red", "re", "reddish", "7", "\xc3\xa9t\xc3\xa9",
                                      "z\"\\"};
static const int64_t totals[] = {0, 7, -7, 70, INT64_MAX, INT64_MIN, 1};
enum { VALUES = 7 };

struct thing {
    pawl_row row;
    int colour, total; /* an index; -1: it has none */
    bool removed;
};

struct dice {
    uint64_t state;
};

static int roll(struct dice *d, int sides)
{
    d->state = d->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((d->state >> 33) % (uint64_t)sides);
}

static pawl_store_ops const *ops(struct probe *t)
{
    const pawl_store_ops *o = t->store->ops;
    if (o->size <= offsetof(pawl_store_ops, search) || !o->search)
        probe_skip(t);
    return o;
}

static pawl_str key_of_text(struct probe *t, const char *text)
{
    return pawl_mem_printf(t->mem, "t%s", text);
}

static pawl_str key_of_number(struct probe *t, int64_t n)
{
    return pawl_mem_printf(t->mem, "n%016" PRIx64, (uint64_t)n ^ UINT64_C(1) << 63);
}

static pawl_str set_of(struct probe *t, int colour, int total)
{
    static const char *const quoted[] = {"\"\"",         "\"red\"", "\"re\"",
                                         "\"reddish\"",  "\"7\"",   "\"\xc3\xa9t\xc3\xa9\"",
                                         "\"z\\\"\\\\\""};
    pawl_str c = colour < 0 ? pawl_s("") : pawl_mem_printf(t->mem, "\"colour\":%s", quoted[colour]);
    pawl_str n =
        total < 0 ? pawl_s("") : pawl_mem_printf(t->mem, "\"total\":%" PRId64, totals[total]);
    if (!c.len && !n.len)
        return (pawl_str){0};
    return pawl_mem_printf(t->mem, "{%.*s%s%.*s}", PAWL_FMT(c), c.len && n.len ? "," : "",
                           PAWL_FMT(n));
}

/* The round takes the thing from what it has to these. */
static void draft_set(struct draft *d, const struct thing *from, int colour, int total)
{
    struct probe *t = d->t;
    pawl_attribute_entry *e = pawl_mem_alloc(t->mem, 4 * sizeof(*e));
    pawl_round_extra *extra = pawl_mem_alloc(t->mem, sizeof(*extra));
    size_t n = 0;
    for (int drop = 1; drop >= 0; drop--) {
        int c = drop ? from->colour : colour, number = drop ? from->total : total;
        if (c >= 0)
            e[n++] = (pawl_attribute_entry){pawl_s("colour"), key_of_text(t, colours[c]), drop};
        if (number >= 0)
            e[n++] =
                (pawl_attribute_entry){pawl_s("total"), key_of_number(t, totals[number]), drop};
    }
    *extra = (pawl_round_extra){.size = sizeof(*extra), .entries = e, .entry_count = n};
    d->round.extra = extra;
    d->row.attributes = set_of(t, colour, total);
}

static struct thing make_thing(struct probe *t, const char *id, int colour, int total)
{
    struct thing none = {.colour = -1, .total = -1};
    struct draft *d = insert(t, id);
    draft_set(d, &none, colour, total);
    CHECK_STATUS(commit(d), PAWL_OK);
    return (struct thing){d->row, colour, total, false};
}

static void set_thing(struct probe *t, struct thing *x, int colour, int total)
{
    struct draft *d = change_all(t, &x->row);
    draft_set(d, x, colour, total);
    draft_event(d, "set");
    CHECK_STATUS(commit(d), PAWL_OK);
    x->row = d->row;
    x->colour = colour;
    x->total = total;
}

static void remove_thing(struct probe *t, struct thing *x)
{
    struct draft *d = remove_round(t, &x->row);
    draft_set(d, x, -1, -1);
    CHECK_STATUS(commit(d), PAWL_OK);
    x->removed = true;
}

/* ---- What is found --------------------------------------------------------------- */

/* Uids over all pages, newest first; how many, and how many rows were examined. */
static size_t found_by(struct probe *t, const pawl_where *where, size_t count, uint32_t limit,
                       uint64_t *uids, size_t max, uint64_t *retexamined)
{
    pawl_search s = {
        .size = sizeof(s), .query = {.limit = limit}, .where = where, .where_count = count};
    size_t n = 0;
    *retexamined = 0;
    do {
        pawl_found found = {.size = sizeof(found)};
        CHECK_STATUS(ops(t)->search(t->store, &s, t->mem, &found, NULL), PAWL_OK);
        CHECK(found.rows.count <= limit);
        for (size_t i = 0; i < found.rows.count; i++) {
            CHECK(n < max);
            uids[n++] = found.rows.items[i].uid;
        }
        *retexamined += found.examined;
        CHECK(!s.query.before_uid || found.rows.next_uid < s.query.before_uid);
        s.query.before_uid = found.rows.next_uid;
    } while (s.query.before_uid);
    return n;
}

static bool holds(const pawl_where *w, const struct thing *x)
{
    bool text = pawl_str_is(w->name, "colour");
    int has = text ? x->colour : x->total, order;
    if (has < 0)
        return false;
    if (text == w->is_number)
        return w->op == PAWL_WHERE_NE;
    if (w->op == PAWL_WHERE_BEGINS)
        return text && strncmp(colours[has], w->text.ptr, w->text.len) == 0;
    order = text ? strcmp(colours[has], w->text.ptr)
                 : (totals[has] > w->number) - (totals[has] < w->number);
    return w->op == PAWL_WHERE_EQ   ? order == 0
           : w->op == PAWL_WHERE_NE ? order != 0
           : w->op == PAWL_WHERE_LT ? order < 0
           : w->op == PAWL_WHERE_LE ? order <= 0
           : w->op == PAWL_WHERE_GT ? order > 0
                                    : order >= 0;
}

static pawl_where some_where(struct dice *d)
{
    pawl_where w = {.name = pawl_s(roll(d, 2) ? "colour" : "total"),
                    .op = (pawl_where_op)roll(d, 7)};
    bool number = roll(d, 5) ? pawl_str_is(w.name, "total") : roll(d, 2);
    if (w.op == PAWL_WHERE_BEGINS)
        number = false;
    w.is_number = number;
    w.number = number ? totals[roll(d, VALUES)] : 0;
    w.text = pawl_s(number ? "" : colours[roll(d, VALUES)]);
    return w;
}

static void compare(struct probe *t, const struct thing *things, struct dice *d)
{
    pawl_where where[3];
    uint64_t uids[INSTANCES], examined;
    size_t count = 1 + (size_t)roll(d, 3), at = 0;
    for (size_t i = 0; i < count; i++)
        where[i] = some_where(d);
    size_t n = found_by(t, where, count, 1 + (uint32_t)roll(d, 60), uids, INSTANCES, &examined);
    for (size_t i = INSTANCES; i-- > 0;) {
        bool fits = !things[i].removed;
        for (size_t k = 0; k < count; k++)
            fits = fits && holds(&where[k], &things[i]);
        if (fits && (at >= n || uids[at++] != things[i].row.uid))
            probe_fail(t, __FILE__, __LINE__, "%s is missing: %.*s op %d", things[i].row.id.ptr,
                       PAWL_FMT(where[0].name), (int)where[0].op);
    }
    if (at != n)
        probe_fail(t, __FILE__, __LINE__, "%zu rows too many: %.*s op %d", n - at,
                   PAWL_FMT(where[0].name), (int)where[0].op);
}

/* ---- The tests ------------------------------------------------------------------- */

static void g1_a_set_comes_back_with_its_row(struct probe *t)
{
    struct thing a = make_thing(t, "a", 6, 5), b = make_thing(t, "b", -1, -1);
    pawl_row row;
    die(t);
    CHECK_STATUS(t->store->ops->find(t->store, pawl_s("a"), t->mem, &row, NULL), PAWL_OK);
    CHECK_TEXT(row.attributes.ptr, set_of(t, 6, 5).ptr);
    CHECK_STATUS(t->store->ops->find_uid(t->store, b.row.uid, t->mem, &row, NULL), PAWL_OK);
    CHECK(row.attributes.len == 0);
    take(t);
    struct draft *d = change(t, &a.row); /* LAST leaves it as it is */
    draft_event(d, "x");
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_STATUS(t->store->ops->find(t->store, pawl_s("a"), t->mem, &row, NULL), PAWL_OK);
    CHECK_TEXT(row.attributes.ptr, set_of(t, 6, 5).ptr);
}

static void g1_the_next_execution_keeps_it_and_the_closed_one_has_none(struct probe *t)
{
    struct thing a = make_thing(t, "a", 1, 1);
    pawl_row row;
    struct draft *d = change_all(t, &a.row);
    draft_continue(d, "next");
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_STATUS(t->store->ops->find(t->store, pawl_s("a"), t->mem, &row, NULL), PAWL_OK);
    CHECK_TEXT(row.attributes.ptr, set_of(t, 1, 1).ptr);
    CHECK_STATUS(t->store->ops->find_execution(t->store, a.row.uid, 1, t->mem, &row, NULL),
                 PAWL_OK);
    CHECK(row.attributes.len == 0);
}

static const char *red(struct probe *t)
{
    pawl_where w = {.name = pawl_s("colour"), .text = pawl_s("red")};
    uint64_t uids[9], examined;
    const char *text = "";
    size_t n = found_by(t, &w, 1, 2, uids, 9, &examined);
    for (size_t i = 0; i < n; i++) {
        pawl_row row;
        CHECK_STATUS(t->store->ops->find_uid(t->store, uids[i], t->mem, &row, NULL), PAWL_OK);
        text = pawl_mem_printf(t->mem, "%s%s%.*s", text, text[0] ? " " : "", PAWL_FMT(row.id)).ptr;
    }
    return text;
}

static void g2_entries_are_part_of_their_round(struct probe *t)
{
    struct thing a = make_thing(t, "a", 1, -1), b = make_thing(t, "b", 2, -1);
    pawl_row stale = a.row;
    set_thing(t, &a, 1, 1); /* dropped and put: it is there */
    CHECK_TEXT(red(t), "a");
    struct draft *late = change_all(t, &stale);
    draft_set(late, &a, 2, 1);
    CHECK_STATUS(commit(late), PAWL_CONFLICT);
    CHECK_TEXT(red(t), "a");
    set_thing(t, &b, 1, 3);
    CHECK_TEXT(red(t), "b a");
    die(t);
    CHECK_TEXT(red(t), "b a");
    take(t);
    set_thing(t, &a, -1, -1);
    CHECK_TEXT(red(t), "b");
}

static void g2_a_removed_instance_is_found_no_more(struct probe *t)
{
    struct thing a = make_thing(t, "a", 1, 1);
    make_thing(t, "b", 1, 1);
    remove_thing(t, &a);
    CHECK_TEXT(red(t), "b");
    make_thing(t, "a", 2, -1); /* a new one of that id has nothing of it */
    CHECK_TEXT(red(t), "b");
    make_thing(t, "c", 1, -1);
    CHECK_TEXT(red(t), "c b");
}

static void l7_conditions_together_with_the_rest(struct probe *t)
{
    struct thing a = make_thing(t, "order-1", 1, 1);
    make_thing(t, "order-2", 1, 2);
    make_thing(t, "bill-1", 1, 3);
    struct draft *d = change_all(t, &a.row);
    d->row.state = PAWL_FAILED;
    d->row.output = pawl_s("Timed OUT");
    CHECK_STATUS(commit(d), PAWL_OK);
    pawl_where w = {.name = pawl_s("colour"), .text = pawl_s("red")};
    struct {
        pawl_search s;
        const char *want;
    } rows[] = {
        {{.query = {.prefix = pawl_s("order-")}},                     "order-2 order-1"       },
        {{.states = 1u << PAWL_FAILED},                               "order-1"               },
        {{.states = 1u << PAWL_RUNNING, .query.prefix = pawl_s("b")}, "bill-1"                },
        {{.query = {.parent_uid = 77}},                               ""                      },
        {{.error = pawl_s("timed out")},                              "order-1"               },
        {{.error = pawl_s("timed oux")},                              ""                      },
        {{.created_before_ms = t->now},                               ""                      },
        {{.created_before_ms = t->now + 1},                           "bill-1 order-2 order-1"},
        {{.ended_after_ms = t->now},                                  ""                      },
        {{.ended_after_ms = t->now - 1},                              "order-1"               },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int with = 0; with < 2; with++) { /* also without a condition on an attribute */
            pawl_search s = rows[i].s;
            pawl_found found = {.size = sizeof(found)};
            const char *text = "";
            s.size = sizeof(s);
            s.query.limit = 9;
            s.where = &w;
            s.where_count = (size_t)with;
            CHECK_STATUS(ops(t)->search(t->store, &s, t->mem, &found, NULL), PAWL_OK);
            for (size_t k = 0; k < found.rows.count; k++)
                text = pawl_mem_printf(t->mem, "%s%s%.*s", text, k ? " " : "",
                                       PAWL_FMT(found.rows.items[k].id))
                           .ptr;
            if (strcmp(text, rows[i].want) != 0)
                probe_fail(t, __FILE__, __LINE__, "row %zu: got \"%s\", want \"%s\"", i, text,
                           rows[i].want);
        }
}

static void l2_l7_every_operator_as_a_model_says(struct probe *t)
{
    struct dice d = {.state = 18};
    struct thing *things = pawl_mem_alloc(t->mem, INSTANCES * sizeof(*things));
    (void)ops(t);
    for (int i = 0; i < INSTANCES; i++) {
        const char *id = pawl_mem_printf(t->mem, "i%d", i).ptr;
        if (i % 40 == 39) /* far from those before: other segments of an index */
            t->fence.next_id += UINT64_C(1) << 19;
        things[i] = make_thing(t, id, roll(&d, VALUES + 1) - 1, roll(&d, VALUES + 1) - 1);
    }
    for (int i = 0; i < QUERIES; i++) {
        struct thing *x = &things[roll(&d, INSTANCES)];
        if (!x->removed && roll(&d, 4) == 0)
            remove_thing(t, x);
        else if (!x->removed)
            set_thing(t, x, roll(&d, VALUES + 1) - 1, roll(&d, VALUES + 1) - 1);
        compare(t, things, &d);
    }
}

/* Rows that come and go between two pages do not make others come twice, or not at all. */
static void l2_l7_pages_while_others_change(struct probe *t)
{
    pawl_where w = {.name = pawl_s("colour"), .text = pawl_s("red")};
    pawl_search s = {.size = sizeof(s), .query = {.limit = 2}, .where = &w, .where_count = 1};
    struct thing x[6];
    const char *text = "";
    for (int i = 0; i < 6; i++)
        x[i] = make_thing(t, pawl_mem_printf(t->mem, "%c", 'a' + i).ptr, 1, -1);
    for (int page = 0; page == 0 || s.query.before_uid; page++) {
        pawl_found found = {.size = sizeof(found)};
        CHECK_STATUS(ops(t)->search(t->store, &s, t->mem, &found, NULL), PAWL_OK);
        for (size_t i = 0; i < found.rows.count; i++)
            text = pawl_mem_printf(t->mem, "%s%.*s", text, PAWL_FMT(found.rows.items[i].id)).ptr;
        s.query.before_uid = found.rows.next_uid;
        if (page)
            continue;
        make_thing(t, "new", 1, -1); /* above the page: not seen */
        set_thing(t, &x[3], 2, -1);  /* the row behind the page is gone */
        set_thing(t, &x[5], 2, -1);  /* so is one that was seen */
    }
    CHECK_TEXT(text, "fecba");
}

/* One value among many instances is found by its index: few rows are examined. */
static void l7_a_value_is_found_by_its_index(struct probe *t)
{
    if (strcmp(ops(t)->name, "memory") == 0 || strcmp(ops(t)->name, "jsonl") == 0)
        probe_skip(t); /* these look at each row */
    pawl_where w[] = {
        {.name = pawl_s("total"), .op = PAWL_WHERE_GE, .is_number = true},
        {.name = pawl_s("colour"),                       .text = pawl_s("red")                  },
    };
    uint64_t uids[2], examined;
    for (int i = 0; i < 200; i++) {
        const char *id = pawl_mem_printf(t->mem, "i%d", i).ptr;
        make_thing(t, id, i == 7 ? 1 : 2, i % 2 ? 1 : 2);
    }
    CHECK_NUMBER(found_by(t, w, 2, 100, uids, 2, &examined), 1);
    CHECK(examined <= 3);
    pawl_where above = {.name = pawl_s("colour"), .op = PAWL_WHERE_GT, .text = pawl_s("re")};
    CHECK_NUMBER(found_by(t, &above, 1, 100, uids, 2, &examined), 1);
    CHECK(examined <= 3);
}

/* ---- Counts: L8 -------------------------------------------------------------------- */

static pawl_value_counts counted(struct probe *t, const char *name, uint32_t values,
                                 uint64_t entries)
{
    const pawl_store_ops *o = t->store->ops;
    pawl_value_counts ret = {.size = sizeof(ret)};
    if (o->size <= offsetof(pawl_store_ops, count_values) || !o->count_values)
        probe_skip(t); /* rows are counted by the caller */
    CHECK_STATUS(o->count_values(t->store, pawl_s(name), values, entries, t->mem, &ret, NULL),
                 PAWL_OK);
    CHECK(ret.count <= values);
    for (size_t i = 1; i < ret.count; i++) {
        pawl_str a = ret.items[i - 1].key, b = ret.items[i].key;
        size_t n = a.len < b.len ? a.len : b.len;
        int order = memcmp(a.ptr, b.ptr, n);
        CHECK(order < 0 || (order == 0 && a.len < b.len));
    }
    return ret;
}

/* How many things have it, as the model says. */
static uint64_t have(struct probe *t, const struct thing *things, size_t count, bool text,
                     pawl_str key)
{
    uint64_t n = 0;
    for (size_t i = 0; i < count; i++) {
        int at = text ? things[i].colour : things[i].total;
        if (things[i].removed || at < 0)
            continue;
        pawl_str has = text ? key_of_text(t, colours[at]) : key_of_number(t, totals[at]);
        n += pawl_str_eq(has, key);
    }
    return n;
}

/* Values, each with its count, over several segments of ids, while things change and go. */
static void l8_values_are_counted_as_a_model_says(struct probe *t)
{
    enum { THINGS = 120 };
    struct thing *x = pawl_mem_alloc(t->mem, THINGS * sizeof(*x));
    struct dice d = {20261118};
    (void)counted(t, "colour", 1, 1);
    for (int i = 0; i < THINGS; i++) {
        if (i % 40 == 39)
            t->fence.next_id += UINT64_C(600000); /* another segment of the index */
        x[i] = make_thing(t, pawl_mem_printf(t->mem, "i%d", i).ptr, roll(&d, VALUES + 1) - 1,
                          roll(&d, VALUES + 1) - 1);
    }
    for (int i = 0; i < THINGS; i += 3)
        if (roll(&d, 2))
            set_thing(t, &x[i], roll(&d, VALUES + 1) - 1, roll(&d, VALUES + 1) - 1);
        else
            remove_thing(t, &x[i]);
    for (int text = 0; text < 2; text++) {
        uint64_t total = 0, all = 0;
        pawl_value_counts c = counted(t, text ? "colour" : "total", 100, 100000);
        for (size_t i = 0; i < c.count; i++) {
            CHECK_NUMBER(c.items[i].count, have(t, x, THINGS, text, c.items[i].key));
            total += c.items[i].count;
        }
        for (int i = 0; i < THINGS; i++)
            all += !x[i].removed && (text ? x[i].colour : x[i].total) >= 0;
        CHECK_NUMBER(total, all);
        CHECK_NUMBER(c.examined, all);
        CHECK(!c.more);
        pawl_value_counts first = counted(t, text ? "colour" : "total", 3, 100000);
        CHECK_NUMBER(first.count, 3);
        CHECK(first.more);
        for (size_t i = 0; i < 3; i++) {
            CHECK(pawl_str_eq(first.items[i].key, c.items[i].key));
            CHECK_NUMBER(first.items[i].count, c.items[i].count);
        }
        pawl_value_counts few = counted(t, text ? "colour" : "total", 100, all - 1);
        CHECK(few.more);
        CHECK_NUMBER(few.examined, all - 1);
    }
    CHECK_NUMBER(counted(t, "other", 10, 10).count, 0);
    CHECK(!counted(t, "other", 10, 10).more);
}

const struct probe_case cases_attributes[] = {
    CASE(g1_a_set_comes_back_with_its_row),
    CASE(g1_the_next_execution_keeps_it_and_the_closed_one_has_none),
    CASE(g2_entries_are_part_of_their_round),
    CASE(g2_a_removed_instance_is_found_no_more),
    CASE(l7_conditions_together_with_the_rest),
    CASE(l2_l7_every_operator_as_a_model_says),
    CASE(l2_l7_pages_while_others_change),
    CASE(l7_a_value_is_found_by_its_index),
    CASE(l8_values_are_counted_as_a_model_says),
    CASES_END,
};
