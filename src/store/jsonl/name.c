/* SPDX-License-Identifier: MIT */
/*
 * store/jsonl/name.c -- ids as file names.
 *
 * Letters, digits, most marks and everything beyond ASCII stay as they are, so a
 * person finds an instance by its id.  What a file system or a shell minds
 * becomes %XX, and so does the first byte of a name this store uses itself.  The
 * mapping is reversible up to NAME_BYTES; longer ids are cut and get the uid.
 */
#include "store/jsonl/jsonl.h"

#include "base/attr.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 200 /* of 255: ".jsonl", "%~" and a uid have room */

static const char *const reserved[] = {"queue", "removed", "lock",    "fence.json",
                                       "slots", "reserve", "pawl.db", "quarantine.jsonl"};

static bool is_safe(unsigned char c, size_t at)
{
    if (c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
        return true;
    return c && (strchr("_-+=@,:", c) || (c == '.' && at > 0));
}

static bool is_reserved(pawl_str id)
{
    for (size_t i = 0; i < COUNT_OF(reserved); i++)
        if (pawl_str_is(id, reserved[i]))
            return true;
    return false;
}

/* The name; false: cut, it is longer than that. */
static bool escape(pawl_str id, char name[NAME_BYTES + 4])
{
    bool first = is_reserved(id);
    size_t n = 0;
    for (size_t i = 0; i < id.len; i++) {
        unsigned char c = (unsigned char)id.ptr[i];
        bool safe = is_safe(c, i) && !(first && i == 0);
        if (n + (safe ? 1 : 3) > NAME_BYTES) {
            while (n && ((unsigned char)name[n - 1] & 0xc0) == 0x80)
                n--;
            if (n && ((unsigned char)name[n - 1] & 0x80))
                n--; /* no half characters */
            name[n] = 0;
            return false;
        }
        if (safe)
            name[n++] = (char)c;
        else
            n += (size_t)snprintf(name + n, 4, "%%%02X", c);
    }
    name[n] = 0;
    return true;
}

bool jsonl_path(const struct jsonl *j, char path[JSONL_PATH_MAX], const char *format, ...)
{
    int n = snprintf(path, JSONL_PATH_MAX, "%s/", j->root);
    if (n < 0 || n >= JSONL_PATH_MAX)
        return false;
    va_list args;
    va_start(args, format);
    int more = vsnprintf(path + n, (size_t)(JSONL_PATH_MAX - n), format, args);
    va_end(args);
    return more >= 0 && n + more < JSONL_PATH_MAX;
}

bool jsonl_dir(const struct jsonl *j, const pawl_row *row, char path[JSONL_PATH_MAX])
{
    char name[NAME_BYTES + 4];
    if (escape(row->id, name))
        return jsonl_path(j, path, "%s", name);
    return jsonl_path(j, path, "%s%%~%llu", name, (unsigned long long)row->uid);
}

bool jsonl_file(const struct jsonl *j, const pawl_row *row, uint64_t execution,
                char path[JSONL_PATH_MAX])
{
    if (!jsonl_dir(j, row, path))
        return false;
    size_t n = strlen(path);
    int more = snprintf(path + n, JSONL_PATH_MAX - n, "/%llu.jsonl", (unsigned long long)execution);
    return more >= 0 && n + (size_t)more < JSONL_PATH_MAX;
}
