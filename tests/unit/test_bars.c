/* SPDX-License-Identifier: MIT */
/* tests/unit/test_bars.c -- paper, and timelines drawn on it, character by character. */
#include "../harness.h"
#include "cli/bars.h"

#include <stdlib.h>
#include <string.h>

static struct cli cli = {.prog = "pawl", .args = {.color = COLOR_NEVER}};
static struct paper p;

static void open_paper(unsigned width, const char *locale)
{
    cli.mem = pawl_mem_new();
    setenv("LC_ALL", locale, 1);
    paper_open(&p, &cli, cli.mem, width);
}

static void close_paper(void)
{
    paper_close(&p);
    pawl_mem_free(cli.mem);
}

static void shows(const char *want)
{
    ck_assert_msg(strcmp(p.ink.ptr, want) == 0, "\n%s\nnot\n\n%s", p.ink.ptr, want);
}

#define AXIS                                                                                       \
    "\"from\":1000,\"to\":2000,\"ended_at\":2000,\"now\":9000,\"axis\":[{\"from\":1000,\"to\":"    \
    "2000,\"at\":0,\"until\":1,\"cut\":false}]"

TEST(paper_cuts_cleans_and_pads)
{
    open_paper(10, "C.UTF-8");
    paper_put(&p, TONE_NONE, pawl_s("ab\033[2Jcdefghijk"));
    paper_line(&p);
    paper_cell(&p, TONE_NONE, pawl_s("abcdef"), 4);
    paper_put(&p, TONE_NONE, pawl_s("注文注文"));
    paper_line(&p);
    paper_to(&p, 4);
    paper_line(&p);
    shows("ab\\x1b[2J…\nabc…注文…\n\n");
    ck_assert(pawl_str_is(paper_row(&p, 1), "abc…注文…"));
    ck_assert_uint_eq(paper_row(&p, 3).len, 0);
    close_paper();
}

TEST(text_flows_at_blanks)
{
    open_paper(12, "C.UTF-8");
    paper_flow(&p, TONE_NONE, pawl_s("it waits for an event-of-any-length now"), 2);
    shows("  it waits\n  for an\n  event-of-a\n  ny-length\n  now\n");
    close_paper();
}

TEST(steps_are_drawn_by_kind_and_outcome)
{
    open_paper(60, "C.UTF-8");
    bars_draw(
        &p,
        pawl_s("{" AXIS ",\"bars\":["
               "{\"kind\":\"activity\",\"name\":\"Pay\",\"outcome\":\"done\",\"scheduled_at\":1000,"
               "\"started_at\":1250,\"ended_at\":1500,\"attempts\":1},"
               "{\"kind\":\"timer\",\"name\":null,\"outcome\":\"done\",\"scheduled_at\":1000,"
               "\"ended_at\":2000},"
               "{\"kind\":\"event\",\"name\":\"Review\",\"outcome\":\"done\",\"scheduled_at\":1500,"
               "\"ended_at\":1750},"
               "{\"kind\":\"child\",\"name\":\"Ship\",\"outcome\":\"failed\",\"scheduled_at\":1500,"
               "\"ended_at\":2000,\"error\":\"no truck\"},"
               "{\"kind\":\"queue\",\"name\":\"mail\",\"outcome\":\"done\",\"scheduled_at\":1750,"
               "\"ended_at\":1750}]}"));
    shows("             0                           1.0 s\n"
          "Pay          ░░░░░░░░████████                  500 ms\n"
          "timer        ───────────────────────────────┤  1.0 s\n"
          "event Review                 ┄┄┄┄┄┄┄◆          250 ms\n"
          "child Ship                   ═══════════════✗  failed 500 ms\n"
          "queue mail                           ◆         0 ms\n"
          "\n"
          "child Ship try 1 at +500 ms, 500 ms: no truck\n"
          "\n"
          "█ runs  ░ queued  ─ timer  ┄ waits for an event  ═ child\n"
          "✗ failed\n");
    close_paper();
}

TEST(attempts_are_drawn_with_their_pauses)
{
    open_paper(60, "C");
    bars_draw(
        &p, pawl_s("{" AXIS ",\"bars\":["
                   "{\"kind\":\"activity\",\"name\":\"Pay\",\"outcome\":\"done\",\"scheduled_at\":"
                   "1000,\"ended_at\":2000,\"attempts\":2,\"tries\":[{\"n\":1,\"from\":1000,\"to\":"
                   "1250,\"worker\":\"adam\",\"error\":\"bu\\u001bsy\"},{\"n\":2,\"from\":1500,"
                   "\"to\":2000,\"last\":true}]}]}"));
    shows("         0                               1.0 s\n"
          "Pay      %%%%%%%%%.........##################  2 tries 1.0 s\n"
          "\n"
          "Pay try 1 at +0 ms, 250 ms, adam: bu\\x1bsy\n"
          "\n"
          "# runs  % failed try  . tried again later\n");
    close_paper();
}

TEST(many_steps_are_a_skyline)
{
    char doc[2048], *at = doc;
    open_paper(60, "C.UTF-8");
    at = stpcpy(at, "{\"grouped\":true," AXIS ",\"names\":[{\"kind\":\"activity\",\"name\":\"Pay\","
                    "\"count\":2000,\"open\":0,\"failed\":1,\"median_ms\":3,\"longest_ms\":90,"
                    "\"most_at_once\":8,\"failed_in\":[79],\"skyline\":[0");
    for (int i = 1; i < 80; i++)
        at += sprintf(at, ",%d", i / 10 + 1);
    (void)stpcpy(at, "]}]}");
    bars_draw(&p, pawl_s(doc));
    shows("           0                            1.0 s\n"
          "Pay x2,000  ▁▁▁▁▂▂▂▂▃▃▃▃▄▄▄▄▅▅▅▅▅▆▆▆▆▇▇▇▇███✗ 1 failed, 3 ms\n"
          "\n"
          "✗ failed  ▁ how many are open\n");
    close_paper();
}

TEST(what_is_no_timeline_is_an_empty_one)
{
    static const char *const odd[] = {
        "",
        "null",
        "[]",
        "{}",
        "{\"bars\":3}",
        "{\"axis\":[{}]}",
        "{\"axis\":[{\"from\":5,\"to\":5,\"at\":1e308,\"until\":-1,\"cut\":true}],\"bars\":[{}]}",
        ("{\"now\":-9223372036854775808,\"bars\":[{\"due_at\":9223372036854775807,"
         "\"outcome\":\"open\"}]}"),
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        open_paper(50, "C.UTF-8");
        bars_draw(&p, pawl_s(odd[i]));
        for (unsigned k = 0; k < p.lines; k++)
            ck_assert_uint_le(out_columns(paper_row(&p, k)), 50);
        close_paper();
    }
}
