/* SPDX-License-Identifier: MIT */
/*
 * schedule/zone_rule.c -- the POSIX rule at the end of a TZif file: "CET-1CEST,M3.5.0,M10.5.0/3".
 *
 * Two offsets and the days on which they change, each year.  The offsets are written with the sign
 * of POSIX, west of Greenwich positive; in struct zone_rule east is positive.  Times of a day reach
 * from -167 to 167 hours (RFC 8536), so a change may lie in another year than its date.
 */
#include "schedule/civil.h"
#include "schedule/zone.h"

#include <string.h>

struct rule_text {
    const char *at, *end;
};

static bool skip(struct rule_text *t, char c)
{
    if (t->at == t->end || *t->at != c)
        return false;
    t->at++;
    return true;
}

static bool number(struct rule_text *t, int low, int high, int *ret)
{
    const char *begin = t->at;
    int n = 0;
    while (t->at < t->end && *t->at >= '0' && *t->at <= '9' && n <= high)
        n = n * 10 + (*t->at++ - '0');
    *ret = n;
    return t->at > begin && n >= low && n <= high;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A short name, "CET" or "<+0330>": skipped. */
static bool skip_name(struct rule_text *t)
{
    const char *begin = t->at;
    bool quoted = skip(t, '<');
    while (t->at < t->end && (quoted ? *t->at != '>' : is_letter(*t->at)))
        t->at++;
    return (!quoted || skip(t, '>')) && t->at - begin >= 3;
}

/* [+-]hh[:mm[:ss]] */
static bool clock_time(struct rule_text *t, int hours_max, int32_t *ret)
{
    int h, m = 0, s = 0;
    bool minus = skip(t, '-');
    if (!minus)
        (void)skip(t, '+');
    if (!number(t, 0, hours_max, &h) ||
        (skip(t, ':') && (!number(t, 0, 59, &m) || (skip(t, ':') && !number(t, 0, 59, &s)))))
        return false;
    *ret = (int32_t)(h * 3600 + m * 60 + s);
    if (minus)
        *ret = -*ret;
    return true;
}

static bool date(struct rule_text *t, struct zone_date *ret)
{
    bool ok;
    ret->time = 2 * 3600;
    if (skip(t, 'M')) {
        ret->kind = DATE_MONTH;
        ok = number(t, 1, 12, &ret->month) && skip(t, '.') && number(t, 1, 5, &ret->week) &&
             skip(t, '.') && number(t, 0, 6, &ret->day);
    } else if (skip(t, 'J')) {
        ret->kind = DATE_JULIAN;
        ok = number(t, 1, 365, &ret->day);
    } else {
        ret->kind = DATE_DAY;
        ok = number(t, 0, 365, &ret->day);
    }
    return ok && (!skip(t, '/') || clock_time(t, 167, &ret->time));
}

bool zone_read_rule(struct zone_rule *ret, pawl_str text)
{
    struct rule_text t = {text.ptr, text.ptr + text.len};
    int32_t west;
    *ret = (struct zone_rule){0};
    if (!skip_name(&t) || !clock_time(&t, 24, &west))
        return false;
    ret->standard = -west;
    if (t.at == t.end)
        return true;
    ret->changes = true;
    ret->summer = ret->standard + 3600;
    if (!skip_name(&t))
        return false;
    if (t.at < t.end && *t.at != ',') {
        if (!clock_time(&t, 24, &west))
            return false;
        ret->summer = -west;
    }
    /* POSIX leaves the dates of a rule without them to the system; a TZif file has them. */
    return skip(&t, ',') && date(&t, &ret->begin) && skip(&t, ',') && date(&t, &ret->end) &&
           t.at == t.end;
}

/* ---- When the clocks change ------------------------------------------------------------ */

static int64_t day_of(const struct zone_date *d, int64_t year)
{
    if (d->kind == DATE_DAY)
        return civil_days(year, 1, 1) + d->day;
    if (d->kind == DATE_JULIAN) /* the leap day is never counted */
        return civil_days(year, 1, 1) + d->day - 1 +
               (d->day >= 60 && civil_month_days(year, 2) == 29);
    int64_t first = civil_days(year, d->month, 1);
    int64_t day = first + (d->day - civil_weekday(first) + 7) % 7 + (d->week - 1) * 7;
    return day < first + civil_month_days(year, d->month) ? day : day - 7;
}

struct change {
    int64_t at;
    int32_t offset; /* from then on */
};

#define YEARS 5 /* around the asked one: a date may be a week away from its change */

/* In order; where two are at one instant, the one to summer time is the later one: a rule may say
 * so to have summer time all the year. */
static void changes_around(const struct zone_rule *r, int64_t year, struct change to[YEARS * 2])
{
    size_t n = 0;
    for (int i = 0; i < YEARS; i++) {
        int64_t y = year - YEARS / 2 + i;
        const struct change two[] = {
            {day_of(&r->end,   y) * DAY_SECONDS + r->end.time - r->summer,     r->standard},
            {day_of(&r->begin, y) * DAY_SECONDS + r->begin.time - r->standard, r->summer  },
        };
        for (size_t j = 0; j < 2; j++) {
            size_t k = n++;
            for (; k && to[k - 1].at > two[j].at; k--)
                to[k] = to[k - 1];
            to[k] = two[j];
        }
    }
}

struct segment zone_rule_segment(const struct zone_rule *rule, int64_t at)
{
    struct segment s = {-ZONE_FOREVER, ZONE_FOREVER, rule->standard};
    struct change changes[YEARS * 2];
    if (!rule->changes || at < -ZONE_FOREVER || at > ZONE_FOREVER)
        return s;
    changes_around(rule, civil_of_days(floor_div(at, DAY_SECONDS)).year, changes);
    for (size_t i = 0; i < YEARS * 2; i++)
        if (changes[i].at <= at) {
            s.start = changes[i].at;
            s.offset = changes[i].offset;
        } else {
            s.end = changes[i].at;
            break;
        }
    return s;
}
