/* SPDX-License-Identifier: MIT */
/*
 * tools/embed-web.c -- the files of the page as one C file, for the binary.
 *
 *     embed-web DIR FILE...     writes DIR/FILE, DIR/FILE.gz and DIR/files.c
 *
 * The Makefile runs it.  It drops comments and blanks, keeps names and everything else, compresses
 * with gzip and names each file by a hash of its bytes (the ETag).  The same files give the same
 * bytes.  It fails when the page is over its limits: the page stays one that loads at once.
 *
 * It knows as much of JavaScript as it needs: strings, templates, regular expressions, comments.
 * A line end is kept where a statement might end there, so semicolons may be left out.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PLAIN  160000 /* bytes of all files together, without comments and blanks */
#define MOST_PACKED 65000  /* and compressed */

struct text {
    char *at;
    size_t len, size;
};

static void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("embed-web: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

static void put(struct text *t, char c)
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

static char last(const struct text *t)
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

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

/* One of the characters of `set`?  (strchr finds the NUL at its end, too.) */
static bool is_of(char c, const char *set)
{
    return c && strchr(set, c);
}

/* ---- JavaScript ----------------------------------------------------------------------------- */

static const char *copy_template(struct text *out, const char *s);

/* From one quote to the next, with what is between. */
static const char *copy_string(struct text *out, const char *s)
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

/* The ${...} of a template, as it stands. */
static const char *copy_hole(struct text *out, const char *s)
{
    int depth = 0;
    while (*s) {
        if (*s == '"' || *s == '\'') {
            s = copy_string(out, s);
        } else if (*s == '`') {
            s = copy_template(out, s);
        } else {
            depth += (*s == '{') - (*s == '}');
            put(out, *s++);
            if (!depth)
                return s;
        }
    }
    die("a ${ does not end");
}

static const char *copy_template(struct text *out, const char *s)
{
    put(out, *s++);
    while (*s && *s != '`') {
        if (*s == '$' && s[1] == '{') {
            put(out, *s++);
            s = copy_hole(out, s);
            continue;
        }
        if (*s == '\\' && s[1])
            put(out, *s++);
        put(out, *s++);
    }
    if (!*s)
        die("a template does not end");
    put(out, *s);
    return s + 1;
}

static const char *copy_regex(struct text *out, const char *s)
{
    bool in_class = false;
    put(out, *s++);
    for (; *s && *s != '\n' && (*s != '/' || in_class); s++) {
        if (*s == '[' || *s == ']')
            in_class = *s == '[';
        put(out, *s);
        if (*s == '\\')
            put(out, *++s);
    }
    if (*s != '/')
        die("a regular expression does not end");
    put(out, *s++);
    while (is_word(*s))
        put(out, *s++);
    if (is_word(*s) || is_blank(*s))
        put(out, ' '); /* a word behind it would be read as flags */
    return s;
}

/* After a value a slash divides; elsewhere it begins a regular expression. */
static bool begins_regex(const struct text *out)
{
    static const char *const words[] = {"return", "case", "typeof", "of", "in"};
    char c = last(out);
    if (!is_word(c))
        return !is_of(c, ")]}\"'`");
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t n = strlen(words[i]);
        if (out->len > n && !is_word(out->at[out->len - n - 1]) &&
            memcmp(out->at + out->len - n, words[i], n) == 0)
            return true;
    }
    return false;
}

/* Blanks and comments; *line: there was a line end. */
static const char *skip_js(const char *s, bool *line)
{
    for (;;) {
        if (is_blank(*s)) {
            *line |= *s++ == '\n';
        } else if (s[0] == '/' && s[1] == '/') {
            s += strcspn(s, "\n");
        } else if (s[0] == '/' && s[1] == '*') {
            const char *end = strstr(s + 2, "*/");
            if (!end)
                die("a comment does not end");
            s = end + 2;
        } else {
            return s;
        }
    }
}

/* What must stay of the blanks between two characters. */
static void put_gap(struct text *out, char next, bool line)
{
    char c = last(out);
    bool joins = is_of(c, ";{(,[=&|?:*!<>") || is_of(next, "?:.=&|*,;)]}") || !c || !next;
    if (line && !joins)
        put(out, '\n');
    else if ((is_word(c) && is_word(next)) || (c == next && is_of(c, "+-/")))
        put(out, ' ');
}

static void tighten_js(struct text *out, const char *s)
{
    for (;;) {
        bool line = false;
        const char *next = skip_js(s, &line);
        if (next > s)
            put_gap(out, *next, line);
        s = next;
        if (!*s)
            break;
        if (*s == '"' || *s == '\'')
            s = copy_string(out, s);
        else if (*s == '`')
            s = copy_template(out, s);
        else if (*s == '/' && begins_regex(out))
            s = copy_regex(out, s);
        else
            put(out, *s++);
    }
    put(out, '\n');
}

/* ---- CSS, HTML, SVG -------------------------------------------------------------------------- */

static void tighten_css(struct text *out, const char *s)
{
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
        if (*s == '"' || *s == '\'')
            s = copy_string(out, s);
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

int main(int argc, char **argv)
{
    size_t sum = 0, packed_sum = 0;
    char path[1024];
    struct text table = {0};
    if (argc < 3)
        die("usage: embed-web DIR FILE...");
    snprintf(path, sizeof(path), "%s/files.c", argv[1]);
    FILE *c = fopen(path, "w");
    if (!c)
        die("cannot write %s", path);
    fputs("/* Written by tools/embed-web.c. */\n#include \"server/web_files.h\"\n\n", c);
    for (size_t i = 2; i < (size_t)argc; i++) {
        const char *slash = strrchr(argv[i], '/'), *name = slash ? slash + 1 : argv[i];
        const struct kind *kind = kind_of(name);
        struct text raw = read_all(argv[i]), plain = {0};
        kind->tighten(&plain, raw.at);
        struct text packed = pack(argv[1], name, &plain);
        write_bytes(c, "plain", i, &plain);
        write_bytes(c, "packed", i, &packed);
        char row[1200];
        snprintf(row, sizeof(row),
                 "    {\"%s\", \"%s\", \"W/\\\"%016llx\\\"\", plain%zu, %zu, packed%zu, %zu},\n",
                 name, kind->type, (unsigned long long)hash(&plain), i, plain.len, i, packed.len);
        for (const char *at = row; *at; at++)
            put(&table, *at);
        sum += plain.len;
        packed_sum += packed.len;
    }
    fprintf(c, "\nconst struct web_file web_files[] = {\n%s    {0},\n};\n", table.at);
    if (fclose(c) != 0)
        die("cannot write %s", path);
    printf("the page: %zu bytes in %d files, %zu compressed\n", sum, argc - 2, packed_sum);
    if (sum > MOST_PLAIN || packed_sum > MOST_PACKED)
        die("the page has %zu bytes, %zu compressed; the limits are %d and %d", sum, packed_sum,
            MOST_PLAIN, MOST_PACKED);
}
