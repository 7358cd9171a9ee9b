/* SPDX-License-Identifier: MIT */
/* tables/operations.c -- see operations.h. */
#include "tables/operations.h"

#include "base/attr.h"

#include <string.h>

/* clang-format off */
#define STEERS(OP, word, scope, message, reason, fields, done, ...) \
    [PAWL_OP_##OP] = {word, word, AT_STEER(word), message, reason, OP_INSTANCE | (fields), done},

const struct operation operations[OPERATION_COUNT] = {
    [PAWL_OP_START] = {"start", NULL, AT_START, PAWL_MSG_START, NULL, OP_DATA, "started"},
    [PAWL_OP_RAISE] = {"raise", NULL, AT_RAISE, PAWL_MSG_EXTERNAL_RAISED, NULL,
                       OP_INSTANCE | OP_EVENT | OP_DATA | OP_KEY | OP_AWAIT, "event raised"},
    STEERING(STEERS)
    [PAWL_OP_REMOVE] = {"rm", "delete", AT_REMOVE, 0, NULL, OP_INSTANCE | OP_FORCE, "removed"},
    [PAWL_OP_PRUNE] = {"prune", NULL, AT_PRUNE, 0, NULL, 0, "pruned"},
    [PAWL_OP_COMPLETE] = {"complete", NULL, AT_NONE, 0, NULL, OP_DATA, "completed"},
    [PAWL_OP_HEARTBEAT] = {"heartbeat", NULL, AT_NONE, 0, NULL, OP_DATA, "heard"},
    [PAWL_OP_SCHEDULE_PUT] = {"schedule put", NULL, AT_NONE, 0, NULL, OP_SCHEDULE | OP_DATA, "stored"},
    [PAWL_OP_SCHEDULE_REMOVE] = {"schedule rm", NULL, AT_NONE, 0, NULL, OP_SCHEDULE, "removed"},
    [PAWL_OP_SCHEDULE_PAUSE] = {"schedule pause", NULL, AT_NONE, 0, NULL, OP_SCHEDULE | OP_DATA, "paused"},
    [PAWL_OP_SCHEDULE_RESUME] = {"schedule resume", NULL, AT_NONE, 0, NULL, OP_SCHEDULE, "resumed"},
    [PAWL_OP_SCHEDULE_TRIGGER] = {"schedule run", NULL, AT_NONE, 0, NULL, OP_SCHEDULE | OP_KEY, "started"},
    [PAWL_OP_SCHEDULE_BACKFILL] = {"schedule backfill", NULL, AT_NONE, 0, NULL, OP_SCHEDULE | OP_DATA, "begun"},
    [PAWL_OP_SET_ATTRIBUTES] = {"attr", NULL, AT_ATTRIBUTES, 0, NULL, OP_INSTANCE | OP_DATA, "set"},
    [PAWL_OP_LIMIT_PUT] = {"limit put", NULL, AT_NONE, 0, NULL, OP_LIMIT | OP_DATA, "stored"},
    [PAWL_OP_LIMIT_REMOVE] = {"limit rm", NULL, AT_NONE, 0, NULL, OP_LIMIT, "removed"},
    [PAWL_OP_RERUN] = {"rerun", NULL, AT_STEER("rerun"), PAWL_MSG_START, NULL,
                       OP_INSTANCE | OP_DATA, "runs again"},
    [PAWL_OP_UPDATE] = {"update", NULL, AT_UPDATE, PAWL_MSG_UPDATE, NULL,
                        OP_INSTANCE | OP_UPDATE | OP_DATA | OP_KEY, "answered"},
};
/* clang-format on */

bool operation_of_word(const char *word, pawl_op *ret)
{
    for (size_t i = 0; i < COUNT_OF(operations); i++)
        if (strcmp(operations[i].word, word) == 0) {
            *ret = (pawl_op)i;
            return true;
        }
    return false;
}

bool operation_of_action(const char *action, pawl_op *ret)
{
    for (size_t i = 0; i < COUNT_OF(operations); i++)
        if (operations[i].action && strcmp(operations[i].action, action) == 0) {
            *ret = (pawl_op)i;
            return true;
        }
    return false;
}
