/* SPDX-License-Identifier: MIT */
/* cli/top/top_act.c -- questions, and the calls that change something.  See top.h. */
#include "cli/top/top.h"
#include "tables/operations.h"

#include <string.h>

bool top_edit(char line[TOP_LINE], const struct key_press *press)
{
    size_t n = strlen(line);
    if (press->key == KEY_TEXT && n + strlen(press->text) < TOP_LINE) {
        (void)stpcpy(line + n, press->text);
    } else if (press->key == KEY_ERASE && n) {
        while (n > 1 && (line[n - 1] & 0xC0) == 0x80) /* a character may have several bytes */
            n--;
        line[n - 1] = 0;
    } else if (press->key == KEY_CLEAR) {
        line[0] = 0;
    } else {
        return press->key == KEY_TEXT || press->key == KEY_ERASE;
    }
    return true;
}

/* Begin with the event that the instance waits for. */
static void propose_event(struct top *t)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_json_iter it =
        pawl_json_each(t->page == TOP_INSTANCE ? t->why : pawl_s(""), "/waiting_for");
    while (pawl_json_next(&it)) {
        if (!pawl_str_is(pawl_json_get(it.value, "/kind"), "\"event\""))
            continue;
        (void)snprintf(t->question.line, TOP_LINE, "%s",
                       pawl_json_text(mem, it.value, "/name", "").ptr);
        break;
    }
    pawl_mem_free(mem);
}

void top_ask(struct top *t, pawl_op op)
{
    const struct top_row *row = top_row_at(t);
    const char *id = t->page == TOP_INSTANCE ? t->open_id : row ? row->id.ptr : NULL;
    if (!id) {
        top_say(t, true, "choose an instance first");
        return;
    }
    if (!t->session->remote) {
        top_say(t, true, "read only: no server was named; in a shell: %s %s --help", t->cli->prog,
                operation_at(op)->word);
        return;
    }
    t->question = (struct top_question){.on = true, .op = op};
    (void)snprintf(t->question.id, sizeof(t->question.id), "%s", id);
    if (op == PAWL_OP_RAISE)
        propose_event(t);
}

static void send_it(struct top *t)
{
    struct top_question *q = &t->question;
    pawl_request request = {.size = sizeof(request), .op = q->op, .instance = q->id};
    pawl_reply reply;
    if (q->op == PAWL_OP_RAISE) {
        request.name = q->event;
        request.data = pawl_s(q->line);
    } else if (q->line[0]) {
        request.reason = q->line;
    }
    http_patience(t->session->remote, TOP_CALL_MS, -1); /* no key may leave it half done */
    pawl_status rc = session_write(t->session, &request, &reply);
    top_patience(t);
    q->on = false;
    t->dirty = t->open_dirty = true;
    if (rc == PAWL_OK)
        top_say(t, false, "%s: %s", q->id, operation_at(q->op)->done);
    else
        top_say(t, true, "%s: %s", q->id, reply.error.text);
}

/* The name of the event was typed: ask for its data. */
static void take_event(struct top *t)
{
    struct top_question *q = &t->question;
    if (!q->line[0])
        return;
    (void)snprintf(q->event, sizeof(q->event), "%s", q->line);
    (void)snprintf(q->line, sizeof(q->line), "{}");
    q->wants_data = true;
}

void top_answer(struct top *t, const struct key_press *press)
{
    struct top_question *q = &t->question;
    size_t offset;
    if (press->key == KEY_ESCAPE) {
        q->on = false;
        top_say(t, false, "nothing was done");
    } else if (press->key != KEY_ENTER) {
        if (q->op != PAWL_OP_RETRY)
            (void)top_edit(q->line, press);
    } else if (q->op == PAWL_OP_RAISE && !q->wants_data) {
        take_event(t);
    } else if (q->op == PAWL_OP_RAISE && q->line[0] && !pawl_json_valid(pawl_s(q->line), &offset)) {
        top_say(t, true, "not JSON at byte %zu; a text needs its quotes", offset);
    } else {
        send_it(t);
    }
}
