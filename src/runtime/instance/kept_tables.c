/* SPDX-License-Identifier: MIT */
/* runtime/instance/kept_tables.c -- see kept_tables.h. */
#include "runtime/instance/kept_tables.h"

#include <pthread.h>
#include <stdlib.h>

#define TABLES_KEPT 8
#define KEPT_EVENTS 200               /* shorter histories are read faster than they are kept */
#define KEPT_BYTES  ((size_t)8 << 20) /* larger ones are not kept */

struct kept_tables {
    pthread_mutex_t lock;
    struct kept_table items[TABLES_KEPT]; /* the last used first; x NULL: empty */
};

struct kept_tables *kept_tables_open(void)
{
    struct kept_tables *k = calloc(1, sizeof(*k));
    if (k)
        pthread_mutex_init(&k->lock, NULL);
    return k;
}

void kept_tables_close(struct kept_tables *k)
{
    if (!k)
        return;
    for (size_t i = 0; i < TABLES_KEPT; i++)
        execution_destroy(k->items[i].x);
    pthread_mutex_destroy(&k->lock);
    free(k);
}

struct kept_table kept_tables_take(struct kept_tables *k, uint64_t uid, uint64_t execution_no)
{
    struct kept_table found = {.uid = uid, .execution = execution_no};
    if (!k)
        return found;
    pthread_mutex_lock(&k->lock);
    for (size_t i = 0; i < TABLES_KEPT; i++)
        if (k->items[i].x && k->items[i].uid == uid && k->items[i].execution == execution_no) {
            found = k->items[i];
            k->items[i].x = NULL;
            break;
        }
    pthread_mutex_unlock(&k->lock);
    return found;
}

void kept_tables_put(struct kept_tables *k, struct kept_table table)
{
    execution *gone = table.x;
    if (k && table.x && table.seq >= KEPT_EVENTS && execution_bytes(table.x) <= KEPT_BYTES) {
        pthread_mutex_lock(&k->lock);
        size_t last =
            0; /* the place it takes: an empty one, or that of the last used longest ago */
        while (last < TABLES_KEPT - 1 && k->items[last].x)
            last++;
        gone = k->items[last].x;
        for (; last > 0; last--)
            k->items[last] = k->items[last - 1];
        k->items[0] = table;
        pthread_mutex_unlock(&k->lock);
    }
    execution_destroy(gone);
}
