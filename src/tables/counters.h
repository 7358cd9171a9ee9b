/* SPDX-License-Identifier: MIT */
/*
 * tables/counters.h -- what a runtime counts, once.
 *
 * A row is a field of pawl_stats (pawl/runtime.h), the name of the metric and a line about it.
 * The runtime keeps an atomic counter for each (core/parts.h), COUNT() adds to it where the thing
 * happens, pawl_runtime_stats() copies it (api/stats.c), and /metrics prints it
 * (server/metrics.c).  A new counter is the field, the row, and the place that counts.
 */
#ifndef PAWL_TABLES_COUNTERS_H
#define PAWL_TABLES_COUNTERS_H

/* clang-format off */
#define COUNTERS(X)                                                                              \
    X(turns, "turns_total", "turns of orchestrations")                                           \
    X(rounds, "rounds_total", "rounds committed; by commits: rounds per commit")                 \
    X(commits, "commits_total", "group commits, one sync each")                                  \
    X(events, "events_total", "history events appended")                                         \
    X(activities_started, "activity_attempts_total", "activity attempts begun here")             \
    X(activities_completed, "activities_completed_total", "activities completed")                \
    X(activities_failed, "activities_failed_total", "activities failed for good")                \
    X(activities_retried, "activities_retried_total", "attempts followed by another")            \
    X(timers_fired, "timers_fired_total", "timers fired")                                        \
    X(replays, "replays_total", "histories replayed")                                            \
    X(replayed_events, "replayed_events_total", "events replayed")                               \
    X(evictions, "evictions_total", "fibers dropped from memory")                                \
    X(mismatches, "parked_total", "turns parked: code does not fit its history")                 \
    X(quarantined, "quarantined_total", "messages and work given up")                            \
    X(retired, "retired_total", "instances removed by --retain-completed")                       \
    X(store_errors, "store_errors_total", "commits that failed")                                 \
    X(raises_dropped, "raises_dropped_total", "events of pawl_raise() that no instance could take")
/* clang-format on */

#endif
