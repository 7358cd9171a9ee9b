/* SPDX-License-Identifier: MIT */
/* http/chunk.c -- see chunk.h. */
#include "http/chunk.h"

#include "base/hex.h"

#define DIGITS_MAX 15 /* 2^60: a sum with it cannot overflow */

/* Blanks, then an extension or the end of the line. */
static enum chunk_state after_digits(struct chunk *c, char byte)
{
    if (byte == '\r')
        return CHUNK_SIZE_LF;
    if (byte == ';')
        return CHUNK_EXTENSION;
    bool blank = byte == ' ' || byte == '\t';
    return blank && ++c->extra <= CHUNK_EXTRA ? CHUNK_BLANKS : CHUNK_BAD;
}

static enum chunk_state after_size(struct chunk *c, char byte)
{
    int digit = hex_value(byte);
    if (digit >= 0 && c->digits < DIGITS_MAX) {
        c->left = c->left * 16 + (uint64_t)digit;
        c->digits++;
        return CHUNK_SIZE;
    }
    if (!c->digits || digit >= 0)
        return CHUNK_BAD;
    return after_digits(c, byte);
}

/* A byte of what is read over: text up to a CR. */
static enum chunk_state after_extra(struct chunk *c, char byte, enum chunk_state stay,
                                    enum chunk_state cr)
{
    unsigned char u = (unsigned char)byte;
    if (byte == '\r')
        return cr;
    if (++c->extra > CHUNK_EXTRA || (u < ' ' && byte != '\t') || u == 0x7f)
        return CHUNK_BAD;
    return stay;
}

static enum chunk_state after_lf(struct chunk *c, char byte, enum chunk_state next)
{
    if (byte != '\n')
        return CHUNK_BAD;
    if (next == CHUNK_SIZE) {
        c->left = 0;
        c->digits = 0;
    }
    return next;
}

static enum chunk_state after(struct chunk *c, char byte)
{
    switch ((enum chunk_state)c->state) {
    case CHUNK_SIZE:
        return after_size(c, byte);
    case CHUNK_BLANKS:
        return after_digits(c, byte);
    case CHUNK_EXTENSION:
        return after_extra(c, byte, CHUNK_EXTENSION, CHUNK_SIZE_LF);
    case CHUNK_SIZE_LF:
        return after_lf(c, byte, c->left ? CHUNK_DATA : CHUNK_TRAILER);
    case CHUNK_DATA_CR:
        return byte == '\r' ? CHUNK_DATA_LF : CHUNK_BAD;
    case CHUNK_DATA_LF:
        return after_lf(c, byte, CHUNK_SIZE);
    case CHUNK_TRAILER: /* one that begins with a blank would go on from the line before */
        return byte == ' ' || byte == '\t'
                   ? CHUNK_BAD
                   : after_extra(c, byte, CHUNK_TRAILER_LINE, CHUNK_LAST_LF);
    case CHUNK_TRAILER_LINE:
        return after_extra(c, byte, CHUNK_TRAILER_LINE, CHUNK_TRAILER_LF);
    case CHUNK_TRAILER_LF:
        return after_lf(c, byte, CHUNK_TRAILER);
    case CHUNK_LAST_LF:
        return after_lf(c, byte, CHUNK_END);
    case CHUNK_DATA:
    case CHUNK_END:
    case CHUNK_BAD:
        break;
    }
    return CHUNK_BAD;
}

size_t chunk_eat(struct chunk *c, const char *bytes, size_t n, pawl_str *retdata)
{
    size_t at = 0;
    *retdata = (pawl_str){bytes, 0};
    while (at < n && c->state != CHUNK_DATA && c->state != CHUNK_END && c->state != CHUNK_BAD)
        c->state = (uint8_t)after(c, bytes[at++]);
    if (c->state != CHUNK_DATA || at == n)
        return at;
    size_t take = c->left < n - at ? (size_t)c->left : n - at;
    *retdata = (pawl_str){bytes + at, take};
    c->left -= take;
    if (!c->left)
        c->state = CHUNK_DATA_CR;
    return at + take;
}
