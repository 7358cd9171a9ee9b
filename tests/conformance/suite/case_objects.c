/* SPDX-License-Identifier: MIT */
/* suite/case_objects.c -- named objects: V1 to V5. */
#include "suite.h"

#include <stdio.h>
#include <string.h>

enum { KIND = 1, OTHER = 2 };

static const pawl_store_ops *ops(struct probe *t)
{
    if (!caps_of(t).objects)
        probe_skip(t);
    return t->store->ops;
}

/* A round that puts one object; without data it removes it. */
static struct draft *put(struct probe *t, const char *name, uint64_t version, const char *data)
{
    (void)ops(t);
    struct draft *d = free_round(t);
    pawl_object *o = pawl_mem_alloc(t->mem, sizeof(*o));
    pawl_round_extra *extra = pawl_mem_alloc(t->mem, sizeof(*extra));
    *o = (pawl_object){.kind = KIND, .name = pawl_s(name), .version = version};
    if (data)
        o->data = pawl_s(data);
    *extra = (pawl_round_extra){.size = sizeof(*extra), .objects = o, .object_count = 1};
    d->round.extra = extra;
    return d;
}

/* "data@version", or "-". */
static const char *read_object(struct probe *t, const char *name)
{
    pawl_object o = {0};
    pawl_error err = {0};
    pawl_status status = ops(t)->read_object(t->store, KIND, pawl_s(name), t->mem, &o, &err);
    if (status == PAWL_NOT_FOUND && err.status == PAWL_NOT_FOUND)
        return "-";
    CHECK_STATUS(status, PAWL_OK);
    CHECK(o.kind == KIND && pawl_str_eq(o.name, pawl_s(name)));
    return pawl_mem_printf(t->mem, "%.*s@%llu", PAWL_FMT(o.data), (unsigned long long)o.version)
        .ptr;
}

/* Names over all pages of `limit`. */
static const char *listed_objects(struct probe *t, int kind, const char *prefix, uint32_t limit)
{
    pawl_object_list list = {0};
    pawl_str text = {"", 0}, after = {0};
    do {
        CHECK_STATUS(
            ops(t)->list_objects(t->store, kind, pawl_s(prefix), after, limit, t->mem, &list, NULL),
            PAWL_OK);
        CHECK(list.count <= limit);
        for (size_t i = 0; i < list.count; i++) {
            text = pawl_mem_printf(t->mem, "%s%s%.*s", text.ptr, text.len ? " " : "",
                                   PAWL_FMT(list.items[i].name));
            after = list.items[i].name;
        }
    } while (list.count == limit);
    return text.ptr;
}

static void v1_v2_a_put_needs_the_version_that_is_stored(struct probe *t)
{
    CHECK_STATUS(commit(put(t, "a", 1, "never")), PAWL_CONFLICT);
    CHECK_STATUS(commit(put(t, "a", 0, "one")), PAWL_OK);
    CHECK_TEXT(read_object(t, "a"), "one@1");
    CHECK_STATUS(commit(put(t, "a", 0, "again")), PAWL_CONFLICT);
    CHECK_STATUS(commit(put(t, "a", 2, "ahead")), PAWL_CONFLICT);
    CHECK_TEXT(read_object(t, "a"), "one@1");
    CHECK_STATUS(commit(put(t, "a", 1, "two")), PAWL_OK);
    CHECK_STATUS(commit(put(t, "a", 1, "late")), PAWL_CONFLICT);
    die(t);
    CHECK_TEXT(read_object(t, "a"), "two@2");
}

static void v1_v2_any_version_fits_any(struct probe *t)
{
    CHECK_STATUS(commit(put(t, "a", PAWL_VERSION_ANY, "one")), PAWL_OK);
    CHECK_TEXT(read_object(t, "a"), "one@1");
    CHECK_STATUS(commit(put(t, "a", PAWL_VERSION_ANY, "two")), PAWL_OK);
    CHECK_TEXT(read_object(t, "a"), "two@2");
    CHECK_STATUS(commit(put(t, "a", PAWL_VERSION_ANY, NULL)), PAWL_OK);
    CHECK_TEXT(read_object(t, "a"), "-");
    CHECK_STATUS(commit(put(t, "a", PAWL_VERSION_ANY, NULL)), PAWL_OK);
}

static void v1_v2_a_removed_object_leaves_nothing(struct probe *t)
{
    CHECK_STATUS(commit(put(t, "a", 0, "one")), PAWL_OK);
    CHECK_STATUS(commit(put(t, "a", 1, "two")), PAWL_OK);
    CHECK_STATUS(commit(put(t, "a", 1, NULL)), PAWL_CONFLICT);
    CHECK_TEXT(read_object(t, "a"), "two@2");
    CHECK_STATUS(commit(put(t, "a", 2, NULL)), PAWL_OK);
    CHECK_TEXT(read_object(t, "a"), "-");
    CHECK_STATUS(commit(put(t, "a", 2, NULL)), PAWL_CONFLICT);
    die(t);
    CHECK_TEXT(read_object(t, "a"), "-");
    take(t);
    CHECK_STATUS(commit(put(t, "a", 0, "new")), PAWL_OK);
    CHECK_TEXT(read_object(t, "a"), "new@1");
}

static void v1_earlier_rounds_of_the_commit_count(struct probe *t)
{
    struct draft *d[] = {put(t, "a", 0, "one"),   put(t, "a", 1, "two"), put(t, "a", 1, "wrong"),
                         put(t, "b", 0, "other"), put(t, "a", 2, NULL),  put(t, "a", 0, "three")};
    CHECK_STATUS(commit_all(t, d, 6), PAWL_OK);
    for (size_t i = 0; i < 6; i++)
        CHECK_STATUS(d[i]->round.result, i == 2 ? PAWL_CONFLICT : PAWL_OK);
    CHECK_TEXT(read_object(t, "a"), "three@1");
    CHECK_TEXT(read_object(t, "b"), "other@1");
}

static void v2_v4_everything_comes_back_as_it_was(struct probe *t)
{
    struct draft *d = put(t, "a", 0, "x");
    char name[PAWL_OBJECT_NAME_MAX + 1];
    char *data = pawl_mem_alloc(t->mem, PAWL_OBJECT_BYTES_MAX);
    memset(name, 'n', PAWL_OBJECT_NAME_MAX);
    name[PAWL_OBJECT_NAME_MAX] = 0;
    for (size_t i = 0; i < PAWL_OBJECT_BYTES_MAX; i++)
        data[i] = (char)(i * 7);
    pawl_object two[] = {
        {.kind = KIND,     .name = pawl_s("a\xc3\xa9 b"), .data = {data, PAWL_OBJECT_BYTES_MAX}},
        {.kind = 16777215, .name = pawl_s(name),          .data = {"", 0}                      }
    };
    pawl_round_extra extra = {.size = sizeof(extra), .objects = two, .object_count = 2};
    d->round.extra = &extra;
    tick(t, 77);
    int64_t at = t->now;
    CHECK_STATUS(commit(d), PAWL_OK);
    die(t);
    for (int i = 0; i < 2; i++) {
        pawl_object o = {0};
        CHECK_STATUS(ops(t)->read_object(t->store, two[i].kind, two[i].name, t->mem, &o, NULL),
                     PAWL_OK);
        CHECK(o.kind == two[i].kind && pawl_str_eq(o.name, two[i].name) && o.version == 1);
        CHECK(pawl_str_eq(o.data, two[i].data));
        CHECK_NUMBER(o.updated_ms, at);
    }
}

static void v3_an_object_is_part_of_its_round(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *stale = change(t, &a), *good = change(t, &a);
    struct draft *with = put(t, "o", 0, "no");
    draft_event(stale, "x");
    stale->round.base_seq++;
    stale->round.extra = with->round.extra;
    CHECK_STATUS(commit(stale), PAWL_CONFLICT);
    CHECK_TEXT(read_object(t, "o"), "-");
    draft_event(good, "y");
    good->round.extra = put(t, "o", 7, "wrong version")->round.extra;
    uint64_t mail = draft_mail(good, "mail");
    CHECK_STATUS(commit(good), PAWL_CONFLICT);
    CHECK_TEXT(history(t, a.uid, 1), "start");
    CHECK_NUMBER(message(t, a.uid, mail).id, 0);
    good->round.extra = put(t, "o", 0, "yes")->round.extra;
    CHECK_STATUS(commit(good), PAWL_OK);
    CHECK_TEXT(history(t, a.uid, 1), "start y");
    CHECK_TEXT(read_object(t, "o"), "yes@1");
}

static void v3_a_refused_object_leaves_the_other_rounds(struct probe *t)
{
    struct draft *d[] = {insert(t, "i"), put(t, "o", 3, "no"), put(t, "p", 0, "yes"),
                         insert(t, "j")};
    CHECK_STATUS(commit_all(t, d, 4), PAWL_OK);
    CHECK_STATUS(d[1]->round.result, PAWL_CONFLICT);
    CHECK_TEXT(read_object(t, "o"), "-");
    CHECK_TEXT(read_object(t, "p"), "yes@1");
    CHECK(find(t, "i").uid && find(t, "j").uid);
}

static void v5_pages_have_each_object_once_by_name(struct probe *t)
{
    static const char *const names[] = {"b", "a", "ab", "z", "\xc3\xa9", "ab/c", "B", "abc"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        CHECK_STATUS(commit(put(t, names[i], 0, "x")), PAWL_OK);
    struct draft *other = put(t, "ab", 0, "y");
    pawl_object o = {.kind = OTHER, .name = pawl_s("ab"), .data = pawl_s("y")};
    pawl_round_extra extra = {.size = sizeof(extra), .objects = &o, .object_count = 1};
    other->round.extra = &extra;
    CHECK_STATUS(commit(other), PAWL_OK);
    for (uint32_t limit = 1; limit <= 1000; limit = limit * 3 + 1) {
        CHECK_TEXT(listed_objects(t, KIND, "", limit), "B a ab ab/c abc b z \xc3\xa9");
        CHECK_TEXT(listed_objects(t, KIND, "ab", limit), "ab ab/c abc");
        CHECK_TEXT(listed_objects(t, OTHER, "", limit), "ab");
        CHECK_TEXT(listed_objects(t, 3, "", limit), "");
    }
    CHECK_TEXT(read_object(t, "ab"), "x@1");
}

const struct probe_case cases_objects[] = {
    CASE(v1_v2_a_put_needs_the_version_that_is_stored),
    CASE(v1_v2_any_version_fits_any),
    CASE(v1_v2_a_removed_object_leaves_nothing),
    CASE(v1_earlier_rounds_of_the_commit_count),
    CASE(v2_v4_everything_comes_back_as_it_was),
    CASE(v3_an_object_is_part_of_its_round),
    CASE(v3_a_refused_object_leaves_the_other_rounds),
    CASE(v5_pages_have_each_object_once_by_name),
    CASES_END,
};
