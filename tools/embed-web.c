/* SPDX-License-Identifier: MIT */
/*
 * tools/embed-web.c -- the files of the page as one C file, for the binary.
 *
 *     embed-web DIR FILE...     writes DIR/FILE, DIR/FILE.gz and DIR/files.c
 *
 * The Makefile runs it.  It makes one script, app.js, of all modules (embed-join.c), drops comments
 * and blanks (embed-js.c), shortens custom properties of the sheet, keeps everything else, compresses with gzip and names each
 * file by a hash of its bytes (the ETag).  The same files give the same bytes.  It fails when the
 * page is over its limits: the page stays one that loads at once.
 */
#include "embed.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PLAIN  160000 /* bytes of all files together, without comments and blanks */
#define MOST_PACKED 65000  /* and compressed */

static size_t sum, packed_sum;

void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("embed-web: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

void put(struct text *t, char c)
{
    if (t->len + 1 >= t->size) {
        t->size = t->size ? t->size * 2 : 65536;
        t->at = realloc(t->at, t->size);
        if (!t->at)
            die("out of memory");
    }
    t->at[t->len++] = c;
    t->at[t->len] = 0;
}

void put_text(struct text *t, const char *s)
{
    while (*s)
        put(t, *s++);
}

char last(const struct text *t)
{
    return t->len ? t->at[t->len - 1] : 0;
}

static struct text read_all(const char *path)
{
    struct text t = {0};
    FILE *f = fopen(path, "rb");
    if (!f)
        die("cannot read %s", path);
    for (int c; (c = fgetc(f)) != EOF;)
        put(&t, (char)c);
    fclose(f);
    if (!t.len)
        die("%s is empty", path);
    return t;
}

bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

bool is_of(char c, const char *set)
{
    return c && strchr(set, c);
}

const char *copy_string(struct text *out, const char *s)
{
    char quote = *s;
    put(out, *s++);
    for (; *s && *s != quote; s++) {
        put(out, *s);
        if (*s == '\\' && s[1])
            put(out, *++s);
    }
    if (!*s)
        die("a string does not end");
    put(out, *s);
    return s + 1;
}

/* ---- CSS, HTML, SVG -------------------------------------------------------------------------- */

#define MOST_PROPERTIES 52

/* The custom properties that the sheet itself declares: one letter each.  Those that scripts set are
 * not declared in it, and keep their names. */
static char properties[MOST_PROPERTIES][32];
static size_t property_count;

/* The name behind "--"; its length. */
static size_t property_len(const char *s)
{
    size_t n = 0;
    while (is_word(s[n]) || s[n] == '-')
        n++;
    return n;
}

static size_t property_find(const char *s, size_t n)
{
    for (size_t i = 0; i < property_count; i++)
        if (strlen(properties[i]) == n && strncmp(properties[i], s, n) == 0)
            return i;
    return property_count;
}

static void property_collect(const char *s)
{
    for (; (s = strstr(s, "--")); s += 2) {
        size_t n = property_len(s + 2);
        if (!n || s[2 + n] != ':' || property_find(s + 2, n) < property_count)
            continue;
        if (property_count == MOST_PROPERTIES || n >= sizeof(properties[0]))
            die("too many custom properties, or too long a name: %.40s", s);
        memcpy(properties[property_count++], s + 2, n);
    }
}

static const char *put_property(struct text *out, const char *s)
{
    size_t n = property_len(s + 2), i = property_find(s + 2, n);
    put_text(out, "--");
    if (i == property_count)
        return s + 2; /* its name follows */
    put(out, (char)(i < 26 ? 'a' + i : 'A' + i - 26));
    return s + 2 + n;
}

static void tighten_css(struct text *out, const char *s)
{
    property_collect(s);
    while (*s) {
        const char *from = s;
        while (is_blank(*s) || (s[0] == '/' && s[1] == '*')) {
            const char *end = is_blank(*s) ? s + 1 : strstr(s, "*/") + 2;
            s = end;
        }
        if (s > from && *s && out->len && !is_of(last(out), "{};,:>(") && !is_of(*s, "{};,>)"))
            put(out, ' ');
        if (*s == '}' && last(out) == ';')
            out->len--;
        if (s[0] == '0' && s[1] == '.' && !is_word(last(out)))
            s++; /* 0.5 is .5 */
        if (*s == '"' || *s == '\'')
            s = copy_string(out, s);
        else if (s[0] == '-' && s[1] == '-')
            s = put_property(out, s);
        else if (*s)
            put(out, *s++);
    }
    put(out, '\n');
}

static void tighten_html(struct text *out, const char *s)
{
    while (*s) {
        const char *from = s;
        while (is_blank(*s))
            s++;
        if (s > from && *s && (last(out) != '>' || *s != '<'))
            put(out, ' ');
        if (*s)
            put(out, *s++);
    }
    put(out, '\n');
}

/* ---- Files --------------------------------------------------------------------------------------- */

static const struct kind {
    const char *end, *type;
    void (*tighten)(struct text *out, const char *s);
} kinds[] = {
    {".js",   "text/javascript; charset=utf-8", tighten_js  },
    {".css",  "text/css; charset=utf-8",        tighten_css },
    {".html", "text/html; charset=utf-8",       tighten_html},
    {".svg",  "image/svg+xml",                  tighten_html}
};

static const struct kind *kind_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(dot, kinds[i].end) == 0)
            return &kinds[i];
    die("%s: no such kind of file is served", name);
}

/* FNV-1a: tells versions of a file apart; nobody has a reason to forge one. */
static uint64_t hash(const struct text *t)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < t->len; i++)
        h = (h ^ (unsigned char)t->at[i]) * 1099511628211u;
    return h;
}

static void write_bytes(FILE *c, const char *name, size_t i, const struct text *t)
{
    fprintf(c, "static const unsigned char %s%zu[] = {", name, i);
    for (size_t k = 0; k < t->len; k++)
        fprintf(c, "%s%u,", k % 24 ? "" : "\n", (unsigned char)t->at[k]);
    fputs("\n};\n", c);
}

static struct text pack(const char *dir, const char *name, const struct text *plain)
{
    char path[1024], command[2300];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(plain->at, 1, plain->len, f) != plain->len || fclose(f) != 0)
        die("cannot write %s", path);
    snprintf(command, sizeof(command), "gzip -9nc '%s' > '%s.gz'", path, path);
    if (system(command) != 0)
        die("gzip failed on %s", path);
    strcat(path, ".gz");
    return read_all(path);
}

/* One file of the page: its bytes, and its row of the table. */
static void embed(FILE *c, struct text *table, const char *dir, const char *name, const char *raw)
{
    static size_t n;
    const struct kind *kind = kind_of(name);
    struct text plain = {0};
    char row[1200];
    kind->tighten(&plain, raw);
    struct text packed = pack(dir, name, &plain);
    write_bytes(c, "plain", n, &plain);
    write_bytes(c, "packed", n, &packed);
    snprintf(row, sizeof(row),
             "    {\"%s\", \"%s\", \"W/\\\"%016llx\\\"\", plain%zu, %zu, packed%zu, %zu},\n", name,
             kind->type, (unsigned long long)hash(&plain), n, plain.len, n, packed.len);
    put_text(table, row);
    sum += plain.len;
    packed_sum += packed.len;
    n++;
}

int main(int argc, char **argv)
{
    char path[1024];
    struct text table = {0};
    if (argc < 3)
        die("usage: embed-web DIR FILE...");
    snprintf(path, sizeof(path), "%s/files.c", argv[1]);
    FILE *c = fopen(path, "w");
    if (!c)
        die("cannot write %s", path);
    fputs("/* Written by tools/embed-web.c. */\n#include \"server/web_files.h\"\n\n", c);
    for (int i = 2; i < argc; i++) {
        const char *slash = strrchr(argv[i], '/'), *name = slash ? slash + 1 : argv[i];
        struct text raw = read_all(argv[i]);
        if (kind_of(name)->tighten == tighten_js)
            join_take(name, raw.at);
        else
            embed(c, &table, argv[1], name, raw.at);
    }
    embed(c, &table, argv[1], "app.js", join_all("app").at);
    fprintf(c, "\nconst struct web_file web_files[] = {\n%s    {0},\n};\n", table.at);
    if (fclose(c) != 0)
        die("cannot write %s", path);
    printf("the page: %zu bytes, %zu compressed\n", sum, packed_sum);
    if (sum > MOST_PLAIN || packed_sum > MOST_PACKED)
        die("the page has %zu bytes, %zu compressed; the limits are %d and %d", sum, packed_sum,
            MOST_PLAIN, MOST_PACKED);
}
