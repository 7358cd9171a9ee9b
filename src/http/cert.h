/* SPDX-License-Identifier: MIT */
/* http/cert.h -- warnings about our own certificate; for tls.c. */
#ifndef PAWL_HTTP_CERT_H
#define PAWL_HTTP_CERT_H

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stdint.h>

struct cert_words {
    char time[64], strength[64]; /* empty: nothing */
};

struct cert_words cert_check(gnutls_certificate_credentials_t keys, int64_t now_s);

#endif
