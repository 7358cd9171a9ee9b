/* SPDX-License-Identifier: MIT */
/* runtime/queue/queue_fit.c -- see queue_fit.h. */
#include "runtime/queue/queue_fit.h"

#include "base/fit.h"
#include "base/misuse.h"

const pawl_queue_request *queue_fit_request(pawl_mem *mem, const pawl_queue_request *request,
                                            size_t item_bytes, pawl_error *err)
{
    pawl_queue_request *ours = arena_new(mem, pawl_queue_request);
    if (!OPTIONS_TAKE(ours, request, "pawl_queue_request", err))
        return NULL;
    if (ours->op != PAWL_QUEUE_PUSH || ours->item_count > PAWL_QUEUE_PUSH_MAX || !ours->items)
        return ours; /* no items, or a request that is refused later */
    ours->items = fit_given(mem, ours->items, ours->item_count, item_bytes, sizeof(pawl_queue_item),
                            "pawl_queue_item", err);
    return ours->items ? ours : NULL;
}

void queue_fit_config(void *to, size_t size, const pawl_queue_config *from)
{
    pawl_queue_config config = *from;
    if (size < config.size)
        config.size = size;
    fit_struct(to, size, &config, sizeof(config));
}

const pawl_queue_reply *queue_fit_reply(pawl_mem *mem, const pawl_queue_reply *reply,
                                        const pawl_queue_sizes *sizes)
{
    size_t longer = sizes->reply > sizeof(*reply) ? sizes->reply : sizeof(*reply);
    pawl_queue_reply *to = arena_zalloc(mem, longer);
    *to = *reply;
    to->pushed = FIT_ITEMS(mem, reply->pushed, reply->pushed_count, sizes->pushed);
    to->messages = FIT_ITEMS(mem, reply->messages, reply->message_count, sizes->message);
    to->outcomes = FIT_ITEMS(mem, reply->outcomes, reply->outcome_count, sizes->outcome);
    to->config = NULL;
    if (reply->config && sizes->config) {
        void *config = arena_alloc(mem, sizes->config);
        queue_fit_config(config, sizes->config, reply->config);
        to->config = config;
    }
    return to;
}

/* Write `n` bytes at `at`, as far as the caller's struct goes. */
static void put(char *to, size_t size, size_t at, const void *from, size_t n)
{
    if (at < size)
        memcpy(to + at, from, n < size - at ? n : size - at);
}

void queue_fit_stats(void *to, const pawl_queue_stats *from, const pawl_queue_sizes *sizes)
{
    const size_t before = offsetof(pawl_queue_stats, config);
    const size_t behind = before + sizeof(from->config); /* what we have behind the configuration */
    memset(to, 0, sizes->stats);
    put(to, sizes->stats, 0, from, before);
    if (sizes->stats >= before + sizes->config)
        queue_fit_config((char *)to + before, sizes->config, &from->config);
    put(to, sizes->stats, before + sizes->config, (const char *)from + behind,
        sizeof(*from) - behind);
}
