/* SPDX-License-Identifier: MIT */
/* runtime/core/info.c -- see info.h. */
#include "runtime/core/info.h"

#include "tables/instance_texts.h"

void info_of_row(pawl_info *info, const pawl_row *row)
{
    *info = (pawl_info){.instance = row->id,
                        .uid = row->uid,
                        .orchestration = row->orchestration,
                        .version = row->version,
                        .state = row->state,
                        .execution = row->execution,
                        .created_ms = row->created_ms,
                        .updated_ms = row->updated_ms,
                        .parent = row->parent_id,
                        .history_length = row->last_seq};
#define TAKE(field, ...) info->field = row->field;
    INSTANCE_TEXTS(TAKE)
#undef TAKE
    if (row->state == PAWL_COMPLETED || row->state == PAWL_CONTINUED_AS_NEW)
        info->output = row->output;
    else
        info->error = row->output;
}
