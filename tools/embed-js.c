/* SPDX-License-Identifier: MIT */
/*
 * tools/embed-js.c -- JavaScript without comments and blanks, for embed-web.
 *
 * It knows as much of the language as it needs: strings, templates, regular expressions, comments.
 * A line end is kept where a statement might end there, so semicolons may be left out.  Some words
 * have shorter ones that mean the same (`words`): `const` is a promise to whoever reads the source.
 */
#include "embed.h"

#include <stdlib.h>
#include <string.h>

static const char *copy_template(struct text *out, const char *s);
static void tighten(struct text *out, const char *s);

/* The ${...} of a template, tightened as well. */
static const char *copy_hole(struct text *out, const char *s)
{
    struct text hole = {0};
    int depth = 0;
    do {
        if (*s == '"' || *s == '\'') {
            s = copy_string(&hole, s);
        } else if (*s == '`') {
            s = copy_template(&hole, s);
        } else if (*s) {
            depth += (*s == '{') - (*s == '}');
            put(&hole, *s++);
        } else {
            die("a ${ does not end");
        }
    } while (depth);
    hole.at[hole.len - 1] = 0; /* what is between the braces */
    put(out, '{');
    tighten(out, hole.at + 1);
    put(out, '}');
    free(hole.at);
    return s;
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

/* ---- Statements ------------------------------------------------------------------------------- */

#define MOST_DEPTH 200

/* Where one is: how many brackets are open, and in which of them the statement declares. */
struct place {
    int depth;
    bool is_let[MOST_DEPTH];
};

/* Words, and what is written for them where they are no name of a member. */
static const char *const words[][2] = {
    {"const",     "let"   },
    {"true",      "!0"    },
    {"false",     "!1"    },
    {"undefined", "void 0"},
};

static bool is_here(const char *s, const char *word)
{
    size_t n = strlen(word);
    return strncmp(s, word, n) == 0 && !is_word(s[n]);
}

/* Does a bracket that closes here belong to for, while or if?  Then a semicolon behind it is their
 * empty body. */
static bool ends_condition(const struct text *out)
{
    size_t at = out->len;
    int depth = 0;
    do {
        if (!at--)
            return false;
        depth += (out->at[at] == ')') - (out->at[at] == '(');
    } while (depth);
    return (at >= 3 && memcmp(out->at + at - 3, "for", 3) == 0) ||
           (at >= 5 && memcmp(out->at + at - 5, "while", 5) == 0) ||
           (at >= 2 && memcmp(out->at + at - 2, "if", 2) == 0);
}

/* The word that declares; what follows it, or NULL. */
static const char *after_declaring(const char *s)
{
    return is_here(s, "const") ? s + 5 : is_here(s, "let") ? s + 3 : NULL;
}

/* The end of a statement: `const a=1;let b=2` is one statement, and none is needed before }. */
static const char *put_end(struct text *out, struct place *p, const char *s)
{
    bool line = false;
    const char *next = skip_js(s + 1, &line);
    if (p->is_let[p->depth] && after_declaring(next)) {
        put(out, ',');
        return skip_js(after_declaring(next), &line);
    }
    p->is_let[p->depth] = false;
    if (*next != '}' || (last(out) == ')' && ends_condition(out)))
        put(out, ';');
    return next;
}

/* A word that has a shorter one; what follows it, or NULL: none is here. */
static const char *put_word(struct text *out, const char *s)
{
    if (is_word(last(out)) || last(out) == '.')
        return NULL;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        bool line = false;
        const char *next = s + strlen(words[i][0]);
        if (!is_here(s, words[i][0]) || *skip_js(next, &line) == ':')
            continue;
        put_text(out, words[i][1]);
        return next;
    }
    return NULL;
}

static const char *put_code(struct text *out, struct place *p, const char *s)
{
    if (is_of(*s, "([{")) {
        if (++p->depth == MOST_DEPTH)
            die("too many brackets");
        p->is_let[p->depth] = false;
    } else if (is_of(*s, ")]}") && --p->depth < 0) {
        die("a bracket closes that did not open at: %.40s", s);
    }
    if (after_declaring(s) && (!out->len || is_of(last(out), ";{}\n")))
        p->is_let[p->depth] = true;
    const char *behind = put_word(out, s);
    if (behind)
        return behind;
    if (s[0] == '0' && s[1] == '.' && !is_word(last(out)))
        s++; /* 0.5 is .5 */
    put(out, *s);
    return s + 1;
}

static void tighten(struct text *out, const char *s)
{
    struct place place = {0};
    size_t from = out->len;
    for (;;) {
        bool line = false;
        const char *next = skip_js(s, &line);
        if (next > s && out->len > from)
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
        else if (*s == ';')
            s = put_end(out, &place, s);
        else
            s = put_code(out, &place, s);
    }
}

void tighten_js(struct text *out, const char *s)
{
    tighten(out, s);
    put(out, '\n');
}
