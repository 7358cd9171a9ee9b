/* SPDX-License-Identifier: MIT */
/* trial/board.c -- what a seed leaves behind: see seed.h. */
#include "base/arena.h"
#include "base/vec.h"
#include "trial/seed.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A line as it lies on the board; the strings follow. */
struct packed {
    int64_t at_ms;
    uint64_t seq, ref;
    uint32_t is_fault, lengths[4];
};

void board_clear(struct board *b)
{
    memset(b, 0, sizeof(*b));
}

void board_line(struct board *b, const pawl_sim_line *line)
{
    pawl_str texts[4] = {line->instance, line->kind, line->name, line->data};
    struct packed p = {
        .at_ms = line->at_ms, .seq = line->seq, .ref = line->ref, .is_fault = line->is_fault};
    size_t need = sizeof(p);
    for (int i = 0; i < 4; i++) {
        if (texts[i].len > LINE_DATA)
            texts[i].len = LINE_DATA;
        p.lengths[i] = (uint32_t)texts[i].len;
        need += texts[i].len;
    }
    if (b->used + need > BOARD_ROOM) {
        b->cut = true;
        return;
    }
    char *at = b->lines + b->used;
    memcpy(at, &p, sizeof(p));
    at += sizeof(p);
    for (int i = 0; i < 4; i++) {
        if (texts[i].len)
            memcpy(at, texts[i].ptr, texts[i].len);
        at += texts[i].len;
    }
    b->used += need;
}

static size_t next_line(const struct board *b, size_t at, pawl_mem *mem, pawl_sim_line *ret)
{
    struct packed p;
    memcpy(&p, b->lines + at, sizeof(p));
    at += sizeof(p);
    pawl_str *texts[4] = {&ret->instance, &ret->kind, &ret->name, &ret->data};
    *ret =
        (pawl_sim_line){.at_ms = p.at_ms, .seq = p.seq, .ref = p.ref, .is_fault = p.is_fault != 0};
    for (int i = 0; i < 4; i++) {
        *texts[i] = arena_dup(mem, (pawl_str){b->lines + at, p.lengths[i]});
        at += p.lengths[i];
    }
    return at;
}

size_t board_lines(const struct board *b, pawl_mem *mem, const pawl_sim_line **ret)
{
    LIST(pawl_sim_line) lines = {0};
    for (size_t at = 0; at < b->used;)
        at = next_line(b, at, mem, list_add(mem, &lines));
    *ret = lines.items;
    return lines.count;
}

void board_problem(struct board *b, pawl_sim_problem problem, pawl_str instance, const char *format,
                   ...)
{
    va_list args;
    if (b->problem != PAWL_SIM_NONE)
        return;
    b->problem = (int)problem;
    (void)snprintf(b->instance, sizeof(b->instance), "%.*s", PAWL_FMT(instance));
    va_start(args, format);
    (void)vsnprintf(b->text, sizeof(b->text), format, args);
    va_end(args);
}
