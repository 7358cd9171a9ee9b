/* SPDX-License-Identifier: MIT */
/* store/sql/damage.c -- see damage.h. */
#include "store/sql/damage.h"

#include "store/sql/cursor.h"

#include <stdio.h>

void damage_note(pawl_store *s, const char *what, uint64_t id)
{
    struct damage *d = &((struct sql_store *)s)->damage;
    atomic_store(&d->what, what);
    atomic_store(&d->id, id);
    atomic_fetch_add(&d->count, 1);
}

void damage_tell(struct damage *d, pawl_store_figures *figures)
{
    const char *what = atomic_load(&d->what);
    figures->damaged = atomic_load(&d->count);
    if (figures->damaged && what)
        (void)snprintf(figures->damage, sizeof figures->damage, "%s %llu", what,
                       (unsigned long long)atomic_load(&d->id));
}
