/* SPDX-License-Identifier: MIT */
/* server/gives_limits.c -- the answers about limits (gives.h). */
#include "server/gives.h"

#include "server/limit_routes.h"

/* clang-format off */
static const struct field key_use_fields[] = {
    TEXT("key", NEEDED, "of the bucket; empty: that of all, or of calls without a key"),
    COUNT_FIELD("in_use", "attempts that run or are leased"),
    COUNT_FIELD("waiting", "calls that wait, as far as is known"),
    WHOLE("oldest_ms", 0, 0, INT64_MAX, "when the oldest of them was made"),
    WHOLE("next_ms", 0, 0, INT64_MAX, "when the rate has room again"),
    END
};
SHAPE(key_use, "LimitKey", NULL);
#define LIMIT_FIELDS                                                                        \
    TEXT("name", NEEDED, "of the limit"),                                                   \
    COUNT_FIELD("revision", "If-Match takes it"),                                           \
    COUNT_FIELD("updated_ms", "when it was stored (milliseconds since 1970)"),              \
    OBJECT("spec", NEEDED, &takes_limit, "as it was stored, without what has its default"), \
    WHOLE("in_use", 0, 0, INT64_MAX, "attempts that run or are leased"),                    \
    WHOLE("waiting", 0, 0, INT64_MAX, "calls that wait for it, as far as is known"),        \
    WHOLE("throttled", 0, 0, INT64_MAX, "how often work began to wait for the rate")
static const struct field limit_listed_fields[] = {LIMIT_FIELDS, END};
SHAPE(limit_listed, "LimitListed", NULL);
static const struct field limit_shown_fields[] = {
    LIMIT_FIELDS, OBJECTS("keys", 0, &key_use, "the busiest buckets, at most 100"), END
};
SHAPE(limit_shown, "LimitShown", NULL);
static const struct field limit_page_fields[] = {
    OBJECTS("limits", NEEDED, &limit_listed, "by name"),
    TEXT("next", NEEDED | OR_NULL, "give it as after for the next page; null: this was the last"),
    END
};
SHAPE(limit_page, "Limits", NULL);
static const struct field put_limit_fields[] = {
    TEXT("name", NEEDED, "of the limit"), COUNT_FIELD("revision", "If-Match takes it"), END
};
SHAPE(put_limit, "LimitStored", NULL);
static const struct field removed_limit_fields[] = {
    TEXT("name", NEEDED, "of the limit"), TRUTH("removed", NEEDED, "true: it is gone"), END
};
SHAPE(removed_limit, "LimitRemoved", NULL);

const struct given gives_limits[] = {
    {handle_limits, 0, &limit_page}, {handle_limit, 0, &limit_shown},
    {handle_put_limit, 0, &put_limit}, {handle_remove_limit, 0, &removed_limit},
    {0},
};
/* clang-format on */
