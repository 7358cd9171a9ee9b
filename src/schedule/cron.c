/* SPDX-License-Identifier: MIT */
/*
 * schedule/cron.c -- read cron lines into sets.
 *
 * Every refusal is one line: the field, what is wrong, and what to write instead.  Syntax of other
 * dialects (years, W, #, ranges that wrap around) is refused by name, so that a line never means
 * other times than its author thinks.
 */
#include "schedule/cron.h"

#include "base/limits.h"
#include "pawl/schedule.h"
#include "schedule/civil.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELDS };

static const char *const month_names[] = {"january",   "february", "march",    "april",
                                          "may",       "june",     "july",     "august",
                                          "september", "october",  "november", "december"};
static const char *const weekday_names[] = {"sunday",   "monday", "tuesday", "wednesday",
                                            "thursday", "friday", "saturday"};

static const struct {
    const char *name;
    int low, high;
    const char *const *words; /* of low, low + 1, … */
    int word_count;
} fields[FIELDS] = {
    [SECOND] = {"second",  0, 59, NULL,          0 },
      [MINUTE] = {"minute",  0, 59, NULL,          0 },
    [HOUR] = {"hour",    0, 23, NULL,          0 },
      [DAY] = {"day",     1, 31, NULL,          0 },
    [MONTH] = {"month",   1, 12, month_names,   12},
      [WEEKDAY] = {"weekday", 0, 7,  weekday_names, 7 },
};

static const struct {
    const char *word, *line;
} nicknames[] = {
    {"@hourly",   "0 * * * *"},
    {"@daily",    "0 0 * * *"},
    {"@midnight", "0 0 * * *"},
    {"@weekly",   "0 0 * * 0"},
    {"@monthly",  "0 0 1 * *"},
    {"@yearly",   "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
};

/* The line and the field that are being read. */
struct reading {
    const char *line;
    int field;
    pawl_error *err;
};

#define refuse(r, ...) (error_set((r)->err, PAWL_INVALID, __VA_ARGS__), false)

static int word_value(int field, pawl_str text)
{
    for (int i = 0; i < fields[field].word_count; i++) {
        const char *word = fields[field].words[i];
        if ((text.len == 3 || text.len == strlen(word)) &&
            strncasecmp(word, text.ptr, text.len) == 0)
            return fields[field].low + i;
    }
    return -1;
}

/* Digits only; at most 9999, which is in no field. */
static int number_value(pawl_str text)
{
    int n = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return -1;
        n = n > 999 ? 9999 : n * 10 + text.ptr[i] - '0';
    }
    return text.len ? n : -1;
}

static bool value_of(const struct reading *r, pawl_str text, int *ret)
{
    int low = fields[r->field].low, high = fields[r->field].high;
    *ret = number_value(text);
    if (*ret < 0)
        *ret = word_value(r->field, text);
    if (*ret >= low && *ret <= high)
        return true;
    return refuse(r, "cron line '%s': %s '%.*s' is not known; write %d to %d%s", r->line,
                  fields[r->field].name, PAWL_FMT(text), low, high,
                  fields[r->field].words ? " or an English name" : "");
}

/* Cut `text` at the first `c`; true, with what is behind it, when there is one. */
static bool cut(pawl_str *text, char c, pawl_str *behind)
{
    const char *at = text->len ? memchr(text->ptr, c, text->len) : NULL;
    if (!at)
        return false;
    *behind = (pawl_str){at + 1, (size_t)(text->ptr + text->len - at - 1)};
    text->len = (size_t)(at - text->ptr);
    return true;
}

static bool is_any(pawl_str text)
{
    return text.len == 1 && (*text.ptr == '*' || *text.ptr == '?');
}

/* "22-2": the two ranges that it should be. */
static bool refuse_wrapped(const struct reading *r, int low, int last, int first, int high)
{
    char two[2][16];
    (void)snprintf(two[0], sizeof(two[0]), low == last ? "%d" : "%d-%d", low, last);
    (void)snprintf(two[1], sizeof(two[1]), first == high ? "%d" : "%d-%d", first, high);
    return refuse(r, "cron line '%s': %s %d-%d wraps around; write %s,%s", r->line,
                  fields[r->field].name, low, high, two[0], two[1]);
}

static bool range_of(const struct reading *r, pawl_str text, bool has_step, int *low, int *high)
{
    pawl_str to;
    *low = fields[r->field].low;
    /* 7 is another name of Sunday: `*` does not need it. */
    *high = r->field == WEEKDAY ? 6 : fields[r->field].high;
    if (is_any(text))
        return true;
    if (!cut(&text, '-', &to)) {
        if (!value_of(r, text, low))
            return false;
        if (has_step)
            return refuse(r, "cron line '%s': the %s has a step behind one value; write %d-%d/…",
                          r->line, fields[r->field].name, *low, *high);
        *high = *low;
        return true;
    }
    int last = *high, first = *low;
    if (!value_of(r, text, low) || !value_of(r, to, high))
        return false;
    if (*low > *high)
        return refuse_wrapped(r, *low, last, first, *high);
    return true;
}

/* The refusal for syntax of another dialect; NULL: it is none. */
static const char *dialect(const struct reading *r, pawl_str item)
{
    if (memchr(item.ptr, '#', item.len))
        return "'#' (the n-th weekday) is not known; write the days, as in 8-14 for the second";
    if (r->field == DAY && memchr(item.ptr, 'W', item.len))
        return "'W' (the nearest weekday) is not known; write the weekdays in the last field";
    if (r->field == DAY && item.len > 1 && memchr(item.ptr, 'L', item.len))
        return "'L' stands alone for the last day; write L, or the days";
    if (r->field == WEEKDAY && word_value(WEEKDAY, item) < 0 &&
        (*item.ptr == 'L' || item.ptr[item.len - 1] == 'L'))
        return "'L' is the last day of the month, in the day field; write the weekday without it";
    return NULL;
}

static bool read_item(const struct reading *r, pawl_str item, uint64_t *set)
{
    pawl_str step_text;
    int low, high, step = 1;
    if (!item.len)
        return refuse(r, "cron line '%s': the %s has an empty entry; write values between commas",
                      r->line, fields[r->field].name);
    const char *other = dialect(r, item);
    if (other)
        return refuse(r, "cron line '%s': %s", r->line, other);
    bool has_step = cut(&item, '/', &step_text);
    if (has_step && (step = number_value(step_text)) <= 0)
        return refuse(
            r,
            "cron line '%s': the step '/%.*s' of the %s is not a number from 1; write it like */5",
            r->line, PAWL_FMT(step_text), fields[r->field].name);
    if (!range_of(r, item, has_step, &low, &high))
        return false;
    for (int n = low; n <= high; n += step)
        *set |= UINT64_C(1) << n;
    return true;
}

static bool read_field(const struct reading *r, pawl_str text, struct cron_line *to)
{
    uint64_t *const sets[FIELDS] = {&to->seconds, &to->minutes, &to->hours,
                                    &to->days,    &to->months,  &to->weekdays};
    pawl_str rest = text;
    bool more = true;
    while (more) {
        pawl_str item = rest;
        more = cut(&item, ',', &rest);
        if (r->field == DAY && pawl_str_is(item, "L"))
            to->last_day = true;
        else if (!read_item(r, item, sets[r->field]))
            return false;
    }
    bool any = *text.ptr == '*' || *text.ptr == '?';
    to->any_hour |= any && r->field == HOUR;
    to->any_day |= any && r->field == DAY;
    to->any_weekday |= any && r->field == WEEKDAY;
    return true;
}

/* The fields of a line, at most FIELDS + 1 of them; how many there are. */
static size_t split(const char *text, pawl_str to[FIELDS + 1])
{
    size_t n = 0;
    for (;;) {
        text += strspn(text, " \t");
        size_t len = strcspn(text, " \t");
        if (!len)
            return n;
        if (n <= FIELDS)
            to[n] = (pawl_str){text, len};
        n++;
        text += len;
    }
}

static bool is_printable(const char *text)
{
    for (; *text; text++)
        if ((*text < ' ' && *text != '\t') || *text > '~')
            return false;
    return true;
}

/* Is there a day that fits? */
static bool fires(const struct cron_line *line)
{
    int longest = 0;
    for (int month = 1; month <= 12; month++)
        if (line->months >> month & 1 && civil_month_days(2000, month) > longest)
            longest = civil_month_days(2000, month);
    bool a_day = line->last_day || line->days & ((UINT64_C(2) << longest) - 1);
    return a_day || (!line->any_day && !line->any_weekday);
}

static bool read_fields(struct reading *r, const char *text, struct cron_line *to)
{
    pawl_str parts[FIELDS + 1];
    size_t n = split(text, parts);
    if (n == FIELDS + 1)
        return refuse(r, "cron line '%s' has 7 fields; years are not known: leave the last one out",
                      r->line);
    if (n != FIELDS && n != FIELDS - 1)
        return refuse(r,
                      "cron line '%s' has %zu fields; write minute hour day month weekday, or six "
                      "with seconds first",
                      r->line, n);
    size_t without = FIELDS - n; /* five fields: at second 0 */
    to->seconds = without ? 1 : 0;
    for (size_t i = 0; i < n; i++) {
        r->field = (int)(i + without);
        if (!read_field(r, parts[i], to))
            return false;
    }
    to->weekdays |= to->weekdays >> 7 & 1;
    return true;
}

/* "@daily" as a line; NULL: it was refused. */
static const char *nickname(const struct reading *r, const char *word)
{
    for (size_t i = 0; i < sizeof(nicknames) / sizeof(*nicknames); i++)
        if (strcasecmp(word, nicknames[i].word) == 0)
            return nicknames[i].line;
    (void)refuse(
        r,
        "cron line '%s' is not known; write @hourly, @daily, @weekly, @monthly, @yearly or "
        "five fields",
        r->line);
    return NULL;
}

bool cron_parse(struct cron_line *ret, const char *text, pawl_error *reterr)
{
    struct reading r = {.line = text, .err = reterr};
    *ret = (struct cron_line){0};
    if (strlen(text) > PAWL_SCHEDULE_LINE_BYTES)
        return refuse(&r, "a cron line has %zu bytes, the limit is %d; write several lines",
                      strlen(text), PAWL_SCHEDULE_LINE_BYTES);
    if (!is_printable(text))
        return refuse(&r, "a cron line has a byte that is not printable ASCII; write one line like "
                          "'30 2 * * *'");
    const char *line = text + strspn(text, " \t");
    if (*line == '@' && !(line = nickname(&r, line)))
        return false;
    if (!read_fields(&r, line, ret))
        return false;
    if (fires(ret))
        return true;
    error_set(reterr, PAWL_LIMIT,
              "cron line '%s' never fires: none of its months has such a day; correct day or month",
              text);
    return false;
}
