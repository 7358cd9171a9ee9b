/* SPDX-License-Identifier: MIT */
/* suite/case_list.c -- lists of instances, searches and counts: L1 to L6. */
#include "suite.h"

#include <stdio.h>
#include <string.h>

static void set_state(struct probe *t, pawl_row *row, pawl_state state)
{
    struct draft *d = change_all(t, row);
    d->row.state = state;
    CHECK_STATUS(commit(d), PAWL_OK);
}

static void l1_newest_first_page_by_page(struct probe *t)
{
    const char *names[] = {"a", "b", "c", "d", "e"};
    for (int i = 0; i < 5; i++)
        make(t, names[i]);
    for (uint32_t limit = 1; limit <= 6; limit++)
        CHECK_TEXT(listed(t, (pawl_row_query){.limit = limit}), "e d c b a");
    CHECK_TEXT(listed(t, (pawl_row_query){.limit = 3, .before_uid = find(t, "c").uid}), "b a");
}

static void l1_an_empty_store_lists_nothing(struct probe *t)
{
    pawl_row_list list = {.count = 7, .next_uid = 7};
    pawl_row_query q = {.limit = 10};
    CHECK_STATUS(t->store->ops->list(t->store, &q, t->mem, &list, NULL), PAWL_OK);
    CHECK(list.count == 0 && list.next_uid == 0);
}

/* A needle below 12,000 rows of hay: the page may be short, the walk finds it. */
static void l1_l2_a_rare_row_is_found_by_following_pages(struct probe *t)
{
    enum { HAY = 12000, BATCH = 500 };
    make(t, "needle");
    for (int i = 0; i < HAY / BATCH; i++) {
        struct draft *d[BATCH];
        for (int j = 0; j < BATCH; j++) {
            pawl_str name = pawl_mem_printf(t->mem, "hay-%05d", i * BATCH + j);
            d[j] = insert(t, name.ptr);
        }
        CHECK_STATUS(commit_all(t, d, BATCH), PAWL_OK);
    }
    CHECK_TEXT(listed(t, (pawl_row_query){.limit = 5, .prefix = pawl_s("needle")}), "needle");
    CHECK_TEXT(listed(t, (pawl_row_query){.limit = 5, .prefix = pawl_s("hay-0001")}),
               "hay-00019 hay-00018 hay-00017 hay-00016 hay-00015 "
               "hay-00014 hay-00013 hay-00012 hay-00011 hay-00010");
}

static void l2_each_condition_alone_and_together(struct probe *t)
{
    struct draft *d = insert(t, "order-1");
    CHECK_STATUS(commit(d), PAWL_OK);
    pawl_row parent = d->row;
    tick(t, 10);
    d = insert(t, "order-2");
    d->row.orchestration = pawl_s("Ship");
    d->row.parent_uid = parent.uid;
    CHECK_STATUS(commit(d), PAWL_OK);
    pawl_row two = d->row;
    tick(t, 10);
    make(t, "bill-1");
    int64_t start = t->now - 20;
    tick(t, 10);
    set_state(t, &two, PAWL_FAILED); /* at start + 30 */

    struct {
        pawl_row_query q;
        const char *want;
    } rows[] = {
        {{.state = PAWL_RUNNING + 1},                                 "bill-1 order-1" },
        {{.state = PAWL_FAILED + 1},                                  "order-2"        },
        {{.state = PAWL_PENDING + 1},                                 ""               },
        {{.orchestration = pawl_s("Ship")},                           "order-2"        },
        {{.orchestration = pawl_s("Shi")},                            ""               },
        {{.prefix = pawl_s("order-")},                                "order-2 order-1"},
        {{.prefix = pawl_s("order-2x")},                              ""               },
        {{.prefix = pawl_s("ORDER")},                                 ""               },
        {{.parent_uid = parent.uid},                                  "order-2"        },
        {{.created_after_ms = start},                                 "bill-1 order-2" },
        {{.created_after_ms = start + 10},                            "bill-1"         },
        {{.ended_before_ms = start + 30},                             ""               },
        {{.ended_before_ms = start + 31},                             "order-2"        },
        {{.prefix = pawl_s("order-"), .state = PAWL_RUNNING + 1},     "order-1"        },
        {{.prefix = pawl_s("bill"), .orchestration = pawl_s("Ship")}, ""               },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        rows[i].q.limit = 1;
        const char *got = listed(t, rows[i].q);
        if (strcmp(got, rows[i].want) != 0)
            probe_fail(t, __FILE__, __LINE__, "row %zu: got \"%s\", want \"%s\"", i, got,
                       rows[i].want);
    }
}

static void l2_prefixes_are_bytes_not_patterns(struct probe *t)
{
    make(t, "a%b");
    make(t, "a_b");
    make(t, "axb");
    make(t, "a*b");
    make(t, "a[x]b");
    CHECK_TEXT(listed(t, (pawl_row_query){.limit = 9, .prefix = pawl_s("a%")}), "a%b");
    CHECK_TEXT(listed(t, (pawl_row_query){.limit = 9, .prefix = pawl_s("a_")}), "a_b");
    CHECK_TEXT(listed(t, (pawl_row_query){.limit = 9, .prefix = pawl_s("a*")}), "a*b");
    CHECK_TEXT(listed(t, (pawl_row_query){.limit = 9, .prefix = pawl_s("a[x")}), "a[x]b");
    make(t, "\xc3\xa9");
    CHECK_TEXT(listed(t, (pawl_row_query){.limit = 9, .prefix = pawl_s("\xc3")}), "\xc3\xa9");
    CHECK_TEXT(listed(t, (pawl_row_query){.limit = 9, .prefix = pawl_s("\xff")}), "");
    CHECK_TEXT(listed(t, (pawl_row_query){.limit = 9, .orchestration = pawl_s("\xff")}), "");
}

/* The ids that a search finds over all its pages, and how many rows were looked at for them. */
static const char *searched(struct probe *t, pawl_search s, uint64_t *retexamined)
{
    const char *text = "";
    *retexamined = 0;
    s.size = sizeof(s);
    do {
        pawl_found found = {.size = sizeof(found)};
        CHECK_STATUS(t->store->ops->search(t->store, &s, t->mem, &found, NULL), PAWL_OK);
        CHECK(found.rows.count <= s.query.limit);
        for (size_t i = 0; i < found.rows.count; i++)
            text = pawl_mem_printf(t->mem, "%s%s%.*s", text, text[0] ? " " : "",
                                   PAWL_FMT(found.rows.items[i].id))
                       .ptr;
        s.query.before_uid = found.rows.next_uid;
        *retexamined += found.examined;
    } while (s.query.before_uid);
    return text;
}

static bool searches(struct probe *t)
{
    const pawl_store_ops *ops = t->store->ops;
    return ops->size > offsetof(pawl_store_ops, search) && ops->search;
}

static pawl_row make_with(struct probe *t, const char *id, pawl_state state, const char *output)
{
    pawl_row row = make(t, id);
    struct draft *d = change_all(t, &row);
    d->row.state = state;
    d->row.output = pawl_s(output);
    d->row.finding = pawl_s(state == PAWL_BLOCKED ? "Recorded Ship" : "");
    d->row.custom_status = pawl_s(state == PAWL_RUNNING ? "Half WAY" : "");
    CHECK_STATUS(commit(d), PAWL_OK);
    return d->row;
}

#define STATE(s) (1u << PAWL_##s)

static void l4_several_states_roots_and_the_rest_together(struct probe *t)
{
    if (!searches(t))
        return;
    make_with(t, "f1", PAWL_FAILED, "no");
    pawl_row parent = make_with(t, "r1", PAWL_RUNNING, "");
    make_with(t, "b1", PAWL_BLOCKED, "");
    make_with(t, "f2", PAWL_FAILED, "no");
    struct draft *d = insert(t, "r1:kid");
    d->row.parent_uid = parent.uid;
    CHECK_STATUS(commit(d), PAWL_OK);
    make_with(t, "c1", PAWL_CANCELLED, "");
    make_with(t, "s1", PAWL_SUSPENDED, "");
    make_with(t, "done", PAWL_COMPLETED, "yes");
    const struct {
        pawl_search s;
        const char *want;
    } rows[] = {
        {{.states = STATE(FAILED) | STATE(BLOCKED)},                                       "f2 b1 f1"              },
        {{.states = STATE(FAILED)},                                                        "f2 f1"                 },
        {{.states = STATE(FAILED) | STATE(CANCELLED) | STATE(SUSPENDED) | STATE(BLOCKED)},
         "s1 c1 f2 b1 f1"                                                                                          },
        {{.states = STATE(FAILED) | STATE(RUNNING)},                                       "r1:kid f2 r1 f1"       },
        {{.states = STATE(FAILED), .query.state = PAWL_BLOCKED + 1},                       ""                      },
        {{.states = STATE(FAILED) | STATE(BLOCKED), .query.state = PAWL_BLOCKED + 1},      "b1"                    },
        {{.states = STATE(PENDING)},                                                       ""                      },
        {{.roots = true, .states = STATE(RUNNING)},                                        "r1"                    },
        {{.roots = true},                                                                  "done s1 c1 f2 b1 r1 f1"},
        {{.query.prefix = pawl_s("r1")},                                                   "r1:kid r1"             },
        {{.query.prefix = pawl_s("r1"), .roots = true},                                    "r1"                    },
        {{.query.prefix = pawl_s("f"), .states = STATE(FAILED) | STATE(RUNNING)},          "f2 f1"                 },
        {{.query.parent_uid = parent.uid, .states = STATE(RUNNING)},                       "r1:kid"                },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (uint32_t limit = 1; limit <= 9; limit += 4) {
            pawl_search s = rows[i].s;
            uint64_t examined;
            s.query.limit = limit;
            const char *got = searched(t, s, &examined);
            if (strcmp(got, rows[i].want) != 0 || examined > 8)
                probe_fail(t, __FILE__, __LINE__, "row %zu: got \"%s\" of %d", i, got,
                           (int)examined);
        }
}

static void l5_a_prefix_alone_looks_at_no_other_rows(struct probe *t)
{
    uint64_t examined;
    if (!searches(t))
        return;
    for (int i = 0; i < 50; i++)
        make(t, pawl_mem_printf(t->mem, "hay-%d", i).ptr);
    make(t, "needle-1");
    make(t, "needle-2");
    make(t, "needl");
    make(t, "needle\xf4\x8f\xbf\xbf");
    for (int i = 50; i < 99; i++)
        make(t, pawl_mem_printf(t->mem, "hay-%d", i).ptr);
    pawl_search s = {
        .query = {.limit = 9, .prefix = pawl_s("needle")}
    };
    CHECK_TEXT(searched(t, s, &examined), "needle\xf4\x8f\xbf\xbf needle-2 needle-1");
    CHECK(examined == 3 || examined == 103); /* the memory store has no order of ids */
    s.query.limit = 1;
    CHECK_TEXT(searched(t, s, &examined), "needle\xf4\x8f\xbf\xbf needle-2 needle-1");
    s.query.prefix = pawl_s("needle\xf4");
    CHECK_TEXT(searched(t, s, &examined), "needle\xf4\x8f\xbf\xbf");
    s.query.prefix = pawl_s("needle\xf4\x8f\xbf\xbf");
    CHECK_TEXT(searched(t, s, &examined), "needle\xf4\x8f\xbf\xbf");
    s.query.prefix = pawl_s("zz");
    CHECK_TEXT(searched(t, s, &examined), "");
    CHECK(examined == 0 || examined == 103);
}

static void l6_texts_are_found_in_either_case(struct probe *t)
{
    if (!searches(t))
        return;
    make_with(t, "Order-1\xc3\x89", PAWL_RUNNING, "");
    make_with(t, "bill", PAWL_FAILED, "the Card was refused 50%_\\");
    make_with(t, "done", PAWL_COMPLETED, "the card was charged");
    make_with(t, "stuck", PAWL_BLOCKED, "");
    make_with(t, "ended", PAWL_CANCELLED, "no CARDS");
    const struct {
        const char *text, *want;
    } rows[] = {
        {"er-1",          "Order-1\xc3\x89"},
        {"ORDER-1",       "Order-1\xc3\x89"},
        {"\xc3\x89",      "Order-1\xc3\x89"},
        {"\xc3\xa9",      ""               }, /* not ASCII: as it is */
        {"\x89",          "Order-1\xc3\x89"},
        {"303",           ""               }, /* as a byte may be written */
        {"half way",      "Order-1\xc3\x89"},
        {"card",          "ended bill"     },
        {"recorded SHIP", "stuck"          },
        {"50%_\\",        "bill"           },
        {"50%%",          ""               },
        {"charged",       ""               }, /* the output of one that completed */
        {"dinner",        ""               },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t examined;
        pawl_search s = {.query.limit = 1, .text = pawl_s(rows[i].text)};
        const char *got = searched(t, s, &examined);
        if (strcmp(got, rows[i].want) != 0 || examined > 5)
            probe_fail(t, __FILE__, __LINE__, "'%s': got \"%s\" of %d", rows[i].text, got,
                       (int)examined);
    }
    uint64_t examined;
    pawl_search s = {.query.limit = 9, .text = pawl_s("CARD"), .states = STATE(FAILED)};
    CHECK_TEXT(searched(t, s, &examined), "bill");
}

static void l3_counts_of_what_is_there(struct probe *t)
{
    pawl_row a = make(t, "a"), b = make(t, "b");
    deliver(t, &a, "ready");
    deliver(t, &a, "taken");
    fetch(t, 1);
    deliver_at(t, &a, "timer", t->now + 10);
    uint64_t bad = deliver(t, &a, "bad"), kept = deliver(t, &a, "kept");
    enqueue(t, &a, "j");
    enqueue_work(t, &a, (pawl_work){.name = pawl_s("later"), .visible_ms = t->now + 10});
    struct draft *d = free_round(t);
    draft_quarantine(d, bad, "test");
    draft_update_message(d, (pawl_message_update){.id = kept, .mailbox = true});
    CHECK_STATUS(commit(d), PAWL_OK);
    remove_instance(t, &b);
    pawl_depths n = depths(t);
    CHECK(n.messages == 4 && n.timers == 1 && n.work == 2);
    CHECK(n.quarantine == 1 && n.instances == 1);
    tick(t, 10);
    CHECK_NUMBER(depths(t).timers, 0);
    static const pawl_state states[] = {PAWL_SUSPENDED, PAWL_BLOCKED,   PAWL_FAILED,
                                        PAWL_CANCELLED, PAWL_COMPLETED, PAWL_FAILED};
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        char id[] = {'s', (char)('0' + i), 0};
        pawl_row row = make(t, id);
        set_state(t, &row, states[i]);
    }
    n = depths(t);
    CHECK(n.suspended == 1 && n.blocked == 1 && n.failed == 2 && n.cancelled == 1);
    CHECK_NUMBER(n.instances, 7);
}

const struct probe_case cases_list[] = {
    CASE(l1_newest_first_page_by_page),
    CASE(l1_an_empty_store_lists_nothing),
    CASE(l1_l2_a_rare_row_is_found_by_following_pages),
    CASE(l2_each_condition_alone_and_together),
    CASE(l2_prefixes_are_bytes_not_patterns),
    CASE(l3_counts_of_what_is_there),
    CASE(l4_several_states_roots_and_the_rest_together),
    CASE(l5_a_prefix_alone_looks_at_no_other_rows),
    CASE(l6_texts_are_found_in_either_case),
    CASES_END,
};
