/* SPDX-License-Identifier: MIT */
/*
 * tools/embed-join.c -- the modules of the page as one script, for embed-web.
 *
 * One script compresses better than twenty and is one request.  Each module becomes a function
 * that runs once, after the modules that it imports; what it exports is then known to all:
 *
 *     const{btn,page}=(()=>{  ...  return{btn,page}})();
 *     const $7=(()=>{const one=$6;  ...  return queues})();
 *
 * What holds:
 *   - names that are not exported are not seen by another module, and hide what has the same name;
 *   - an import of what its module does not export ends the build; so do a circle, and a name that
 *     two modules export (a test checks that none is a name of the browser);
 *   - import and export stand at the beginning of a line, an export declares one name, and an import
 *     gives no other name (`as`): anything else ends the build.
 */
#include "embed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_MODULES 64
#define MOST_NAMES   128

struct import {
    char from[64], name[64], as[64];
};

struct module {
    char name[64]; /* "ui" for ui.js */
    struct text body;
    char exports[MOST_NAMES][64]; /* of its own */
    char main[64];                /* export default */
    char passes[8][64];           /* export * from */
    struct import imports[MOST_NAMES];
    size_t export_count, pass_count, import_count;
    size_t number; /* its default export is $NUMBER */
    bool is_open, is_written;
};

static struct module *modules[MOST_MODULES];
static size_t module_count;

/* ---- Reading ---------------------------------------------------------------------------------- */

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

static const char *skip(const char *s)
{
    while (is_blank(*s))
        s++;
    return s;
}

/* A name into ret; what follows it. */
static const char *read_name(const struct module *m, const char *s, char ret[64])
{
    size_t n = 0;
    for (s = skip(s); is_word(*s); s++)
        if (n < 63)
            ret[n++] = *s;
    ret[n] = 0;
    if (!n || n == 63)
        die("%s.js: a name is missing or too long at: %.40s", m->name, s);
    return skip(s);
}

/* from "./NAME.js"; — what follows it. */
static const char *read_from(const struct module *m, const char *s, char ret[64])
{
    s = skip(s);
    if (!begins(s, "from \"./"))
        die("%s.js: from \"./NAME.js\" was expected at: %.40s", m->name, s);
    s = read_name(m, s + 8, ret);
    if (!begins(s, ".js\";"))
        die("%s.js: .js\"; was expected at: %.40s", m->name, s);
    return s + 5;
}

static struct import *new_import(struct module *m)
{
    if (m->import_count == MOST_NAMES)
        die("%s.js has too many imports", m->name);
    return &m->imports[m->import_count++];
}

/* {a, b} from "./x.js";  or  a from "./x.js"; */
static const char *read_import(struct module *m, const char *s)
{
    size_t first = m->import_count;
    char from[64];
    s = skip(s);
    if (*s == '{') {
        for (s = skip(s + 1); *s != '}'; s = skip(s + (*s == ','))) {
            struct import *i = new_import(m);
            s = read_name(m, s, i->name);
            strcpy(i->as, i->name);
            if (*s != ',' && *s != '}')
                die("%s.js: an import is not understood at: %.40s", m->name, s);
        }
        s++;
    } else {
        struct import *i = new_import(m);
        s = read_name(m, s, i->as);
        strcpy(i->name, "default");
    }
    s = read_from(m, s, from);
    for (size_t k = first; k < m->import_count; k++)
        strcpy(m->imports[k].from, from);
    return s;
}

/* Keeps the declaration behind `export`, and its name. */
static const char *read_export(struct module *m, const char *s)
{
    static const char *const kinds[] = {"const ", "let ", "function ", "async function ", "class "};
    char name[64];
    if (begins(s, "* ")) {
        if (m->pass_count == 8)
            die("%s.js passes on too much", m->name);
        return read_from(m, s + 2, m->passes[m->pass_count++]);
    }
    if (begins(s, "default function ")) {
        read_name(m, s + 17, m->main);
        return s + 8;
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (begins(s, kinds[i])) {
            if (m->export_count == MOST_NAMES)
                die("%s.js exports too much", m->name);
            read_name(m, s + strlen(kinds[i]), name);
            strcpy(m->exports[m->export_count++], name);
            return s;
        }
    die("%s.js: an export is not understood: %.40s", m->name, s);
}

void join_take(const char *name, const char *source)
{
    struct module *m = calloc(1, sizeof(*m));
    if (!m || module_count == MOST_MODULES || strlen(name) >= sizeof(m->name))
        die("%s: too many modules, or too long a name", name);
    memcpy(m->name, name, strcspn(name, "."));
    for (const char *s = source; *s;) {
        if (begins(s, "import ")) {
            s = read_import(m, s + 7);
            continue;
        }
        if (begins(s, "export "))
            s = read_export(m, s + 7);
        do
            put(&m->body, *s);
        while (*s && *s++ != '\n');
    }
    put(&m->body, '\n');
    m->number = module_count;
    modules[module_count++] = m;
}

/* ---- Writing ---------------------------------------------------------------------------------- */

static struct module *find(const char *name, const char *who)
{
    for (size_t i = 0; i < module_count; i++)
        if (strcmp(modules[i]->name, name) == 0)
            return modules[i];
    die("%s.js imports %s.js, which is not there", who, name);
}

static bool exports(const struct module *m, const char *name)
{
    if (strcmp(name, "default") == 0)
        return m->main[0];
    for (size_t i = 0; i < m->export_count; i++)
        if (strcmp(m->exports[i], name) == 0)
            return true;
    for (size_t i = 0; i < m->pass_count; i++)
        if (exports(find(m->passes[i], m->name), name))
            return true;
    return false;
}

/* What the export default of a module is called in the script. */
static const char *main_name(const struct module *m)
{
    static char name[16];
    snprintf(name, sizeof(name), "$%zu", m->number);
    return name;
}

/* The name that the module has for what another one exports as default. */
static void write_imports(struct text *out, const struct module *m)
{
    for (size_t i = 0; i < m->import_count; i++) {
        const struct import *of = &m->imports[i];
        if (!exports(find(of->from, m->name), of->name))
            die("%s.js imports %s, which %s.js does not export", m->name, of->name, of->from);
        if (strcmp(of->name, "default") != 0)
            continue;
        put_text(out, "const ");
        put_text(out, of->as);
        put(out, '=');
        put_text(out, main_name(find(of->from, m->name)));
        put_text(out, ";\n");
    }
}

/* {a,b,default:NAME} of what it exports. */
static void write_exports(struct text *out, const struct module *m, const char *main)
{
    if (!m->export_count) {
        put(out, ' ');
        put_text(out, main);
        return;
    }
    for (size_t i = 0; i < m->export_count; i++) {
        put(out, i ? ',' : '{');
        put_text(out, m->exports[i]);
    }
    if (m->main[0]) {
        put_text(out, ",default:");
        put_text(out, main);
    }
    put(out, '}');
}

static void check_unique(const struct module *m)
{
    for (size_t i = 0; i < module_count; i++)
        for (size_t k = 0; modules[i] != m && k < m->export_count; k++)
            for (size_t n = 0; n < modules[i]->export_count; n++)
                if (strcmp(modules[i]->exports[n], m->exports[k]) == 0)
                    die("%s.js and %s.js both export %s", m->name, modules[i]->name, m->exports[k]);
}

static void write_module(struct text *out, struct module *m)
{
    if (m->is_written)
        return;
    if (m->is_open)
        die("%s.js imports itself, by way of others", m->name);
    m->is_open = true;
    for (size_t i = 0; i < m->pass_count; i++)
        write_module(out, find(m->passes[i], m->name));
    for (size_t i = 0; i < m->import_count; i++)
        write_module(out, find(m->imports[i].from, m->name));
    check_unique(m);
    bool gives = m->export_count || m->main[0];
    if (gives) {
        put_text(out, "const");
        write_exports(out, m, main_name(m));
        put(out, '=');
    }
    put_text(out, "(()=>{");
    write_imports(out, m);
    put_text(out, m->body.at);
    if (gives) {
        put_text(out, "return");
        write_exports(out, m, m->main);
    }
    put_text(out, "})();\n");
    m->is_written = true;
}

struct text join_all(const char *first)
{
    struct text out = {0};
    write_module(&out, find(first, "the page"));
    for (size_t i = 0; i < module_count; i++)
        if (!modules[i]->is_written)
            die("no module imports %s.js", modules[i]->name);
    return out;
}
