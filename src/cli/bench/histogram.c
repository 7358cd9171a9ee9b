/* SPDX-License-Identifier: MIT */
/*
 * cli/bench/histogram.c -- percentiles of any number of values in fixed memory.
 */
#include "cli/bench/histogram.h"

#include <stddef.h>

/* Values below FINE have a bucket each; above, the top seven bits choose it. */
static size_t bucket_of(uint64_t value)
{
    if (value < HISTOGRAM_FINE)
        return (size_t)value;
    unsigned shift = (unsigned)(63 - __builtin_clzll(value)) - 6;
    size_t bucket = (size_t)HISTOGRAM_FINE * shift + (size_t)(value >> shift);
    return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

static int64_t middle_of(size_t bucket)
{
    if (bucket < HISTOGRAM_FINE)
        return (int64_t)bucket;
    size_t shift = bucket / HISTOGRAM_FINE - 1;
    uint64_t low = (uint64_t)(bucket - shift * HISTOGRAM_FINE) << shift;
    return (int64_t)(low + (((uint64_t)1 << shift) - 1) / 2);
}

void histogram_add(struct histogram *h, int64_t value, uint64_t times)
{
    h->counts[bucket_of(value < 0 ? 0 : (uint64_t)value)] += times;
    h->total += times;
}

int64_t histogram_at(const struct histogram *h, double percent)
{
    uint64_t want = (uint64_t)((double)h->total * percent / 100.0), seen = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += h->counts[i];
        if (seen > want || (seen == h->total && seen))
            return middle_of(i);
    }
    return 0;
}
