/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_parts.c -- stand-ins for functions of pg_queue_round.c, pg_fetch.c and
 * pg_work.c, so that the room links while they are being written.
 *
 * They are weak: the real ones replace them when they are there.  The store is in no table of
 * stores as long as this file exists, so nothing calls them.
 */
#include "store/postgres/postgres.h"

#define STAND_IN __attribute__((weak))

STAND_IN bool pg_send_queues(struct pg_store *s UNUSED, const pawl_round *rounds UNUSED,
                             size_t count UNUSED)
{
    return true;
}

STAND_IN bool pg_queues_are_independent(const pawl_round *rounds UNUSED, size_t count UNUSED)
{
    return true;
}

STAND_IN void pg_messages_lower(struct pg_store *s UNUSED, int64_t visible_ms UNUSED,
                                uint64_t id UNUSED)
{
}

STAND_IN void pg_work_appeared(struct pg_store *s UNUSED, const pawl_str *name UNUSED,
                               uint64_t id UNUSED, int64_t free_ms UNUSED)
{
}

STAND_IN void pg_work_forget(struct pg_store *s UNUSED, uint64_t id UNUSED) {}

STAND_IN void pg_work_reset(struct pg_store *s UNUSED) {}
