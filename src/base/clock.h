/* SPDX-License-Identifier: MIT */
/* base/clock.h -- the real clocks; everything above gets them through pawl_env. */
#ifndef PAWL_BASE_CLOCK_H
#define PAWL_BASE_CLOCK_H

#include <stdint.h>

int64_t clock_wall_ms(void);
int64_t clock_mono_ms(void);
int64_t clock_mono_us(void);
int64_t clock_cpu_us(void); /* that this thread has used */

#endif
