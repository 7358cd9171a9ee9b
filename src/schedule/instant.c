/* SPDX-License-Identifier: MIT */
/* schedule/instant.c -- see instant.h. */
#include "schedule/instant.h"

#include "schedule/civil.h"

#include <stdio.h>
#include <stdlib.h>

static int put_time(char to[PAWL_LOCAL_TIME_BYTES], int64_t ms)
{
    int64_t day = floor_div(ms, PAWL_DAYS(1)), rest = ms - day * PAWL_DAYS(1);
    struct civil c = civil_of_days(day);
    int n = snprintf(to, PAWL_LOCAL_TIME_BYTES, "%04d-%02d-%02dT%02d:%02d:%02d",
                     (int)c.year % 100000, c.month, c.day, (int)(rest / 3600000),
                     (int)(rest / 60000 % 60), (int)(rest / 1000 % 60));
    if (rest % 1000)
        n += snprintf(to + n, (size_t)(PAWL_LOCAL_TIME_BYTES - n), ".%03d", (int)(rest % 1000));
    return n;
}

const char *instant_text(char ret[PAWL_LOCAL_TIME_BYTES], int64_t ms)
{
    int n = put_time(ret, ms);
    (void)snprintf(ret + n, (size_t)(PAWL_LOCAL_TIME_BYTES - n), "Z");
    return ret;
}

/* Offsets with seconds, of times long ago, are written in minutes, as RFC 3339 has it. */
const char *instant_local_text(char ret[PAWL_LOCAL_TIME_BYTES], int64_t ms, int32_t offset)
{
    int n = put_time(ret, ms + (int64_t)offset * 1000), minutes = abs(offset) / 60;
    (void)snprintf(ret + n, (size_t)(PAWL_LOCAL_TIME_BYTES - n), "%c%02d:%02d",
                   offset < 0 ? '-' : '+', minutes / 60 % 100, minutes % 60);
    return ret;
}
