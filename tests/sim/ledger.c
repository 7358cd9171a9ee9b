/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/ledger.c -- what was accepted against what code saw (I21), what code was told is
 * on its way against what came (I22).
 *
 * An execution that has ended is run again from its history, and the program notes which
 * events it read and which waits it gave up (interp.c): committed history only, so a turn
 * that never was counts for nothing.
 */
#include "sim.h"

#include "engine/engine_private.h"

#include <stdlib.h>
#include <string.h>

static bool is_given_back(const pawl_event_list *list, size_t taken)
{
    for (size_t k = taken + 1; k < list->count; k++)
        if (list->items[k].kind == PAWL_EV_EXTERNAL_CANCELLED &&
            list->items[k].ref == list->items[taken].ref)
            return true;
    return false;
}

/* A cancelled life has compensated to the end, unless its code never ran.  (Terminated ones end
 * otherwise; without code the option may say so.) */
static void check_undone(struct sim *s, const struct seen *i, const pawl_event_list *list,
                         const struct ledger *ledger)
{
    const pawl_event *end = &list->items[list->count - 1];
    pawl_str program = list->items[0].data;
    if (end->kind != PAWL_EV_ORCHESTRATION_CANCELLED || s->plan.cancel_missing)
        return;
    CHECKED(s, S23);
    if (pawl_json_bool(end->attrs, "/forced", false))
        sim_fail(s, "S23", "%s execution %llu: cancelled by force", i->id,
                 (unsigned long long)end->execution);
    if (program.len && program.ptr[0] == '!' && !ledger->undone)
        sim_fail(s, "S23", "%s execution %llu: cancelled, and its compensation was cut", i->id,
                 (unsigned long long)end->execution);
}

/* An execution has ended: every event it took was seen by its code, or given back when the wait
 * was given up.  What the code still had in its hands at a return goes with the instance. */
void check_ledger(struct sim *s, const struct seen *i, const pawl_event_list *list,
                  struct ledger *ledger)
{
    const pawl_event *end = &list->items[list->count - 1];
    bool goes_on = end->kind == PAWL_EV_ORCHESTRATION_CONTINUED_AS_NEW;
    if (event_class(end->kind) != CLASS_END)
        return;
    check_undone(s, i, list, ledger);
    for (size_t k = 0; k < list->count; k++) {
        const pawl_event *e = &list->items[k];
        int token;
        if (e->kind != PAWL_EV_EXTERNAL_EVENT || !driver_is_token(s, e->data, &token))
            continue;
        CHECKED(s, I21);
        if (!ledger->saw[token] && (goes_on || map_get(&ledger->gave_up, e->ref)) &&
            !is_given_back(list, k))
            sim_fail(s, "I21",
                     "%s execution %llu: raise %d was taken by wait %llu, no code saw it, "
                     "and it was not given back",
                     i->id, (unsigned long long)e->execution, token, (unsigned long long)e->ref);
    }
}

/* ---- Detached starts ------------------------------------------------------------------------- */

void ledger_chained(struct sim *s, const pawl_event *e)
{
    if (pawl_json_get(e->attrs, "/refused").len)
        return;
    struct chained *c = sim_grow(&s->chained, &s->chained_count, &s->chained_cap, sizeof(*c));
    pawl_str id = pawl_json_text(s->mem, e->attrs, "/instance", "");
    *c = (struct chained){strndup(id.ptr, id.len), strndup(e->data.ptr, e->data.len)};
}

void ledger_sent(struct sim *s, const pawl_event *e)
{
    if (pawl_json_get(e->attrs, "/refused").len)
        return;
    struct token *t = sim_grow(&s->tokens, &s->token_count, &s->token_cap, sizeof(*t));
    *t = (struct token){.sent = strndup(e->data.ptr, e->data.len), .submitted = ++s->numbers};
    (void)snprintf(t->instance, sizeof(t->instance), "%s",
                   pawl_json_text(s->mem, e->attrs, "/instance", "").ptr);
    (void)snprintf(t->name, sizeof(t->name), "%.*s", PAWL_FMT(e->name));
}

/* Each that the code was told is on its way is an instance of its own. */
void ledger_final(struct sim *s)
{
    for (size_t k = 0; k < s->chained_count; k++) {
        const struct chained *c = &s->chained[k];
        size_t told = 0, came = 0;
        for (size_t j = 0; j < s->chained_count; j++)
            told +=
                strcmp(s->chained[j].id, c->id) == 0 && strcmp(s->chained[j].input, c->input) == 0;
        for (size_t j = 0; j < s->seen_count; j++)
            came += strcmp(s->seen[j]->id, c->id) == 0 &&
                    (!s->seen[j]->first_input || strcmp(s->seen[j]->first_input, c->input) == 0);
        CHECKED(s, I22);
        if (came < told)
            sim_fail(s, "I22", "detached start of '%s': code was told %zu times, %zu came", c->id,
                     told, came);
    }
}

void ledger_free(struct sim *s)
{
    for (size_t k = 0; k < s->chained_count; k++) {
        free(s->chained[k].id);
        free(s->chained[k].input);
    }
    free(s->chained);
}
