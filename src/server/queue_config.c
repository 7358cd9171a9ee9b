/* SPDX-License-Identifier: MIT */
/*
 * server/queue_config.c -- the configuration of a queue, read and written.
 *
 * A PUT replaces all of it: a setting that the body does not name gets its default; a PATCH
 * changes the settings that the body names.  An unknown key is refused.  Times are seconds
 * outside, milliseconds inside.
 *
 * Called by routes.c; write_config also by queue_manage.c.
 */
#include "server/queues.h"

#include "base/json.h"
#include "base/limits.h"
#include "view/render.h"

#include <string.h>

void write_warning(pawl_json *w, pawl_str warning)
{
    if (warning.len)
        render_text(w, "warning", warning);
}

void write_config(struct call *c, pawl_json *w, const char *queue, const pawl_queue_config *k,
                  pawl_str warning)
{
    pawl_json_object(w);
    write_count(w, "max_locks", k->max_locks);
    write_count(w, "default_ttl_seconds", (uint64_t)k->default_ttl_ms / 1000);
    write_count(w, "max_lock_seconds", (uint64_t)k->max_lock_ms / 1000);
    pawl_json_key(w, "on_expire");
    pawl_json_cstr(w, k->expire_to_back ? "back" : "front");
    write_count(w, "max_deliveries", k->max_deliveries);
    pawl_json_key(w, "dead_letter_queue");
    pawl_json_str(w, k->dead_letter_queue.len ? k->dead_letter_queue
                                              : pawl_mem_printf(c->mem, "%s" DEAD_LETTERS, queue));
    pawl_json_key(w, "retry_backoff_seconds");
    pawl_json_array(w);
    for (size_t i = 0; i < k->retry_backoff_count; i++)
        pawl_json_real(w, (double)k->retry_backoff[i] / 1000);
    pawl_json_end(w);
    write_count(w, "dedup_window_seconds", (uint64_t)k->dedup_window_ms / 1000);
    write_count(w, "message_ttl_seconds", (uint64_t)k->message_ttl_ms / 1000);
    pawl_json_key(w, "dead_letter_expired");
    pawl_json_truth(w, k->dead_letter_expired);
    write_count(w, "max_length", k->max_length);
    write_count(w, "max_bytes", k->max_bytes);
    pawl_json_key(w, "default_priority");
    pawl_json_num(w, k->default_priority);
    pawl_json_key(w, "groups");
    pawl_json_truth(w, k->groups);
    pawl_json_key(w, "retain");
    pawl_json_truth(w, false);
    render_text(w, "orchestration", k->orchestration);
    render_text(w, "version", k->version);
    write_warning(w, warning);
    pawl_json_end(w);
}

void handle_get_config(struct call *c)
{
    pawl_queue_config config;
    pawl_error err;
    if (pawl_queue_get_config(c->srv->client, c->args[0], c->mem, &config, &err) != PAWL_OK) {
        answer_failure(c, &err);
        return;
    }
    pawl_json *w = pawl_json_new(c->mem);
    write_config(c, w, c->args[0], &config, (pawl_str){0});
    answer_json(c, 200, w);
}

static bool check_object(struct call *c)
{
    if (json_type(c->json) == JSON_OBJECT)
        return true;
    answer_error(c, 400, "invalid", "the configuration must be an object");
    return false;
}

static bool read_backoff(struct call *c, pawl_queue_config *k)
{
    pawl_str raw = call_member(c->json, "retry_backoff_seconds");
    struct json_iter it;
    int64_t *list = pawl_mem_alloc(c->mem, 16 * sizeof(*list));
    size_t n = 0;
    bool ok = !raw.ptr || json_type(raw) == JSON_ARRAY;
    if (ok && raw.ptr)
        for (json_begin(&it, raw); ok && json_next(&it); n++) {
            double seconds = pawl_json_number(it.value, "", -1);
            ok = n < 16 && seconds >= 0 && seconds <= 604800;
            if (ok)
                list[n] = (int64_t)(seconds * 1000 + 0.5);
        }
    if (!ok)
        answer_error(c, 400, "invalid", "retry_backoff_seconds must be at most 16 numbers");
    k->retry_backoff = list;
    k->retry_backoff_count = n;
    return ok;
}

static bool read_order(struct call *c, pawl_queue_config *k)
{
    const char *word;
    if (!call_text(c, c->json, "on_expire", &word))
        return false;
    k->expire_to_back = word && strcmp(word, "back") == 0;
    if (!word || k->expire_to_back || strcmp(word, "front") == 0)
        return true;
    answer_error(c, 400, "invalid", "on_expire must be \"front\" or \"back\"");
    return false;
}

static bool read_times(struct call *c, pawl_queue_config *k)
{
    const struct {
        const char *key;
        int64_t min, max;
        int64_t *ms;
    } times[] = {
        {"default_ttl_seconds",  1, 300,       &k->default_ttl_ms },
        {"max_lock_seconds",     1, 604800,    &k->max_lock_ms    },
        {"dedup_window_seconds", 0, 604800,    &k->dedup_window_ms},
        {"message_ttl_seconds",  0, 315360000, &k->message_ttl_ms }
    };
    for (size_t i = 0; i < COUNT_OF(times); i++) {
        int64_t ms;
        if (!read_seconds(c, c->json, times[i].key, times[i].min, times[i].max, &ms))
            return false;
        if (ms >= 0)
            *times[i].ms = ms;
    }
    return true;
}

/* A setting that exists, and has one value so far. */
static bool read_planned(struct call *c)
{
    bool on = false;
    if (!call_truth(c, c->json, "retain", &on))
        return false;
    if (on)
        answer_error(c, 400, "unsupported", "retain can only be false in this version");
    return !on;
}

static bool read_config(struct call *c, pawl_queue_config *k)
{
    int64_t locks, deliveries, length, bytes;
    const char *dead, *orchestration, *version;
    if (!check_object(c) || !read_order(c, k) || !read_backoff(c, k) || !read_times(c, k) ||
        !call_integer(c, c->json, "max_locks", 0, UINT32_MAX, 1, &locks) ||
        !call_integer(c, c->json, "max_deliveries", 0, UINT32_MAX, 0, &deliveries) ||
        !call_integer(c, c->json, "max_length", 0, INT64_MAX, 0, &length) ||
        !call_integer(c, c->json, "max_bytes", 0, INT64_MAX, 0, &bytes) ||
        !call_integer(c, c->json, "default_priority", 0, INT64_MAX, 0, &k->default_priority) ||
        !call_truth(c, c->json, "dead_letter_expired", &k->dead_letter_expired) ||
        !call_truth(c, c->json, "groups", &k->groups) ||
        !call_some_text(c, c->json, "dead_letter_queue", &dead) ||
        !call_some_text(c, c->json, "orchestration", &orchestration) ||
        !call_some_text(c, c->json, "version", &version) || !read_planned(c) ||
        (dead && !guard_queue(c, dead)))
        return false;
    k->max_locks = (uint32_t)locks;
    k->max_deliveries = (uint32_t)deliveries;
    k->max_length = (uint64_t)length;
    k->max_bytes = (uint64_t)bytes;
    k->dead_letter_queue = pawl_s(dead);
    k->orchestration = pawl_s(orchestration);
    k->version = pawl_s(version);
    return true;
}

static void write_configured(struct call *c, const pawl_queue_reply *reply)
{
    pawl_json *w = pawl_json_new(c->mem);
    write_config(c, w, c->args[0], reply->config, reply->warning);
    answer_json(c, 200, w);
}

static void configure(struct call *c, bool some, uint32_t settings)
{
    pawl_queue_config *config = pawl_mem_alloc(c->mem, sizeof(*config));
    *config = pawl_queue_config_default();
    if (!read_config(c, config))
        return;
    pawl_queue_request q = {.size = sizeof(q),
                            .op = PAWL_QUEUE_CONFIGURE,
                            .config = config,
                            .some = some,
                            .settings = settings};
    queue_submit(c, &q, write_configured, false);
}

/* The settings that the body names; null means the default. */
static uint32_t settings_of(const struct call *c)
{
    static const struct {
        const char *key;
        uint32_t bit;
    } keys[] = {
        {"max_locks",             PAWL_QUEUE_SET_MAX_LOCKS          },
        {"max_deliveries",        PAWL_QUEUE_SET_MAX_DELIVERIES     },
        {"default_ttl_seconds",   PAWL_QUEUE_SET_DEFAULT_TTL        },
        {"max_lock_seconds",      PAWL_QUEUE_SET_MAX_LOCK           },
        {"on_expire",             PAWL_QUEUE_SET_EXPIRE_TO_BACK     },
        {"dead_letter_queue",     PAWL_QUEUE_SET_DEAD_LETTER_QUEUE  },
        {"retry_backoff_seconds", PAWL_QUEUE_SET_RETRY_BACKOFF      },
        {"dedup_window_seconds",  PAWL_QUEUE_SET_DEDUP_WINDOW       },
        {"message_ttl_seconds",   PAWL_QUEUE_SET_MESSAGE_TTL        },
        {"dead_letter_expired",   PAWL_QUEUE_SET_DEAD_LETTER_EXPIRED},
        {"max_length",            PAWL_QUEUE_SET_MAX_LENGTH         },
        {"max_bytes",             PAWL_QUEUE_SET_MAX_BYTES          },
        {"default_priority",      PAWL_QUEUE_SET_DEFAULT_PRIORITY   },
        {"orchestration",         PAWL_QUEUE_SET_ORCHESTRATION      },
        {"version",               PAWL_QUEUE_SET_VERSION            },
        {"groups",                PAWL_QUEUE_SET_GROUPS             },
    };
    uint32_t settings = 0;
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (call_member(c->json, keys[i].key).ptr)
            settings |= keys[i].bit;
    return settings;
}

void handle_put_config(struct call *c)
{
    configure(c, false, 0);
}

void handle_patch_config(struct call *c)
{
    configure(c, true, settings_of(c));
}
