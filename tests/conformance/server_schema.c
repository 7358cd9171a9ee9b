/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/server_schema.c -- the postgres store for the suite: a schema for the program,
 * emptied before each test, which is faster than tables made anew.
 *
 * Everything that is durable is on the server, and a store writes nothing when it is closed: so
 * death is close, and the schema opened again.
 */
#include "../scratch.h"
#include "stores.h"

static pawl_store *open_url(const struct scratch *place, pawl_error *reterr)
{
    return pawl_postgres_store(place->url, PAWL_STORE_OPTS(.now_ms = 1000000), reterr);
}

static pawl_store *server_open(void *user, pawl_error *reterr)
{
    scratch_same(user);
    return open_url(user, reterr);
}

static pawl_store *server_reopen(void *user, pawl_store *s, pawl_error *reterr)
{
    s->ops->close(s);
    return open_url(user, reterr);
}

static void server_close(void *user, pawl_store *s)
{
    (void)user;
    s->ops->close(s);
}

/* An event is in the row with its number, or the second of the row before. */
static bool server_damage(void *user, pawl_store *s, pawl_damage what, uint64_t id)
{
    const struct scratch *place = user;
    unsigned long long n = id;
    (void)s;
    if (what == PAWL_DAMAGE_MESSAGE)
        return scratch_number("UPDATE %s.message SET kind=NULL WHERE id=%llu RETURNING 1",
                              place->schema, n) == 1;
    return scratch_number("UPDATE %s.history SET seq=seq+1000 WHERE rid=%llu"
                          " OR (rid=%llu AND kind2 IS NOT NULL) RETURNING 1",
                          place->schema, n, n - 1) == 1;
}

pawl_conformance_factory server_schema(void)
{
    static struct scratch place;
    scratch_share();
    return (pawl_conformance_factory){.size = sizeof(pawl_conformance_factory),
                                      .name = "postgres",
                                      .user = &place,
                                      .open = server_open,
                                      .reopen = server_reopen,
                                      .close = server_close,
                                      .damage = server_damage};
}
