/* SPDX-License-Identifier: MIT */
/*
 * server/sha256.c -- SHA-256, for the hashes of tokens and of idempotency keys.
 *
 * GnuTLS has it, with the instructions of the processor, and is linked for TLS already.  It
 * fails only in a FIPS mode whose self-tests failed; without a hash there is no access control,
 * so the process stops.
 */
#include "server/server.h"

#include <gnutls/crypto.h>

void sha256(const void *data, size_t n, uint8_t out[32])
{
    assert_that(gnutls_hash_fast(GNUTLS_DIG_SHA256, data, n, out) == 0);
}
