/* SPDX-License-Identifier: MIT */
/* runtime/instance/defer.c -- see defer.h. */
#include "runtime/instance/defer.h"

#include "runtime/core/health.h"
#include "runtime/core/items.h"
#include "runtime/core/letter.h"

void defer_unread(pawl_runtime *rt, struct letter *l)
{
    health_wait(rt, 100);
    items_hold(rt);
    letter_later(rt, l);
}

void defer_damaged(pawl_runtime *rt, struct letter *l)
{
    letter_drop(rt, l, PAWL_CORRUPT,
                "stored rows of this instance are damaged; run pawl doctor, restore a backup");
}
