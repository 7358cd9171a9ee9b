/* SPDX-License-Identifier: MIT */
/* suite/case_list.c -- lists of instances and counts: L1 to L3. */
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
    CASES_END,
};
