/* SPDX-License-Identifier: MIT */
/*
 * queue/config.c -- a queue's configuration and totals as text.
 *
 * The store keeps both as opaque JSON.  Only what differs from the default is
 * written, so a queue that was not configured has an empty text, and later defaults hold.
 */
#include "base/json.h"
#include "base/limits.h"
#include "base/misuse.h"
#include "base/reserved.h"
#include "queue/internal.h"

#define TTL_DEFAULT      PAWL_SECONDS(30)
#define LOCK_LIFE        PAWL_HOURS(12)
#define DEDUP_WINDOW     PAWL_SECONDS(300)
#define MESSAGE_TTL_MAX  PAWL_DAYS(36500)
#define DEDUP_WINDOW_MAX PAWL_DAYS(7)

pawl_queue_config pawl_queue_config_default(void)
{
    return (pawl_queue_config){.size = sizeof(pawl_queue_config),
                               .max_locks = 1,
                               .default_ttl_ms = TTL_DEFAULT,
                               .max_lock_ms = LOCK_LIFE,
                               .dedup_window_ms = DEDUP_WINDOW};
}

static bool check_range(const char *what, int64_t value, int64_t low, int64_t high, pawl_error *err)
{
    if (value >= low && value <= high)
        return true;
    error_set(err, PAWL_INVALID, "%s is %lld; give %lld to %lld", what, (long long)value,
              (long long)low, (long long)high);
    return false;
}

bool queue_config_check(const pawl_queue_config *c, pawl_str queue, pawl_error *err)
{
    if (is_odd(c->dead_letter_queue) || is_odd(c->orchestration) || is_odd(c->version) ||
        (c->retry_backoff_count && !c->retry_backoff)) {
        error_set(err, PAWL_MISUSE, "the configuration has a length and nothing of that length");
        return false;
    }
    if (!check_range("default_ttl (ms)", c->default_ttl_ms, PAWL_QUEUE_TTL_MIN, PAWL_QUEUE_TTL_MAX,
                     err) ||
        !check_range("max_lock (ms)", c->max_lock_ms, PAWL_QUEUE_TTL_MIN, PAWL_DAYS(365), err) ||
        !check_range("dedup_window (ms)", c->dedup_window_ms, 0, DEDUP_WINDOW_MAX, err) ||
        !check_range("message_ttl (ms)", c->message_ttl_ms, 0, MESSAGE_TTL_MAX, err) ||
        !check_range("default_priority", c->default_priority, 0, INT64_MAX, err) ||
        !check_range("number of backoffs", (int64_t)c->retry_backoff_count, 0, QUEUE_BACKOFF_MAX,
                     err))
        return false;
    for (size_t i = 0; i < c->retry_backoff_count; i++)
        if (!check_range("backoff (ms)", c->retry_backoff[i], 0, PAWL_QUEUE_DELAY_MAX, err))
            return false;
    if (c->dead_letter_queue.len &&
        !check_queue_name("dead letter queue", c->dead_letter_queue, err))
        return false;
    if (pawl_str_eq(c->dead_letter_queue, queue)) {
        error_set(err, PAWL_INVALID, "a queue cannot be its own dead letter queue");
        return false;
    }
    if (c->orchestration.len && !check_orchestration_name(c->orchestration, err))
        return false;
    return !c->version.len || check_version(c->version, err);
}

pawl_queue_config queue_config_merge(pawl_queue_config all, const pawl_queue_config *given,
                                     uint32_t settings)
{
#define TAKE(bit, field)                                                                           \
    if (settings & (PAWL_QUEUE_SET_##bit))                                                         \
    all.field = given->field
    TAKE(MAX_LOCKS, max_locks);
    TAKE(MAX_DELIVERIES, max_deliveries);
    TAKE(DEFAULT_TTL, default_ttl_ms);
    TAKE(MAX_LOCK, max_lock_ms);
    TAKE(EXPIRE_TO_BACK, expire_to_back);
    TAKE(DEAD_LETTER_QUEUE, dead_letter_queue);
    TAKE(RETRY_BACKOFF, retry_backoff);
    TAKE(RETRY_BACKOFF, retry_backoff_count);
    TAKE(DEDUP_WINDOW, dedup_window_ms);
    TAKE(MESSAGE_TTL, message_ttl_ms);
    TAKE(DEAD_LETTER_EXPIRED, dead_letter_expired);
    TAKE(MAX_LENGTH, max_length);
    TAKE(MAX_BYTES, max_bytes);
    TAKE(DEFAULT_PRIORITY, default_priority);
    TAKE(ORCHESTRATION, orchestration);
    TAKE(VERSION, version);
    TAKE(GROUPS, groups);
#undef TAKE
    return all;
}

static void number(pawl_json *w, const char *key, int64_t value, int64_t otherwise)
{
    if (value == otherwise)
        return;
    pawl_json_key(w, key);
    pawl_json_num(w, value);
}

static void text(pawl_json *w, const char *key, pawl_str value)
{
    if (!value.len)
        return;
    pawl_json_key(w, key);
    pawl_json_str(w, value);
}

pawl_str queue_config_write(const pawl_queue_config *c, pawl_mem *mem)
{
    pawl_queue_config d = pawl_queue_config_default();
    pawl_json *w = pawl_json_new(mem);
    pawl_json_object(w);
    number(w, "max_locks", c->max_locks, d.max_locks);
    number(w, "max_deliveries", c->max_deliveries, 0);
    number(w, "default_ttl_ms", c->default_ttl_ms, d.default_ttl_ms);
    number(w, "max_lock_ms", c->max_lock_ms, d.max_lock_ms);
    number(w, "expire_to_back", c->expire_to_back, 0);
    text(w, "dead_letter_queue", c->dead_letter_queue);
    if (c->retry_backoff_count) {
        pawl_json_key(w, "retry_backoff_ms");
        pawl_json_array(w);
        for (size_t i = 0; i < c->retry_backoff_count; i++)
            pawl_json_num(w, c->retry_backoff[i]);
        pawl_json_end(w);
    }
    number(w, "dedup_window_ms", c->dedup_window_ms, d.dedup_window_ms);
    number(w, "message_ttl_ms", c->message_ttl_ms, 0);
    number(w, "dead_letter_expired", c->dead_letter_expired, 0);
    number(w, "max_length", (int64_t)c->max_length, 0);
    number(w, "max_bytes", (int64_t)c->max_bytes, 0);
    number(w, "default_priority", c->default_priority, 0);
    text(w, "orchestration", c->orchestration);
    text(w, "version", c->version);
    number(w, "groups", c->groups, 0);
    pawl_json_end(w);
    pawl_str done = pawl_json_done(w);
    return done.len > 2 ? done : (pawl_str){"", 0};
}

static void read_backoff(pawl_str raw, pawl_mem *mem, pawl_queue_config *c)
{
    pawl_str list = pawl_json_get(raw, "/retry_backoff_ms");
    int64_t *to = arena_array(mem, int64_t, QUEUE_BACKOFF_MAX);
    struct json_iter it;
    if (json_type(list) != JSON_ARRAY)
        return;
    for (json_begin(&it, list); json_next(&it) && c->retry_backoff_count < QUEUE_BACKOFF_MAX;)
        (void)json_integer(it.value, &to[c->retry_backoff_count++]);
    c->retry_backoff = to;
}

pawl_queue_config queue_config_read(pawl_str raw, pawl_mem *mem)
{
    pawl_queue_config c = pawl_queue_config_default();
    if (!raw.len)
        return c;
    c.max_locks = (uint32_t)pawl_json_int(raw, "/max_locks", c.max_locks);
    c.max_deliveries = (uint32_t)pawl_json_int(raw, "/max_deliveries", 0);
    c.default_ttl_ms = pawl_json_int(raw, "/default_ttl_ms", c.default_ttl_ms);
    c.max_lock_ms = pawl_json_int(raw, "/max_lock_ms", c.max_lock_ms);
    c.expire_to_back = pawl_json_int(raw, "/expire_to_back", 0) != 0;
    c.dead_letter_queue = pawl_json_text(mem, raw, "/dead_letter_queue", "");
    read_backoff(raw, mem, &c);
    c.dedup_window_ms = pawl_json_int(raw, "/dedup_window_ms", c.dedup_window_ms);
    c.message_ttl_ms = pawl_json_int(raw, "/message_ttl_ms", 0);
    c.dead_letter_expired = pawl_json_int(raw, "/dead_letter_expired", 0) != 0;
    c.max_length = (uint64_t)pawl_json_int(raw, "/max_length", 0);
    c.max_bytes = (uint64_t)pawl_json_int(raw, "/max_bytes", 0);
    c.default_priority = pawl_json_int(raw, "/default_priority", 0);
    c.orchestration = pawl_json_text(mem, raw, "/orchestration", "");
    c.version = pawl_json_text(mem, raw, "/version", "");
    c.groups = pawl_json_int(raw, "/groups", 0) != 0;
    return c;
}

/* Names and places of the totals, in the order they are written. */
static const struct {
    const char *key;
    size_t at;
} totals[] = {
#define TOTAL(name)                                                                                \
    {                                                                                              \
        "/" #name, offsetof(struct queue_totals, name)                                             \
    }
    TOTAL(pushed),     TOTAL(popped),        TOTAL(acked),   TOTAL(expired),
    TOTAL(released),   TOTAL(dead_lettered), TOTAL(dropped), TOTAL(purged),
    TOTAL(duplicates), TOTAL(redriven),      TOTAL(started), TOTAL(id_taken),
#undef TOTAL
};

pawl_str queue_totals_write(const struct queue_totals *t, pawl_mem *mem)
{
    pawl_json *w = pawl_json_new(mem);
    pawl_json_object(w);
    for (size_t i = 0; i < COUNT_OF(totals); i++) {
        uint64_t value = *(const uint64_t *)(const void *)((const char *)t + totals[i].at);
        number(w, totals[i].key + 1, (int64_t)value, 0);
    }
    pawl_json_end(w);
    return pawl_json_done(w);
}

struct queue_totals queue_totals_read(pawl_str raw)
{
    struct queue_totals t = {0};
    for (size_t i = 0; raw.len && i < COUNT_OF(totals); i++)
        *(uint64_t *)(void *)((char *)&t + totals[i].at) =
            (uint64_t)pawl_json_int(raw, totals[i].key, 0);
    return t;
}

pawl_str queue_note_write(pawl_str source, pawl_str reason, int64_t died_ms, pawl_mem *mem)
{
    pawl_json *w = pawl_json_new(mem);
    pawl_json_object(w);
    text(w, "source", source);
    text(w, "reason", reason);
    number(w, "died_ms", died_ms, 0);
    pawl_json_end(w);
    return pawl_json_done(w);
}
