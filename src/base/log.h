/* SPDX-License-Identifier: MIT */
/*
 * base/log.h -- one line per record: level, area, message with key=value pairs.
 *
 * A logger is a value handed down, never a global: two runtimes in one process
 * log to different places.  Default: logfmt on stderr, e.g.
 *   level=warn area=turn msg="event dropped" instance=order-1 event=Paid
 * Callers write `log_warn(l, "turn", "event dropped; acked", "instance=%s", id)`
 * with one printf string for the pairs (may be "").
 */
#ifndef PAWL_BASE_LOG_H
#define PAWL_BASE_LOG_H

#include "pawl/orchestration.h" /* pawl_log_level */
#include "pawl/types.h"

/* A record without pairs is written with "", which is correct C. */
#pragma GCC diagnostic ignored "-Wformat-zero-length"

struct logger {
    pawl_log_level level; /* records above it are dropped */
    void (*write)(void *user, pawl_log_level level, const char *area, const char *text);
    void *user;
    bool json; /* without `write`: one object per line instead of logfmt */
};

/* NULL write: a line on stderr with an ISO time stamp. */
void log_record(const struct logger *l, pawl_log_level level, const char *area, const char *message,
                const char *pairs, ...) PAWL_PRINTF(5, 6);
const char *log_level_name(pawl_log_level level);
/* -1 when the word is no level. */
int log_level_of(const char *word);

#define log_error(l, area, ...) log_record((l), PAWL_LOG_ERROR, (area), __VA_ARGS__)
#define log_warn(l, area, ...)  log_record((l), PAWL_LOG_WARN, (area), __VA_ARGS__)
#define log_info(l, area, ...)  log_record((l), PAWL_LOG_INFO, (area), __VA_ARGS__)
#define log_debug(l, area, ...)                                                                    \
    do {                                                                                           \
        if ((l)->level >= PAWL_LOG_DEBUG)                                                          \
            log_record((l), PAWL_LOG_DEBUG, (area), __VA_ARGS__);                                  \
    } while (0)

#endif
