/* SPDX-License-Identifier: MIT */
/* tests/unit/test_policy.c -- retry policies are arithmetic that never surprises. */
#include "../harness.h"

#include "engine/policy.h"

#include <math.h>
#include <string.h>

static pawl_mem *mem;

static struct call_policy round_trip(const struct call_policy *p)
{
    return policy_parse(policy_format(p, mem), mem);
}

static void assert_same(struct call_policy a, struct call_policy b)
{
    ck_assert_uint_eq(a.attempts, b.attempts);
    ck_assert_int_eq((int)a.backoff, (int)b.backoff);
    ck_assert_int_eq(a.initial_ms, b.initial_ms);
    ck_assert_int_eq(a.cap_ms, b.cap_ms);
    ck_assert(fabs(a.factor - b.factor) < 1e-12);
    ck_assert(fabs(a.jitter - b.jitter) < 1e-12);
    ck_assert_uint_eq(a.final_error_count, b.final_error_count);
    for (size_t i = 0; i < a.final_error_count; i++)
        ck_assert(pawl_str_eq(a.final_errors[i], b.final_errors[i]));
    ck_assert_int_eq(a.no_retry_on_timeout, b.no_retry_on_timeout);
    ck_assert_int_eq(a.schedule_to_start_ms, b.schedule_to_start_ms);
    ck_assert_int_eq(a.start_to_close_ms, b.start_to_close_ms);
    ck_assert_int_eq(a.schedule_to_close_ms, b.schedule_to_close_ms);
    ck_assert_int_eq(a.heartbeat_ms, b.heartbeat_ms);
    ck_assert(pawl_str_eq(a.tag, b.tag));
}

TEST(the_default_is_one_attempt_and_no_text)
{
    mem = pawl_mem_new();
    struct call_policy p = policy_default(), of_null = policy_of(NULL, mem);

    ck_assert_uint_eq(p.attempts, 1);
    ck_assert_int_eq(p.initial_ms, 1000);
    ck_assert_int_eq(p.cap_ms, 60000);
    assert_same(p, of_null);
    assert_same(p, policy_of(PAWL_CALL_OPTS(.attempts = 0), mem));
    ck_assert_uint_eq(policy_format(&p, mem).len, 0);
    assert_same(p, policy_parse((pawl_str){0}, mem));
    pawl_mem_free(mem);
}

TEST(a_policy_survives_its_text)
{
    mem = pawl_mem_new();
    const char *const final_errors[] = {"card", "no such \"thing\"", NULL};
    struct call_policy p =
        policy_of(PAWL_CALL_OPTS(.attempts = 7, .backoff = PAWL_BACKOFF_LINEAR, .initial_ms = 250,
                                 .cap_ms = 90000, .factor = 1.5, .jitter = 0.25,
                                 .final_errors = final_errors, .no_retry_on_timeout = true,
                                 .schedule_to_start_ms = 1, .start_to_close_ms = 2,
                                 .schedule_to_close_ms = 3, .heartbeat_ms = 4, .tag = "gpu"),
                  mem);

    ck_assert_uint_eq(p.final_error_count, 2);
    assert_same(p, round_trip(&p));
    p = policy_of(PAWL_CALL_OPTS(.attempts = UINT32_MAX, .backoff = PAWL_BACKOFF_FIXED,
                                 .initial_ms = -5, .cap_ms = INT64_MAX, .factor = 0.1, .jitter = 9,
                                 .heartbeat_ms = -1),
                  mem);
    assert_same(p, round_trip(&p));
    ck_assert_int_eq(p.initial_ms, 0);
    ck_assert_int_eq(p.heartbeat_ms, 0);
    ck_assert(p.factor >= 1 && p.jitter <= 1);
    pawl_mem_free(mem);
}

TEST(a_shorter_options_struct_is_an_older_caller)
{
    mem = pawl_mem_new();
    pawl_call_opts opts = {.size = offsetof(pawl_call_opts, initial_ms),
                           .attempts = 3,
                           .backoff = PAWL_BACKOFF_FIXED,
                           .initial_ms = 77};
    struct call_policy p = policy_of(&opts, mem);

    ck_assert_uint_eq(p.attempts, 3);
    ck_assert_int_eq((int)p.backoff, PAWL_BACKOFF_FIXED);
    ck_assert_int_eq(p.initial_ms, 1000);
    pawl_mem_free(mem);
}

TEST(unreadable_text_keeps_the_defaults)
{
    mem = pawl_mem_new();
    static const char *const texts[] = {"{",
                                        "[]",
                                        "7",
                                        "{\"attempts\":-1}",
                                        "{\"attempts\":1.5,\"factor\":\"x\"}",
                                        "{\"backoff\":\"wild\",\"final_errors\":7,\"jitter\":null}",
                                        "{\"attempts\":99999999999}"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_same(policy_default(), policy_parse(pawl_s(texts[i]), mem));
    struct call_policy p = policy_parse(pawl_s("{\"final_errors\":[1,\"a\",null,\"b\"]}"), mem);
    ck_assert_uint_eq(p.final_error_count, 2);
    pawl_mem_free(mem);
}

TEST(delays_are_what_the_header_says)
{
    struct call_policy p = policy_default();

    ck_assert_int_eq(policy_delay_ms(&p, 2, 0), 1000);
    ck_assert_int_eq(policy_delay_ms(&p, 3, 0), 2000);
    ck_assert_int_eq(policy_delay_ms(&p, 4, 0), 4000);
    ck_assert_int_eq(policy_delay_ms(&p, 9, 0), 60000);
    p.backoff = PAWL_BACKOFF_LINEAR;
    ck_assert_int_eq(policy_delay_ms(&p, 2, 0), 1000);
    ck_assert_int_eq(policy_delay_ms(&p, 3, 0), 2000);
    ck_assert_int_eq(policy_delay_ms(&p, 4, 0), 3000);
    p.backoff = PAWL_BACKOFF_FIXED;
    ck_assert_int_eq(policy_delay_ms(&p, 2, 0), 1000);
    ck_assert_int_eq(policy_delay_ms(&p, 4000, 0), 1000);
}

TEST(delays_never_shrink_and_never_pass_the_cap)
{
    static const double factors[] = {1, 1.0001, 2, 10, 1e300};
    static const int64_t initials[] = {0, 1, 1000, 59999, INT64_C(3000000000000)};
    static const int64_t caps[] = {0, 1, 60000, INT64_C(3162240000000)};

    for (int backoff = 0; backoff < 3; backoff++)
        for (size_t f = 0; f < 5; f++)
            for (size_t i = 0; i < 5; i++)
                for (size_t c = 0; c < 4; c++) {
                    struct call_policy p = policy_default();
                    int64_t last = 0;
                    p.backoff = (pawl_backoff)backoff;
                    p.factor = factors[f];
                    p.initial_ms = initials[i];
                    p.cap_ms = caps[c];
                    for (uint32_t n = 0; n <= 10000; n += n < 200 ? 1 : 97) {
                        int64_t d = policy_delay_ms(&p, n, 12345);
                        ck_assert(d >= 0 && d <= p.cap_ms && (n < 2 || d >= last));
                        last = d;
                    }
                    ck_assert(policy_delay_ms(&p, UINT32_MAX, UINT64_MAX) >= last);
                }
}

TEST(jitter_stays_inside_its_band)
{
    struct call_policy p = policy_default();

    p.jitter = 0.5;
    for (uint64_t i = 0; i < 1000; i++) {
        int64_t d = policy_delay_ms(&p, 2, i * UINT64_C(0x9e3779b97f4a7c15));
        ck_assert(d >= 500 && d <= 1500);
    }
    ck_assert_int_eq(policy_delay_ms(&p, 2, 0), 500);
    ck_assert_int_ge(policy_delay_ms(&p, 2, UINT64_MAX), 1499);
    p.jitter = 1;
    ck_assert_int_eq(policy_delay_ms(&p, 2, 0), 0);
    ck_assert_int_eq(policy_delay_ms(&p, 100, UINT64_MAX), 60000);
}

TEST(final_errors_are_prefixes)
{
    const pawl_str prefixes[] = {pawl_s("card"), pawl_s("no ")};
    struct call_policy p = {.final_errors = prefixes, .final_error_count = 2};

    ck_assert(policy_is_final(&p, pawl_s("card refused")));
    ck_assert(policy_is_final(&p, pawl_s("card")));
    ck_assert(!policy_is_final(&p, pawl_s("car")));
    ck_assert(!policy_is_final(&p, pawl_s("a card")));
    ck_assert(!policy_is_final(&p, (pawl_str){0}));
    p.final_error_count = 0;
    ck_assert(!policy_is_final(&p, pawl_s("card")));
}
