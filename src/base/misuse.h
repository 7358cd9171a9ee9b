/* SPDX-License-Identifier: MIT */
/*
 * base/misuse.h -- arguments that break a rule of the API: NULL where something is
 * needed, and options of another size than ours.
 *
 * A call with a status answers PAWL_MISUSE; a call without one stops the process with a
 * line that names it.  Used at the public entries only.
 */
#ifndef PAWL_BASE_MISUSE_H
#define PAWL_BASE_MISUSE_H

#include "base/attr.h"
#include "pawl/types.h"

NORETURN void misuse_stop(const char *function, const char *what);

/* For calls without a status. */
#define MUST_HAVE(what, pointer)                                                                   \
    do {                                                                                           \
        if (UNLIKELY(!(pointer)))                                                                  \
            misuse_stop(__func__, what);                                                           \
    } while (0)

/* For calls with one: false, with *err set, unless all is there. */
void refuse_missing(const char *function, const char *what, pawl_error *err);
static inline bool is_there(bool all, const char *function, const char *what, pawl_error *err)
{
    if (UNLIKELY(!all))
        refuse_missing(function, what, err);
    return all;
}
#define IS_THERE(all, what, err) is_there(all, __func__, what, err)

/* A length without bytes. */
static inline bool is_odd(pawl_str text)
{
    return !text.ptr && text.len;
}

/*
 * Options as this library knows them.  A caller may be older: members that its shorter
 * struct lacks are zero.  It may be newer: its additional members must be zero, else the call
 * is refused, because ignoring an option is worse.  `size` is their first member; 0 means the size
 * in this header, and NULL means all zero.  False, with *err set, when the options are refused.
 */
bool options_take(void *to, size_t known, const void *from, const char *what, pawl_error *err);
#define OPTIONS_TAKE(to, from, what, err) options_take((to), sizeof(*(to)), (from), what, err)

/* The same without a copy where the sizes agree, which is nearly always; NULL: refused. */
static inline const void *options_of(void *room, size_t known, const void *from, const char *what,
                                     pawl_error *err)
{
    if (LIKELY(from && *(const size_t *)from == known))
        return from;
    return options_take(room, known, from, what, err) ? room : NULL;
}
#define OPTIONS_OF(room, from, what, err) options_of((room), sizeof(*(room)), (from), what, err)

#endif
