/* SPDX-License-Identifier: MIT */
/*
 * tests/page/shop.c -- a shop to look at: what the page shows that the examples do not have.
 *
 * Retries, children, a wide fan-out, a long history, an activity that nobody has, and code that does
 * not fit its history: with SHOP_RELEASE=2 in the environment TaxReport calls something else than it
 * recorded, and every open one is blocked.  load.mjs fills it.
 */
#include <pawl.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Activities ------------------------------------------------------------------- */

static void work(pawl_activity *act, pawl_str in, int64_t otherwise)
{
    int64_t left = pawl_json_int(in, "/ms", otherwise);
    for (; left > 0; left -= 10) {
        if (pawl_activity_cancelled(act))
            return;
        usleep((useconds_t)(left < 10 ? left : 10) * 1000);
    }
}

/* Fails the first `/flaky` attempts; /refused fails for good. */
static pawl_result charge(pawl_activity *act, pawl_str in)
{
    work(act, in, 60);
    if (pawl_json_bool(in, "/refused", false))
        return pawl_err_final(act, "card refused: insufficient funds");
    if (pawl_activity_attempt(act) <= pawl_json_int(in, "/flaky", 0))
        return pawl_errf(act, "bank gateway: 503 upstream connect error (attempt %u)",
                         pawl_activity_attempt(act));
    return pawl_okf(act, "{\"receipt\":\"%s\",\"captured\":true}", pawl_activity_key(act));
}

static pawl_result step(pawl_activity *act, pawl_str in)
{
    work(act, in, 15);
    pawl_str fails = pawl_json_text(pawl_activity_mem(act), in, "/fail", "");
    if (pawl_str_eq(fails, pawl_activity_name(act)))
        return pawl_errf(act, "%s: connection reset by peer", fails.ptr);
    return pawl_okf(act, "{\"by\":\"%s\",\"ok\":true}", pawl_activity_name(act).ptr);
}

static pawl_result quick(pawl_activity *act, pawl_str in)
{
    (void)in;
    return pawl_ok(act, "1");
}

/* ---- Children ----------------------------------------------------------------------- */

static pawl_result fraud_screen(pawl_ctx *ctx, pawl_str in)
{
    static const char *const scores[] = {"ScoreDevice", "ScoreAddress", "ScoreHistory"};
    pawl_task t[3];
    for (int i = 0; i < 3; i++)
        t[i] = pawl_start(ctx, scores[i],
                          pawl_printf(ctx, "{\"ms\":%d}", 20 + (int)(pawl_random(ctx) % 90)));
    pawl_result all = pawl_await_all(ctx, t, 3);
    if (!all.ok)
        return all;
    (void)in;
    return pawl_donef(ctx, "{\"risk\":%d,\"verdict\":\"pass\"}", (int)(pawl_random(ctx) % 40));
}

static pawl_result ship(pawl_ctx *ctx, pawl_str in)
{
    pawl_result label = pawl_call(ctx, "PrintLabel", pawl_s("{\"ms\":40}"));
    if (!label.ok)
        return label;
    if (pawl_json_bool(in, "/remote", false)) {
        pawl_result handed = pawl_call_with(ctx, "HandToCarrier", in,
                                            PAWL_CALL_OPTS(.attempts = 8, .initial_ms = 1500));
        if (!handed.ok)
            return handed;
    }
    int64_t hop = pawl_json_int(in, "/hop_ms", 700);
    for (int i = 0; i < 3; i++) {
        if (!pawl_sleep(ctx, hop).ok)
            return pawl_fail(ctx, "cancelled on the way");
        pawl_result t = pawl_call(ctx, "TrackParcel", pawl_s("{\"ms\":12}"));
        if (!t.ok)
            return t;
    }
    return pawl_done(ctx, "{\"delivered\":true,\"carrier\":\"snail\"}");
}

/* ---- Checkout --------------------------------------------------------------------------- */

static pawl_result checkout(pawl_ctx *ctx, pawl_str order)
{
    pawl_set_status(ctx, "validating the cart");
    pawl_result valid = pawl_call(ctx, "ValidateCart", order);
    if (!valid.ok)
        return valid;
    pawl_set_status(ctx, "screening for fraud");
    pawl_result safe = pawl_call_child(ctx, "FraudScreen", order, NULL);
    if (!safe.ok)
        return safe;
    pawl_set_status(ctx, "charging the card");
    pawl_result paid = pawl_call_with(
        ctx, "ChargeCard", order,
        PAWL_CALL_OPTS(.attempts = 6, .initial_ms = 400, .factor = 2, .start_to_close_ms = 30000));
    if (!paid.ok)
        return paid;
    pawl_set_status(ctx, "reserving stock");
    int64_t lines = pawl_json_count(order, "/lines");
    pawl_task held[40];
    for (int64_t i = 0; i < lines && i < 40; i++)
        held[i] = pawl_start(ctx, "ReserveStock",
                             pawl_printf(ctx, "{\"line\":%d,\"ms\":%d}", (int)i,
                                         20 + (int)(pawl_random(ctx) % 160)));
    pawl_result all = pawl_await_all(ctx, held, (size_t)(lines < 40 ? lines : 40));
    if (!all.ok)
        return all;
    pawl_result published = pawl_state_set(
        ctx, "parcel", pawl_printf(ctx, "{\"lines\":%d,\"stage\":\"packing\"}", (int)lines));
    if (!published.ok)
        return published;
    pawl_set_status(ctx, "waiting for the warehouse to pick");
    pawl_task picked = pawl_wait_event(ctx, "Picked");
    pawl_task limit = pawl_timer(ctx, pawl_json_int(order, "/pick_ms", PAWL_HOURS(4)));
    if (pawl_race(ctx, (pawl_task[]){picked, limit}, 2) != 0)
        return pawl_fail(ctx, "the warehouse did not pick it in time");
    pawl_set_status(ctx, "on its way");
    pawl_result shipped = pawl_call_child(ctx, "Ship", order, NULL);
    if (!shipped.ok)
        return shipped;
    pawl_str mail = pawl_printf(ctx, "{\"template\":\"shipped\",\"order\":\"%.*s\"}",
                                PAWL_FMT(pawl_instance(ctx)));
    pawl_result told = pawl_queue_push(ctx, "mail", mail, NULL);
    if (!told.ok)
        return told;
    pawl_set_status(ctx, "delivered");
    return pawl_done(ctx, "{\"state\":\"delivered\"}");
}

/* ---- Others -------------------------------------------------------------------------------- */

/* Tried for a long time. */
static pawl_result payout(pawl_ctx *ctx, pawl_str in)
{
    pawl_set_status(ctx, "paying out");
    pawl_result r =
        pawl_call_with(ctx, "BankTransfer", in,
                       PAWL_CALL_OPTS(.attempts = 500, .initial_ms = 500, .cap_ms = 45000));
    return r.ok ? pawl_done(ctx, "paid out") : r;
}

/* 2 events a row. */
static pawl_result import_catalog(pawl_ctx *ctx, pawl_str in)
{
    int64_t rows = pawl_json_int(in, "/rows", 100);
    for (int64_t i = 0; i < rows; i++) {
        pawl_scope_begin(ctx);
        if (i % 500 == 0)
            pawl_set_status(
                ctx, pawl_printf(ctx, "row %lld of %lld", (long long)i, (long long)rows).ptr);
        pawl_result r = pawl_call(ctx, i % 7 == 6 ? "IndexRow" : "UpsertRow",
                                  pawl_printf(ctx, "{\"row\":%lld,\"sku\":\"SKU-%05lld\"}",
                                              (long long)i, (long long)(i * 37 % 99991)));
        pawl_scope_end(ctx);
        if (!r.ok)
            return r;
    }
    if (pawl_json_bool(in, "/hold", false))
        pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Publish")));
    return pawl_donef(ctx, "{\"rows\":%lld}", (long long)rows);
}

static pawl_result render_video(pawl_ctx *ctx, pawl_str in)
{
    enum { MAX = 400 };
    int64_t n = pawl_json_int(in, "/segments", 24);
    n = n > MAX ? MAX : n;
    pawl_task t[MAX];
    for (int64_t i = 0; i < n; i++)
        t[i] = pawl_start_with(ctx, "RenderSegment",
                               pawl_printf(ctx, "{\"segment\":%d,\"ms\":%d}", (int)i,
                                           60 + (int)(pawl_random(ctx) % 700)),
                               PAWL_CALL_OPTS(.attempts = 3, .initial_ms = 300));
    pawl_result all = pawl_await_all(ctx, t, (size_t)n);
    if (!all.ok)
        return all;
    pawl_result muxed = pawl_call(ctx, "Mux", pawl_s("{\"ms\":350}"));
    if (!muxed.ok)
        return muxed;
    return pawl_call(ctx, "Transcode", in); /* nobody has it: remote workers with a GPU */
}

static pawl_result tax_report(pawl_ctx *ctx, pawl_str in)
{
    const char *release = getenv("SHOP_RELEASE");
    if (release && release[0] == '2') {
        pawl_result fx = pawl_call(ctx, "FetchExchangeRates", in); /* new, before recorded calls */
        if (!fx.ok)
            return fx;
    }
    pawl_result got = pawl_call(ctx, "CollectInvoices", pawl_s("{\"ms\":80}"));
    if (!got.ok)
        return got;
    pawl_result signedoff = pawl_await(ctx, pawl_wait_event(ctx, "SignOff"));
    return signedoff.ok ? pawl_call(ctx, "FileReport", in) : signedoff;
}

/* Children of children, /width wide and /depth deep. */
static pawl_result region_rollout(pawl_ctx *ctx, pawl_str in)
{
    int64_t depth = pawl_json_int(in, "/depth", 0), width = pawl_json_int(in, "/width", 2);
    pawl_result d = pawl_call(ctx, "DeployCell", pawl_s("{\"ms\":60}"));
    if (!d.ok)
        return d;
    if (depth <= 0) {
        if (pawl_json_bool(in, "/hold", false) && pawl_random(ctx) % 3 == 0) {
            pawl_result ok = pawl_await(ctx, pawl_wait_event(ctx, "HealthOk"));
            if (!ok.ok)
                return ok;
        }
        return pawl_done(ctx, "healthy");
    }
    pawl_task t[8];
    for (int64_t i = 0; i < width && i < 8; i++)
        t[i] = pawl_start_child(ctx, "RegionRollout",
                                pawl_printf(ctx, "{\"depth\":%d,\"width\":%d,\"hold\":%s}",
                                            (int)depth - 1, (int)width,
                                            pawl_json_bool(in, "/hold", false) ? "true" : "false"),
                                NULL);
    pawl_result all = pawl_await_all(ctx, t, (size_t)width);
    return all.ok ? pawl_done(ctx, "healthy") : all;
}

/* Asks somebody, with the texts of its input; corrections come as updates. */
static pawl_result refund(pawl_ctx *ctx, pawl_str in)
{
    int64_t cents = pawl_json_int(in, "/cents", 0);
    pawl_ignore(pawl_state_set(ctx, "amount", pawl_printf(ctx, "%lld", (long long)cents)));
    pawl_ignore(pawl_state_set(ctx, "note", pawl_json_get(in, "/ask/title")));
    pawl_task said = pawl_wait_event_ask(ctx, "Refund", pawl_json_get(in, "/ask"));
    for (;;) {
        pawl_task other = pawl_wait_update(ctx, "amount");
        if (pawl_await_any(ctx, (pawl_task[]){other, said}, 2) != 0)
            break;
        int64_t now = pawl_json_int(pawl_await(ctx, other).value, "", 0);
        if (now <= 0) {
            pawl_reject(ctx, other, "an amount is more than nothing");
            continue;
        }
        cents = now;
        pawl_ignore(pawl_state_set(ctx, "amount", pawl_printf(ctx, "%lld", (long long)cents)));
        pawl_answer(ctx, other, pawl_printf(ctx, "{\"cents\":%lld}", (long long)cents));
    }
    pawl_result r = pawl_await(ctx, said);
    return r.ok ? pawl_donef(ctx, "{\"said\":%.*s,\"cents\":%lld}", PAWL_FMT(r.value),
                             (long long)cents)
                : r;
}

/* What it returns is no text. */
static pawl_result bytes(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_done_str(ctx, (pawl_str){"\xff\xfe\x00!", 4});
}

/* What `pawl bench hello --url` starts (bench/viewers). */
static pawl_result hello(pawl_ctx *ctx, pawl_str in)
{
    return pawl_call(ctx, "UpsertRow", in);
}

static void setup(pawl_app *app)
{
    static const char *const steps[] = {
        "ValidateCart", "ScoreDevice",        "ScoreAddress",  "ScoreHistory", "ReserveStock",
        "PrintLabel",   "TrackParcel",        "RenderSegment", "Mux",          "CollectInvoices",
        "FileReport",   "FetchExchangeRates", "DeployCell"};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        pawl_register_activity(app, steps[i], step);
    pawl_register_activity(app, "ChargeCard", charge);
    pawl_register_activity(app, "BankTransfer", charge);
    pawl_register_activity(app, "UpsertRow", quick);
    pawl_register_activity(app, "IndexRow", quick);
    pawl_register_orchestration(app, "Checkout", "2.1.0", checkout);
    pawl_register_orchestration(app, "FraudScreen", "1.0.0", fraud_screen);
    pawl_register_orchestration(app, "Ship", "1.3.0", ship);
    pawl_register_orchestration(app, "Payout", "1.0.0", payout);
    pawl_register_orchestration(app, "ImportCatalog", "1.0.0", import_catalog);
    pawl_register_orchestration(app, "RenderVideo", "0.9.0", render_video);
    pawl_register_orchestration(app, "TaxReport", "1.0.0", tax_report);
    pawl_register_orchestration(app, "RegionRollout", "1.0.0", region_rollout);
    pawl_register_orchestration(app, "Refund", "1.0.0", refund);
    pawl_register_orchestration(app, "Bytes", "1.0.0", bytes);
    pawl_register_orchestration(app, "BenchHello", "1.0.0", hello);
}

PAWL_EXPORT(setup)
