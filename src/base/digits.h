/* SPDX-License-Identifier: MIT */
/* base/digits.h -- decimal digits where printf would cost more than the rest. */
#ifndef PAWL_BASE_DIGITS_H
#define PAWL_BASE_DIGITS_H

#include <stdint.h>

/* Write `n` so that its last digit is in front of `end`; where the first one is.  At most 20. */
static inline char *digits_before(char *end, uint64_t n)
{
    do
        *--end = (char)('0' + n % 10);
    while (n /= 10);
    return end;
}

#endif
