/* SPDX-License-Identifier: MIT */
/* tests/unit/test_zone.c -- zone files: names, damaged bytes, rules; what a machine without them says. */
#include "../harness.h"
#include "random.h"
#include "schedule/zone.h"
#include "zones.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pawl_error err;
static pawl_mem *mem;

static const struct zone *loaded(const char *name)
{
    const struct zone *z;
    if (!mem)
        mem = pawl_mem_new();
    ck_assert_msg(zone_load(name, mem, &z, &err) == PAWL_OK, "%s", err.text);
    return z;
}

/* The bytes of a zone's file, to be changed. */
static size_t bytes_of(const char *name, unsigned char *to, size_t size)
{
    char path[200];
    (void)snprintf(path, sizeof(path), "/usr/share/zoneinfo/%s", name);
    FILE *f = fopen(path, "re");
    ck_assert_msg(f != NULL, "%s: install the package tzdata", path);
    size_t n = fread(to, 1, size, f);
    ck_assert(n < size && !fclose(f));
    return n;
}

TEST(y9_utc_needs_no_file)
{
    const struct zone *z = loaded("Europe/Berlin");
    ck_assert(z != NULL);
    setenv("TZDIR", "/nowhere", 1);
    ck_assert(loaded(NULL) == NULL && loaded("") == NULL && loaded("UTC") == NULL);
    struct segment s = zone_segment(NULL, 1000);
    ck_assert(s.offset == 0 && s.start == -ZONE_FOREVER && s.end == ZONE_FOREVER);
}

TEST(y9_an_unknown_zone_names_the_package)
{
    const struct zone *z;
    mem = pawl_mem_new();
    ck_assert_int_eq(zone_load("Europe/Berln", mem, &z, &err), PAWL_NOT_FOUND);
    ck_assert_str_eq(err.text, "zone 'Europe/Berln' is unknown: it is not in /usr/share/zoneinfo; "
                               "write it like Europe/Berlin, or install the package tzdata (old "
                               "names: tzdata-legacy)");
    ck_assert_int_eq(zone_load("Europe/Berlin/Mitte", mem, &z, &err), PAWL_NOT_FOUND);
    setenv("TZDIR", "/nowhere", 1);
    ck_assert_int_eq(zone_load("Europe/Berlin", mem, &z, &err), PAWL_NOT_FOUND);
    ck_assert_str_eq(err.text, "zone 'Europe/Berlin' is unknown: there are no time zones in "
                               "/nowhere; install the package tzdata, or set TZDIR");
}

TEST(y9_a_name_never_leaves_the_directory)
{
    static const char *const bad[] = {
        "../../etc/passwd", "/etc/localtime",  "Europe//Berlin", "Europe/", "Europe/./x", "a b",
        "Europe\\Berlin",   "Europe/Berlin\n", "\xc3\xa4",       "."};
    const struct zone *z;
    char longest[70];
    mem = pawl_mem_new();
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        ck_assert_msg(zone_load(bad[i], mem, &z, &err) == PAWL_INVALID, "%s", bad[i]);
        ck_assert(strstr(err.text, "write it like Europe/Berlin") && !strchr(err.text, '\n'));
    }
    memset(longest, 'a', sizeof(longest));
    longest[64] = 0;
    ck_assert_int_eq(zone_load(longest, mem, &z, &err), PAWL_NOT_FOUND);
    longest[64] = 'a';
    longest[65] = 0;
    ck_assert_int_eq(zone_load(longest, mem, &z, &err), PAWL_INVALID);
}

TEST(y9_what_is_no_zone_file_is_refused)
{
    const struct zone *z;
    mem = pawl_mem_new();
    ck_assert_int_eq(zone_load("Europe", mem, &z, &err), PAWL_INVALID); /* a directory */
    ck_assert(strstr(err.text, "is not a file of at most"));
    char dir[] = "/tmp/pawl-zones-XXXXXX", path[100];
    ck_assert(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/Long", dir);
    FILE *f = fopen(path, "we");
    ck_assert(f && fseek(f, ZONE_FILE_MAX, SEEK_SET) == 0 && fputc('x', f) == 'x' && !fclose(f));
    setenv("TZDIR", dir, 1);
    ck_assert_int_eq(zone_load("Long", mem, &z, &err), PAWL_INVALID);
    ck_assert(strstr(err.text, "is not a file of at most 262144 bytes"));
    ck_assert_int_eq(truncate(path, ZONE_FILE_MAX), 0);
    ck_assert_int_eq(zone_load("Long", mem, &z, &err), PAWL_INVALID);
    ck_assert_msg(strstr(err.text, "zone 'Long' cannot be used: it is not a TZif file with 64-bit "
                                   "times ("),
                  "%s", err.text);
    ck_assert(!unlink(path) && !rmdir(dir));
}

TEST(y9_the_hash_changes_with_the_bytes)
{
    static unsigned char a[8000];
    struct zone x, y;
    size_t n = bytes_of("Europe/Berlin", a, sizeof(a));
    ck_assert(zone_read(&x, (pawl_str){(char *)a, n}, &err));
    ck_assert_uint_eq(x.hash, loaded("Europe/Berlin")->hash);
    a[15] ^= 1; /* a byte that means nothing */
    ck_assert(zone_read(&y, (pawl_str){(char *)a, n}, &err));
    ck_assert_uint_ne(x.hash, y.hash);
}

/* A file that ends too early is refused at each length. */
TEST(y9_a_cut_file_is_refused)
{
    static unsigned char a[8000];
    size_t n = bytes_of("America/New_York", a, sizeof(a));
    struct zone z;
    for (size_t len = 0; len < n; len++) {
        char *copy = malloc(len + 1); /* so that a byte behind it is seen by ASan */
        memcpy(copy, a, len);
        must_hold(!zone_read(&z, (pawl_str){copy, len}, &err), "%zu of %zu bytes", len, n);
        free(copy);
    }
    ck_assert(zone_read(&z, (pawl_str){(char *)a, n}, &err));
}

TEST(y9_damaged_bytes_are_refused_or_give_offsets)
{
    static unsigned char good[8000], a[8000];
    size_t n = bytes_of("Africa/Casablanca", good, sizeof(good));
    uint64_t seed = 7;
    unsigned accepted = 0;
    for (int round = 0; round < 20000; round++) {
        struct zone z;
        memcpy(a, good, n);
        for (uint64_t k = 1 + random_below(&seed, 4); k; k--)
            a[random_below(&seed, n)] = (unsigned char)next_random(&seed);
        if (!zone_read(&z, (pawl_str){(char *)a, n}, &err))
            continue;
        accepted++;
        int64_t at = -ZONE_FOREVER;
        for (int i = 0; i < 100 && at < ZONE_FOREVER; i++) {
            struct segment s = zone_segment(&z, at);
            must_hold(s.start <= at && s.end > at && s.offset >= -93599 && s.offset <= 93599,
                      "round %d at %lld", round, (long long)at);
            at = s.end;
        }
    }
    ck_assert_uint_gt(accepted, 1000);
}

static uint32_t count_at(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Where the 64-bit block begins. */
static unsigned char *second_block(unsigned char *a)
{
    uint32_t ut = count_at(a + 20), standard = count_at(a + 24), leaps = count_at(a + 28),
             times = count_at(a + 32), types = count_at(a + 36), letters = count_at(a + 40);
    return a + 44 + times * 5 + types * 6 + letters + leaps * 8 + standard + ut;
}

static void is_refused(const unsigned char *a, size_t n, const char *why)
{
    struct zone z;
    ck_assert(!zone_read(&z, (pawl_str){(const char *)a, n}, &err));
    ck_assert_msg(strstr(err.text, why), "%s", err.text);
}

TEST(y9_each_fault_of_a_file_has_its_words)
{
    static unsigned char good[8000], a[8000];
    size_t n = bytes_of("Europe/Berlin", good, sizeof(good)),
           at = (size_t)(second_block(good) - good);
    uint32_t times = count_at(good + at + 32);
#define CHANGED(place, value) (memcpy(a, good, n), a[place] = (value), a)
    is_refused(CHANGED(0, 'X'), n, "it is not a TZif file");
    is_refused(CHANGED(4, 0), n, "it is not a TZif file");
    is_refused(CHANGED(at, 'X'), n, "its 64-bit block is cut off");
    is_refused(CHANGED(at + 20, 0xff), n, "its 64-bit block is cut off");
    is_refused(CHANGED(at + 44, 0x7f), n, "its transitions are not in order");
    is_refused(CHANGED(at + 44 + times * 8, 0xff), n, "its transitions are not in order");
    is_refused(CHANGED(at + 44 + times * 9, 0x10), n,
               "its transitions are not in order"); /* offset */
    is_refused(CHANGED(n - 3, 'x'), n, "its last line is not a rule");
    is_refused(CHANGED(n - 1, 'x'), n, "its last line is not a rule");
}

/* The smallest file: one offset, no transition, a rule or none. */
static size_t smallest(unsigned char *to, const char *rule, unsigned leaps, unsigned types)
{
    unsigned char head[44] = {'T', 'Z', 'i', 'f', '2'};
    head[39] = 1;
    head[43] = 4;
    memset(to, 0, 4000);
    memcpy(to, head, 44);
    memcpy(to + 54, head, 44);
    to[54 + 31] = (unsigned char)leaps;
    to[54 + 38] = (unsigned char)(types >> 8);
    to[54 + 39] = (unsigned char)types;
    size_t n = 54 + 44 + types * 6 + 4 + leaps * 12;
    return n + (size_t)sprintf((char *)to + n, "\n%s\n", rule);
}

TEST(y9_limits_of_a_file)
{
    static unsigned char a[4000];
    struct zone z;
    ck_assert(zone_read(&z, (pawl_str){(char *)a, smallest(a, "", 0, 1)}, &err));
    ck_assert_int_eq(zone_segment(&z, 5).end, ZONE_FOREVER);
    ck_assert(zone_read(&z, (pawl_str){(char *)a, smallest(a, "", 0, 256)}, &err));
    is_refused(a, smallest(a, "", 0, 257), "more transitions or offsets than a zone can have");
    is_refused(a, smallest(a, "", 0, 0), "more transitions or offsets than a zone can have");
    is_refused(a, smallest(a, "", 1, 1), "it counts leap seconds; use the zone without right/");
    is_refused(a, smallest(a, "CET", 0, 1), "its last line is not a rule");
}

/* ---- Rules ----------------------------------------------------------------------------- */

TEST(y9_rules_are_read_as_the_c_library_reads_them)
{
    static const char *const rules[] = {
        "UTC0",
        "<+03>-3",
        "<-0330>3:30",
        "CET-1CEST,M3.5.0,M10.5.0/3",
        "EST5EDT,M3.2.0,M11.1.0",
        "IST-1GMT0,M10.5.0,M3.5.0/1",
        "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
        "NST3:30NDT,M3.2.0,M11.1.0",
        "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
        "EST5EDT4,J60,J300",
        "EST5EDT,59,300/12:30:15",
        "AEST-10AEDT,M10.1.0,M4.1.0/3",
        "IST-2IDT,M3.4.4/26,M10.5.0",
        "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1",
    };
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
        struct zone_rule rule;
        ck_assert_msg(zone_read_rule(&rule, pawl_s(rules[i])), "%s", rules[i]);
        zone_use(rules[i]);
        for (int64_t at = date_of(1999, 12, 20); at < date_of(2010, 2, 1); at += 1861) {
            struct segment s = zone_rule_segment(&rule, at);
            must_hold(s.start <= at && at < s.end && at + s.offset == zone_wall(at),
                      "%s at %lld: %d, not %lld", rules[i], (long long)at, s.offset,
                      (long long)(zone_wall(at) - at));
        }
    }
}

/* RFC 8536: summer time all the year is written as a change that takes no time. */
TEST(y9_summer_time_all_the_year)
{
    struct zone_rule rule;
    ck_assert(zone_read_rule(&rule, pawl_s("EST5EDT,0/0,J365/25")));
    for (int64_t at = date_of(2023, 12, 1); at < date_of(2025, 2, 1); at += 600)
        must_hold(zone_rule_segment(&rule, at).offset == -4 * 3600, "%lld", (long long)at);
}

TEST(y9_what_is_no_rule_is_refused)
{
    static const char *const bad[] = {"",
                                      "CET",
                                      "CE-1",
                                      "<+1-1",
                                      "CET-25",
                                      "CET-1CEST",
                                      "CET-1CEST,",
                                      "CET-1CEST,M3.5.0",
                                      "CET-1CEST,M3.5.0,",
                                      "CET-1CEST,M0.5.0,M10.5.0",
                                      "CET-1CEST,M13.5.0,M10.5.0",
                                      "CET-1CEST,M3.0.0,M10.5.0",
                                      "CET-1CEST,M3.6.0,M10.5.0",
                                      "CET-1CEST,M3.5.7,M10.5.0",
                                      "CET-1CEST,J0,J1",
                                      "CET-1CEST,J366,J1",
                                      "CET-1CEST,366,1",
                                      "CET-1CEST,M3.5.0/168,M10.5.0",
                                      "CET-1CEST,M3.5.0/2:60,M10.5.0",
                                      "CET-1CEST,M3.5.0/2:00:60,M10.5.0",
                                      "CET-1CEST,M3.5.0,M10.5.0/3x",
                                      "CET-1CEST-99999999999,M3.5.0,M10.5.0",
                                      "CET-1CE,M3.5.0,M10.5.0"};
    struct zone_rule rule;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ck_assert_msg(!zone_read_rule(&rule, pawl_s(bad[i])), "%s", bad[i]);
    ck_assert(zone_read_rule(&rule, pawl_s("CET-24CEST,M3.5.0/167,M10.5.0/-167")));
}
