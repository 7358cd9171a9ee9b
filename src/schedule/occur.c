/* SPDX-License-Identifier: MIT */
/*
 * schedule/occur.c -- from times on the wall to instants.
 *
 * The walk goes from segment to segment of the zone.  Within a segment the offset is the same, so
 * a cron line is asked once for the next local time there.  What clocks do between two segments is
 * decided at their borders:
 *
 *   a line whose hour begins with * counts instants: every segment counts in full
 *   gap    local times that no segment has: an occurrence at the beginning of the later one (shift)
 *   fold   local times that both have: left out of the later one (first), of the earlier one
 *          (second), or of neither (both)
 */
#include "schedule/plan.h"

/* Did a named time fall into the gap before this segment? */
static bool shifts(const struct plan *p, const struct cron_line *line, const struct segment *s)
{
    int64_t unused;
    if (line->any_hour || p->gap != PAWL_GAP_SHIFT || s->start <= -ZONE_FOREVER)
        return false;
    struct segment before = zone_segment(p->zone, s->start - 1);
    return cron_next(line, s->start + before.offset, s->start + s->offset, &unused);
}

/* The next one inside the segment, from `from` on and before `to`. */
static bool next_inside(const struct plan *p, const struct cron_line *line, const struct segment *s,
                        int64_t from, int64_t to, int64_t *ret)
{
    int64_t low = from + s->offset, high = to + s->offset, local;
    if (!line->any_hour && p->fold == PAWL_FOLD_FIRST && s->start > -ZONE_FOREVER)
        low = larger(low, s->start + zone_segment(p->zone, s->start - 1).offset);
    if (!line->any_hour && p->fold == PAWL_FOLD_SECOND && s->end < ZONE_FOREVER)
        high = smaller(high, s->end + zone_segment(p->zone, s->end).offset);
    if (!cron_next(line, low, high, &local))
        return false;
    *ret = local - s->offset;
    return true;
}

bool line_next(const struct plan *p, const struct cron_line *line, int64_t after, int64_t until,
               int64_t *ret)
{
    int64_t from = after + 1;
    while (from <= until && from < ZONE_FOREVER) {
        struct segment s = zone_segment(p->zone, from);
        if (s.start == from && shifts(p, line, &s)) {
            *ret = from;
            return true;
        }
        if (next_inside(p, line, &s, from, smaller(s.end, until + 1), ret))
            return true;
        from = s.end;
    }
    return false;
}
