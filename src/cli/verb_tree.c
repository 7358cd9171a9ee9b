/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_tree.c -- an instance and its descendants.
 *
 * Children are found by the parent filter of the list, newest first; they are
 * shown oldest first, in the order they were started.
 */
#include "cli/out.h"
#include "cli/session.h"
#include "view/render.h"

#include <string.h>

#define DEPTH_MAX 64

struct tree_walk {
    struct cli *cli;
    struct session *session;
    pawl_json *w; /* -o json: the document */
    char indent[DEPTH_MAX * 6];
};

struct children {
    const pawl_info **items; /* newest first */
    size_t count;
};

static int read_children(struct tree_walk *walk, const pawl_info *parent, struct children *ret)
{
    pawl_mem *mem = walk->cli->mem;
    pawl_filter filter = {
        .size = sizeof(pawl_filter), .limit = 1000, .parent = parent->instance.ptr};
    pawl_page page;
    *ret = (struct children){0};
    do {
        pawl_error err;
        if (session_list(walk->session, &filter, mem, &page, &err) != PAWL_OK)
            return cli_fail_error(walk->cli, &err);
        size_t total = ret->count + page.count;
        const pawl_info **items = pawl_mem_alloc(mem, (total + 1) * sizeof(*items));
        if (ret->count)
            memcpy(items, ret->items, ret->count * sizeof(*items));
        for (size_t i = 0; i < page.count; i++)
            items[ret->count + i] = &page.items[i];
        *ret = (struct children){items, total};
        filter.after = page.next.ptr;
    } while (page.next.len);
    return 0;
}

static void print_one(struct tree_walk *walk, const pawl_info *info, const char *branch)
{
    struct cli *cli = walk->cli;
    if (cli->args.output == OUTPUT_IDS) {
        out_id(cli, info->instance);
        return;
    }
    if (cli->args.output == OUTPUT_JSONL) {
        pawl_json *w = pawl_json_new(cli->mem);
        pawl_json_object(w);
        render_instance_members(w, cli->mem, info);
        pawl_json_end(w);
        out_json(cli, w);
        return;
    }
    pawl_str id = out_clean(cli->mem, info->instance);
    pawl_str name = out_clean(cli->mem, info->orchestration);
    pawl_str detail = out_clean(cli->mem, render_detail(info));
    unsigned width = out_width();
    detail = width ? out_cut(cli->mem, detail, width / 3) : detail;
    printf("%s%s%s%s%.*s  %s%s%s  %.*s  %.*s\n", out_begin(cli, stdout, TONE_DIM), walk->indent,
           branch, out_end(cli, stdout), PAWL_FMT(id),
           out_begin(cli, stdout, tone_of_state(info->state)), pawl_state_name(info->state),
           out_end(cli, stdout), PAWL_FMT(name), PAWL_FMT(detail));
}

static int visit(struct tree_walk *walk, const pawl_info *info, const char *branch, unsigned depth);

static int visit_children(struct tree_walk *walk, const pawl_info *info, unsigned depth)
{
    struct children children;
    int status = read_children(walk, info, &children);
    size_t indent = strlen(walk->indent);
    bool fancy = out_is_utf8();
    for (size_t i = children.count; !status && i-- > 0;) {
        bool last = i == 0;
        const char *branch = fancy ? (last ? "└─ " : "├─ ") : (last ? "`- " : "|- ");
        status = visit(walk, children.items[i], branch, depth + 1);
        walk->indent[indent] = '\0';
    }
    return status;
}

static void deepen(struct tree_walk *walk, const char *branch)
{
    if (!branch[0])
        return;
    bool last = strncmp(branch, "└", 3) == 0 || branch[0] == '`';
    size_t n = strlen(walk->indent);
    snprintf(walk->indent + n, sizeof(walk->indent) - n, "%s",
             last            ? "   "
             : out_is_utf8() ? "│  "
                             : "|  ");
}

static int visit(struct tree_walk *walk, const pawl_info *info, const char *branch, unsigned depth)
{
    if (walk->w) {
        pawl_json_object(walk->w);
        render_instance_members(walk->w, walk->cli->mem, info);
        pawl_json_key(walk->w, "children");
        pawl_json_array(walk->w);
    } else {
        print_one(walk, info, branch);
        deepen(walk, branch);
    }
    int status = depth < DEPTH_MAX ? visit_children(walk, info, depth) : 0;
    if (walk->w) {
        pawl_json_end(walk->w);
        pawl_json_end(walk->w);
    }
    return status;
}

int verb_tree(struct cli *cli)
{
    struct session session;
    int status = session_open(cli, SESSION_LOOK, &session);
    if (status)
        return status;
    struct tree_walk walk = {.cli = cli, .session = &session};
    if (cli->args.output == OUTPUT_JSON)
        walk.w = pawl_json_new(cli->mem);
    pawl_info root;
    status = session_get(cli, &session, cli->words[0], 0, &root);
    if (!status)
        status = visit(&walk, &root, "", 0);
    if (!status && walk.w)
        out_json(cli, walk.w);
    session_close(&session);
    return status;
}
