/* SPDX-License-Identifier: MIT */
/* tests/unit/test_slots.c -- what the slot file says of the process before. */
#include "../harness.h"

#include "runtime/core/slots.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[] = "/tmp/pawl-slots.XXXXXX";

static const char *file(void)
{
    static char path[64];
    (void)snprintf(path, sizeof(path), "%s/slots", dir);
    return path;
}

static struct slots_past past;

static struct slots *start(void)
{
    struct slots *s = slots_open(dir, &past);
    ck_assert(s);
    slots_begin(s, &past);
    return s;
}

static struct slots *first_start(void)
{
    ck_assert(mkdtemp(dir));
    return start();
}

/* As after kill -9: nothing is said of the end. */
static void end(struct slots *s)
{
    slots_close(s, false);
}

static void over(struct slots *s)
{
    slots_close(s, true);
    ck_assert_int_eq(unlink(file()), 0);
    ck_assert_int_eq(rmdir(dir), 0);
}

static void write_boot(uint64_t number)
{
    int fd = open(file(), O_RDWR);
    ck_assert_int_eq(pwrite(fd, &number, sizeof(number), SLOTS_BOOT_AT), sizeof(number));
    close(fd);
}

static uint64_t read_boot(void)
{
    uint64_t number = 0;
    int fd = open(file(), O_RDONLY);
    ck_assert_int_eq(pread(fd, &number, sizeof(number), SLOTS_BOOT_AT), sizeof(number));
    close(fd);
    return number;
}

TEST(what_ran_in_another_boot_is_told_as_such)
{
    struct slots *s = first_start();
    ck_assert_uint_ne(read_boot(), 0);
    slots_turn(s, 5, 6);
    slots_work(s, 0, 7);
    end(s);
    s = slots_open(dir, &past); /* looked at, not begun: it is still there */
    ck_assert(past.unclean && !past.rebooted);
    end(s);
    write_boot(read_boot() + 1);
    s = start();
    ck_assert(past.unclean && past.rebooted);
    ck_assert_uint_eq(past.turn_uid, 5);
    ck_assert_uint_eq(past.work[0], 7);
    slots_work(s, 0, 7);
    end(s);
    s = start(); /* this boot again */
    ck_assert(past.unclean && !past.rebooted);
    over(s);
}

TEST(where_the_boot_is_not_known_nothing_is_assumed)
{
    struct slots *s = first_start();
    slots_work(s, 0, 7);
    end(s);
    write_boot(0);
    s = start();
    ck_assert(past.unclean && !past.rebooted);
    over(s);
}

TEST(one_that_said_so_itself_is_to_blame_in_any_boot)
{
    struct slots *s = first_start();
    slots_work(s, 0, 7);
    slots_fault();
    end(s);
    write_boot(1);
    s = start();
    ck_assert(past.known && !past.rebooted);
    over(s);
}

/* Of several that run at the end, one is counted at the tenth end in a row: a machine that went
 * down is not one of the ten. */
TEST(a_machine_that_went_down_is_not_counted_among_the_ends)
{
    static const uint32_t times[] = {1, 2, 2, 3};
    struct slots *s = first_start();
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        slots_work(s, 0, 7);
        slots_work(s, 1, 8);
        end(s);
        if (i == 2)
            write_boot(1);
        s = start();
        ck_assert(past.several && past.rebooted == (i == 2));
        ck_assert_uint_eq(past.times[0], times[i]);
    }
    over(s);
}

/* The runtime ends the process itself (the store is gone, close left activities behind). */
TEST(an_end_that_we_chose_is_blamed_on_nothing)
{
    struct slots *s = first_start();
    slots_work(s, 0, 7);
    slots_absolve(s);
    slots_work(s, 1, 8); /* threads may still write */
    end(s);
    s = start();
    ck_assert(!past.unclean && past.work_count == 0);
    slots_work(s, 0, 7);
    end(s);
    s = start(); /* it counts for the process that said it only */
    ck_assert(past.unclean && past.work_count == 1);
    over(s);
}

TEST(who_said_so_is_told_alone_and_in_its_words)
{
    struct slots *s = first_start();
    slots_turn(s, 5, 6);
    slots_work(s, 3, 7); /* entered last: this thread would be it */
    slots_say("it was me");
    slots_fault();
    end(s);
    s = start();
    ck_assert(past.unclean && past.known && !past.several);
    ck_assert_str_eq(past.text, "it was me");
    ck_assert_uint_eq(past.turn_uid, 0);
    ck_assert_uint_eq(past.turn_item, 0);
    ck_assert_uint_eq(past.work_count, 1);
    ck_assert_uint_eq(past.work[0], 7);
    slots_work(s, 3, 7);
    slots_turn(s, 5, 6);
    slots_fault_turn(s);
    end(s);
    s = start();
    ck_assert(past.known && past.text[0] == 0);
    ck_assert_uint_eq(past.turn_uid, 5);
    ck_assert_uint_eq(past.turn_item, 6);
    ck_assert_uint_eq(past.work_count, 0);
    over(s);
}

TEST(what_a_culprit_says_is_cut_where_the_file_ends)
{
    char text[2 * SLOTS_TEXT];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    struct slots *s = first_start();
    slots_work(s, 0, 7);
    slots_say(text);
    end(s);
    s = start();
    ck_assert_uint_eq(strlen(past.text), SLOTS_TEXT - 1);
    over(s);
}

TEST(nobody_is_to_blame_for_what_is_over)
{
    struct slots *s = first_start();
    slots_turn(s, 5, 6);
    slots_turn(s, 0, 0);
    slots_work(s, 0, 7);
    slots_work(s, 0, 0);
    slots_say("nothing ran");
    slots_fault();
    end(s);
    s = start();
    ck_assert(past.unclean && !past.known && !past.several && !past.text[0]);
    ck_assert(!past.turn_uid && !past.work_count);
    over(s);
}

TEST(one_alone_is_not_several)
{
    struct slots *s = first_start();
    slots_work(s, 0, 7);
    end(s);
    s = start();
    ck_assert(past.unclean && !past.several);
    ck_assert_uint_eq(past.times[0], 0);
    slots_turn(s, 5, 0);
    slots_work(s, 0, 7);
    end(s);
    s = start();
    ck_assert(past.several && past.turn_uid == 5);
    ck_assert_uint_eq(past.times[0], 1);
    over(s);
}

TEST(the_last_worker_has_a_slot_and_one_more_has_none)
{
    struct slots *s = first_start();
    slots_work(s, SLOTS_WORKERS - 1, 7);
    slots_work(s, SLOTS_WORKERS, 8);
    ck_assert(slots_runs(s, 7) && !slots_runs(s, 8) && !slots_runs(NULL, 7));
    ck_assert(slots_ran(dir, 7) && !slots_ran(dir, 8) && !slots_ran("/nowhere", 7));
    slots_absolve(s);
    ck_assert(!slots_ran(dir, 7));
    over(s);
}
