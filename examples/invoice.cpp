// SPDX-License-Identifier: MIT
//
// invoice -- the same library from C++17 and later: read an invoice's lines, price
// each (three at a time), add them up, send the sum, and retry what fails.
//
//     g++ -std=c++17 -shared -fPIC -DPAWL_AS_MODULE -Iinclude examples/invoice.cpp -o invoice.so
//     pawl run Invoice --load ./invoice.so --input '{"lines":[{"sku":"a","n":2},{"sku":"bb","n":1}]}'
//
// Three things are different from C; docs/guide/cpp.md says why.
//   * Options in the macros stand in the order of the struct.
//   * An orchestration holds nothing with a destructor across a wait: its stack may be
//     dropped there.  Activities are ordinary C++.
//   * An exception must not leave an orchestration or an activity: `guarded` below.
#include <pawl.h>

#include <exception>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

std::string text(pawl_str s)
{
    return {s.ptr ? s.ptr : "", s.len};
}

// Turns what an activity throws into its failed result.
template <typename F> pawl_result guarded(pawl_activity *act, F &&work)
{
    try {
        return pawl_ok(act, work().c_str());
    } catch (const std::invalid_argument &e) {
        return pawl_err_final(act, e.what()); // another try changes nothing
    } catch (const std::exception &e) {
        return pawl_err(act, e.what());
    }
}

pawl_result price(pawl_activity *act, pawl_str line)
{
    return guarded(act, [&] {
        std::string sku = text(pawl_json_text(pawl_activity_mem(act), line, "/sku", ""));
        if (sku.empty())
            throw std::invalid_argument("a line without a sku");
        return std::to_string(pawl_json_int(line, "/n", 1) * 100 *
                              static_cast<int64_t>(sku.size()));
    });
}

pawl_result send(pawl_activity *act, pawl_str sum)
{
    return guarded(act, [&] { return "sent: " + text(sum); });
}

struct lines {
    const pawl_str *each;
};

pawl_task price_line(pawl_ctx *ctx, size_t i, void *arg)
{
    return pawl_start_with(ctx, "Price", static_cast<lines *>(arg)->each[i],
                           PAWL_CALL_OPTS(.attempts = 5, .initial_ms = 50));
}

pawl_result invoice(pawl_ctx *ctx, pawl_str input)
{
    // Memory of the execution, not a std::vector: it outlives the stack.
    size_t n = static_cast<size_t>(
        pawl_json_count(input, "/lines") < 0 ? 0 : pawl_json_count(input, "/lines"));
    auto *each = static_cast<pawl_str *>(pawl_alloc(ctx, n * sizeof(pawl_str)));
    auto *tasks = static_cast<pawl_task *>(pawl_alloc(ctx, n * sizeof(pawl_task)));
    for (pawl_json_iter it = pawl_json_each(input, "/lines"); pawl_json_next(&it);)
        each[it.index] = it.value;

    lines all{each};
    pawl_result priced = pawl_map(ctx, n, 3, price_line, &all, tasks);
    if (!priced.ok)
        return priced;
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += pawl_json_int(pawl_await(ctx, tasks[i]).value, "", 0);
    return pawl_call(ctx, "Send", pawl_printf(ctx, "%lld", static_cast<long long>(sum)));
}

void setup(pawl_app *app)
{
    pawl_register_activity(app, "Price", price);
    pawl_register_activity(app, "Send", send);
    pawl_register_orchestration(app, "Invoice", "1.0.0", invoice);
}

} // namespace

PAWL_EXPORT(setup)
