/* SPDX-License-Identifier: MIT */
/* server/paging.c -- see paging.h. */
#include "server/paging.h"

#include "tables/instance_texts.h"

#define FIRST_PIECE 8 /* they may be large */

uint32_t paging_piece(const struct paging *p)
{
    size_t each = p->given ? p->bytes / p->given + 1 : PAGE_BYTES / FIRST_PIECE;
    size_t n = (PAGE_BYTES - p->bytes) / each + 1;
    n = n < PIECE ? n : PIECE;
    return n < p->left ? (uint32_t)n : p->left;
}

bool paging_count(struct paging *p, size_t bytes)
{
    p->left--;
    p->given++;
    p->bytes += bytes;
    return p->left && p->bytes < PAGE_BYTES;
}

size_t paging_bytes_of(const pawl_info *info)
{
    size_t bytes = info->output.len + info->error.len;
#define BYTES(field, ...) bytes += info->field.len;
    INSTANCE_TEXTS(BYTES)
    return bytes;
}
