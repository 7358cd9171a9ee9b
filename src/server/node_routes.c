/* SPDX-License-Identifier: MIT */
/*
 * server/node_routes.c -- what this server is: the code it has, the process it is.
 *
 * Everything comes from memory and a few system calls; the store is not asked, so a page may ask
 * as often as it is looked at.  Called through the table of routes, and by overview.c.
 */
#include "server/node_routes.h"

#include "server/handlers.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static void put_number(pawl_json *w, const char *key, uint64_t n)
{
    pawl_json_key(w, key);
    pawl_json_num(w, (int64_t)n);
}

static void put_text(pawl_json *w, const char *key, const char *text)
{
    pawl_json_key(w, key);
    pawl_json_cstr(w, text); /* null when NULL */
}

/* ---- Registered code ------------------------------------------------------------------- */

/* One orchestration: all its versions, lowest first; returns how many entries it has. */
static size_t put_orchestration(pawl_json *w, const pawl_code *code, size_t count)
{
    size_t n = 0;
    pawl_json_object(w);
    put_text(w, "name", code[0].name);
    pawl_json_key(w, "versions");
    pawl_json_array(w);
    for (; n < count && code[n].version && strcmp(code[n].name, code[0].name) == 0; n++)
        pawl_json_cstr(w, code[n].version);
    pawl_json_end(w);
    put_text(w, "module", code[n - 1].file);
    pawl_json_end(w);
    return n;
}

static void put_activity(pawl_json *w, const pawl_code *code)
{
    pawl_json_object(w);
    put_text(w, "name", code->name);
    put_text(w, "module", code->file);
    pawl_json_end(w);
}

/* Each module once, in the order of the code. */
static void put_modules(pawl_json *w, const pawl_code *code, size_t count)
{
    pawl_json_key(w, "modules");
    pawl_json_array(w);
    for (size_t i = 0; i < count; i++) {
        size_t before = 0;
        while (code[i].file && before < i && code[before].file != code[i].file)
            before++;
        if (code[i].file && before == i)
            pawl_json_cstr(w, code[i].file);
    }
    pawl_json_end(w);
}

void handle_registry(struct call *c)
{
    const pawl_code *code;
    size_t at = 0, count = pawl_app_code(pawl_runtime_app(c->srv->rt), c->mem, &code);
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    put_number(w, "now", (uint64_t)pawl_client_now(c->srv->client));
    pawl_json_key(w, "orchestrations");
    pawl_json_array(w);
    while (at < count && code[at].version)
        at += put_orchestration(w, &code[at], count - at);
    pawl_json_end(w);
    pawl_json_key(w, "activities");
    pawl_json_array(w);
    for (; at < count; at++)
        put_activity(w, &code[at]);
    pawl_json_end(w);
    put_modules(w, code, count);
    pawl_json_end(w);
    answer_json(c, 200, w);
}

/* ---- The process ------------------------------------------------------------------------- */

static uint64_t resident_bytes(void)
{
    unsigned long size = 0, pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%lu %lu", &size, &pages) != 2)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Room on the disk of the data directory; not said when there is none. */
static void put_disk(pawl_json *w, const char *path)
{
    struct statvfs fs;
    if (!path || statvfs(path, &fs) != 0)
        return;
    put_number(w, "disk_free_bytes", (uint64_t)fs.f_bavail * fs.f_frsize);
}

void node_write(struct call *c, pawl_json *w)
{
    pawl_server *s = c->srv;
    pawl_stats stats;
    pawl_runtime_counters(s->rt, &stats);
    pawl_json_object(w);
    put_text(w, "version", PAWL_VERSION);
    put_number(w, "pid", (uint64_t)getpid());
    put_number(w, "started_at", (uint64_t)s->started_ms);
    put_number(w, "rss_bytes", resident_bytes());
    put_number(w, "resident", stats.resident);
    put_number(w, "running_activities", stats.running_activities);
    put_number(w, "commits", stats.commits);
    put_number(w, "commit_us", stats.commit_us);
    put_number(w, "store_log_bytes", stats.store_log_bytes);
    put_disk(w, pawl_runtime_data(s->rt));
    pawl_json_key(w, "healthy");
    pawl_json_truth(w, stats.healthy);
    if (!stats.healthy)
        put_text(w, "trouble", stats.trouble);
    pawl_json_end(w);
}

void handle_node(struct call *c)
{
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    put_number(w, "now", (uint64_t)pawl_client_now(c->srv->client));
    pawl_json_key(w, "node");
    node_write(c, w);
    pawl_json_end(w);
    answer_json(c, 200, w);
}
