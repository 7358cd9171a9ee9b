/* SPDX-License-Identifier: MIT */
/*
 * pawl/attribute.h -- attributes of instances, and conditions on them.
 *
 * An attribute is a name and a value: a text or an integer of 64 bits (times are milliseconds,
 * truth is 0 or 1).  They need no registration.  A set of attributes is a JSON object:
 *
 *     {"customer":"c-42","total":990}
 *
 * A change is one, too: it is merged into what is there, and null removes a name.
 *
 * Thread-safe: the function uses only its arguments.
 */
#ifndef PAWL_ATTRIBUTE_H
#define PAWL_ATTRIBUTE_H

#include "pawl/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PAWL_ATTRIBUTES_MAX     32  /* of an instance */
#define PAWL_ATTRIBUTE_NAME_MAX 63  /* bytes: a-z, then a-z 0-9 _ . -; `pawl.` is ours */
#define PAWL_ATTRIBUTE_TEXT_MAX 255 /* bytes, UTF-8 without control characters */
#define PAWL_WHERE_MAX          8   /* conditions of one filter */

typedef enum pawl_where_op {
    PAWL_WHERE_EQ = 0,
    PAWL_WHERE_NE = 1,
    PAWL_WHERE_LT = 2,
    PAWL_WHERE_LE = 3,
    PAWL_WHERE_GT = 4,
    PAWL_WHERE_GE = 5,
    PAWL_WHERE_BEGINS = 6, /* a text that begins so */
} pawl_where_op;

/*
 * A condition on one attribute.  An instance that has no attribute of this name does not fit, with
 * NE either.  A text and an integer are never equal, and neither is below the other.  Texts are
 * compared byte by byte.  This struct does not grow.
 */
typedef struct pawl_where {
    pawl_str name;
    pawl_where_op op;
    bool is_number;
    int64_t number;
    pawl_str text;
} pawl_where;

/*
 * Read a condition from NAME, one of = != < <= > >= ^=, and VALUE.  A value that is written as an
 * integer is one; "7" in quotes, as JSON writes a text, is a text, and so is everything else.
 * False: *reterr (may be NULL) says why.  `text` and `mem` must outlive *ret.
 */
PAWL_API bool pawl_where_parse(pawl_mem *mem, pawl_str text, pawl_where *ret, pawl_error *reterr);

#ifdef __cplusplus
}
#endif
#endif
