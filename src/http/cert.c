/* SPDX-License-Identifier: MIT */
/*
 * http/cert.c -- is our certificate one that clients will take?
 *
 * It warns, when the certificate is loaded and once a day while connections come: not valid
 * yet, expired or soon to expire, a short key, a signature by a broken hash.  The certificate
 * is still used: the operator may know why.
 *
 * Called by tls.c.
 */
#include "http/cert.h"

#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DAY_S  86400
#define SOON_S (14 * (int64_t)DAY_S)

static void date_of(int64_t at_s, char ret[20])
{
    time_t t = (time_t)at_s;
    struct tm tm;
    (void)strftime(ret, 20, "%Y-%m-%d", gmtime_r(&t, &tm));
}

static void check_time(gnutls_x509_crt_t crt, int64_t now_s, struct cert_words *ret)
{
    int64_t from = gnutls_x509_crt_get_activation_time(crt);
    int64_t to = gnutls_x509_crt_get_expiration_time(crt);
    char date[20];
    date_of(now_s < from ? from : to, date);
    if (now_s < from)
        (void)snprintf(ret->time, sizeof(ret->time), "not valid before %s", date);
    else if (now_s >= to)
        (void)snprintf(ret->time, sizeof(ret->time), "expired on %s", date);
    else if (to - now_s < SOON_S)
        (void)snprintf(ret->time, sizeof(ret->time), "expires on %s", date);
}

static void check_strength(gnutls_x509_crt_t crt, struct cert_words *ret)
{
    unsigned bits = 0;
    int algorithm = gnutls_x509_crt_get_pk_algorithm(crt, &bits);
    gnutls_sign_algorithm_t by =
        (gnutls_sign_algorithm_t)gnutls_x509_crt_get_signature_algorithm(crt);
    gnutls_digest_algorithm_t hash = gnutls_sign_get_hash_algorithm(by);
    bool by_itself = gnutls_x509_crt_check_issuer(crt, crt); /* then clients ignore the signature */
    if (algorithm == GNUTLS_PK_RSA && bits < 2048)
        (void)snprintf(ret->strength, sizeof(ret->strength), "an RSA key of %u bits is weak", bits);
    else if (!by_itself && (hash == GNUTLS_DIG_MD5 || hash == GNUTLS_DIG_SHA1))
        (void)snprintf(ret->strength, sizeof(ret->strength), "signed with %s, which is broken",
                       gnutls_digest_get_name(hash));
}

struct cert_words cert_check(gnutls_certificate_credentials_t keys, int64_t now_s)
{
    struct cert_words ret = {0};
    gnutls_x509_crt_t *list = NULL;
    unsigned count = 0;
    if (gnutls_certificate_get_x509_crt(keys, 0, &list, &count) < 0)
        return ret;
    if (count) {
        check_time(list[0], now_s, &ret);
        check_strength(list[0], &ret);
    }
    for (unsigned i = 0; i < count; i++)
        gnutls_x509_crt_deinit(list[i]);
    gnutls_free(list);
    return ret;
}
