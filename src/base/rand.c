/* SPDX-License-Identifier: MIT */
/*
 * base/rand.c -- SipHash, the kernel's randomness, UUID text.
 *
 * siphash24 is part of what is stored: the random numbers and uuids of an
 * orchestration are this function of its recorded seed, so its output may never
 * change (the reference vectors in the test hold it in place).
 */
#include "base/rand.h"

#include "base/attr.h"
#include "base/forks.h"
#include "base/hex.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

struct sip {
    uint64_t a, b, c, d;
};

static uint64_t rotl(uint64_t x, unsigned n)
{
    return (x << n) | (x >> (64 - n));
}

INLINED void sip_round(struct sip *s)
{
    s->a += s->b;
    s->b = rotl(s->b, 13) ^ s->a;
    s->a = rotl(s->a, 32);
    s->c += s->d;
    s->d = rotl(s->d, 16) ^ s->c;
    s->a += s->d;
    s->d = rotl(s->d, 21) ^ s->a;
    s->c += s->b;
    s->b = rotl(s->b, 17) ^ s->c;
    s->c = rotl(s->c, 32);
}

INLINED void sip_rounds(struct sip *s, int count)
{
    for (int i = 0; i < count; i++)
        sip_round(s);
}

INLINED void sip_word(struct sip *s, uint64_t word, int rounds)
{
    s->d ^= word;
    sip_rounds(s, rounds);
    s->a ^= word;
}

static uint64_t load_le64(const uint8_t *from)
{
    uint64_t word;

    memcpy(&word, from, sizeof word);
    return le64toh(word);
}

static uint64_t load_le32(const uint8_t *from)
{
    uint32_t word;

    memcpy(&word, from, sizeof word);
    return le32toh(word);
}

/* Fewer than eight bytes. */
INLINED uint64_t load_few(const uint8_t *from, size_t n)
{
    if (n >= 4) /* some bytes may come twice, to the same place */
        return load_le32(from) | load_le32(from + n - 4) << (8 * (n - 4));
    if (n == 0)
        return 0;
    return from[0] | (uint64_t)from[n / 2] << (8 * (n / 2)) |
           (uint64_t)from[n - 1] << (8 * (n - 1));
}

/* The number of rounds for each word, and at the end. */
INLINED uint64_t sip(const uint64_t key[2], const void *data, size_t n, int rounds, int last_rounds)
{
    struct sip s = {
        .a = key[0] ^ UINT64_C(0x736f6d6570736575),
        .b = key[1] ^ UINT64_C(0x646f72616e646f6d),
        .c = key[0] ^ UINT64_C(0x6c7967656e657261),
        .d = key[1] ^ UINT64_C(0x7465646279746573),
    };
    const uint8_t *p = data;
    uint64_t last = (uint64_t)n << 56;

    for (; n >= 8; p += 8, n -= 8)
        sip_word(&s, load_le64(p), rounds);
    sip_word(&s, last | load_few(p, n), rounds);
    s.c ^= 0xff;
    sip_rounds(&s, last_rounds);
    return s.a ^ s.b ^ s.c ^ s.d;
}

uint64_t siphash24(const uint64_t key[2], const void *data, size_t n)
{
    return sip(key, data, n, 2, 4);
}

uint64_t siphash13(const uint64_t key[2], const void *data, size_t n)
{
    return sip(key, data, n, 1, 3);
}

void random_bytes(void *to, size_t n)
{
    char *at = to;

    while (n > 0) {
        ssize_t got = getrandom(at, n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        /* Going on with predictable lock tokens would be worse than stopping. */
        assert_that(got > 0);
        at += got;
        n -= (size_t)got;
    }
}

void random_ids(void *to, size_t n)
{
    static _Thread_local struct {
        uint8_t bytes[512];
        size_t left;
        unsigned forks;
    } ahead;
    unsigned forks = forks_behind();

    if (n > sizeof ahead.bytes) {
        random_bytes(to, n);
        return;
    }
    if (ahead.left < n || ahead.forks != forks) {
        random_bytes(ahead.bytes, sizeof ahead.bytes);
        ahead.left = sizeof ahead.bytes;
        ahead.forks = forks;
    }
    ahead.left -= n;
    memcpy(to, ahead.bytes + ahead.left, n);
    memset(ahead.bytes + ahead.left, 0, n); /* what was given away is nowhere else */
}

void uuid7_format(char out[37], int64_t ms, const uint8_t bits[10])
{
    uint8_t bytes[16];

    for (int i = 0; i < 6; i++)
        bytes[i] = (uint8_t)((uint64_t)ms >> (40 - 8 * i));
    memcpy(bytes + 6, bits, 10);
    bytes[6] = (uint8_t)(0x70 | (bytes[6] & 0x0f)); /* version 7 */
    bytes[8] = (uint8_t)(0x80 | (bytes[8] & 0x3f)); /* RFC 9562 variant */
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *out++ = '-';
        *out++ = hex_digits[bytes[i] >> 4];
        *out++ = hex_digits[bytes[i] & 15];
    }
    *out = '\0';
}
