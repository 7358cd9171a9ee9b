/* SPDX-License-Identifier: MIT */
/*
 * cli/client_tls.c -- see client_tls.h.  GnuTLS, as the server has it
 * (docs/decisions/0010-gnutls-for-https.md).
 */
#include "cli/client_tls.h"

#include "base/attr.h"
#include "base/limits.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tls {
    gnutls_certificate_credentials_t trust;
    gnutls_session_t session; /* NULL: no connection */
    bool own_ca;
};

static pawl_status trust_file(struct tls *t, const char *ca, pawl_error *reterr)
{
    int n = gnutls_certificate_set_x509_trust_file(t->trust, ca, GNUTLS_X509_FMT_PEM);
    t->own_ca = true;
    if (n > 0)
        return PAWL_OK;
    error_set(reterr, PAWL_INVALID, "cannot use the authorities of '%s': %s; give a PEM file", ca,
              n == 0 ? "there is no certificate in it" : gnutls_strerror(n));
    return PAWL_INVALID;
}

static pawl_status trust_system(struct tls *t, pawl_error *reterr)
{
    if (gnutls_certificate_set_x509_system_trust(t->trust) > 0)
        return PAWL_OK;
    error_set(
        reterr, PAWL_INVALID,
        "this system has no list of certificate authorities; install ca-certificates, or name "
        "the server's authority with --ca FILE");
    return PAWL_INVALID;
}

struct tls *tls_open(const char *ca, pawl_error *reterr)
{
    struct tls *t = calloc(1, sizeof(*t));
    assert_that(t);
    assert_that(gnutls_certificate_allocate_credentials(&t->trust) == GNUTLS_E_SUCCESS);
    if ((ca ? trust_file(t, ca, reterr) : trust_system(t, reterr)) == PAWL_OK)
        return t;
    tls_close(t);
    return NULL;
}

void tls_close(struct tls *t)
{
    if (!t)
        return;
    tls_end(t);
    gnutls_certificate_free_credentials(t->trust);
    free(t);
}

/* ---- The handshake ----------------------------------------------------------------- */

static bool is_address(const char *name)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

static int set_up(struct tls *t, int fd, const char *name)
{
    int rc = gnutls_init(&t->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
    if (rc == GNUTLS_E_SUCCESS)
        rc = gnutls_set_default_priority(t->session);
    if (rc == GNUTLS_E_SUCCESS)
        rc = gnutls_credentials_set(t->session, GNUTLS_CRD_CERTIFICATE, t->trust);
    if (rc == GNUTLS_E_SUCCESS && !is_address(name))
        rc = gnutls_server_name_set(t->session, GNUTLS_NAME_DNS, name, strlen(name));
    if (rc != GNUTLS_E_SUCCESS)
        return rc;
    gnutls_session_set_verify_cert(t->session, name, 0);
    gnutls_transport_set_int(t->session, fd);
    gnutls_handshake_set_timeout(t->session, GNUTLS_INDEFINITE_TIMEOUT); /* the caller has one */
    return rc;
}

static void say_untrusted(struct tls *t, const char *name, pawl_error *reterr)
{
    gnutls_datum_t why = {0};
    unsigned status = gnutls_session_get_verify_cert_status(t->session);
    bool other_name = status & GNUTLS_CERT_UNEXPECTED_OWNER;
    if (gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &why, 0) < 0)
        why.data = NULL;
    error_set(reterr, PAWL_UNAVAILABLE, "the certificate of '%s' is not to be trusted: %s%s", name,
              why.data ? (const char *)why.data : "no reason given",
              other_name  ? "use the name it was made for"
              : t->own_ca ? "is the server's authority in the file of --ca?"
                          : "if it has an authority of its own, name that with --ca FILE");
    gnutls_free(why.data);
}

static void say_failed(struct tls *t, const char *name, int rc, pawl_error *reterr)
{
    if (rc == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR)
        say_untrusted(t, name, reterr);
    else if (rc == GNUTLS_E_UNEXPECTED_PACKET_LENGTH || rc == GNUTLS_E_UNEXPECTED_PACKET ||
             rc == GNUTLS_E_UNSUPPORTED_VERSION_PACKET || rc == GNUTLS_E_PREMATURE_TERMINATION)
        error_set(reterr, PAWL_UNAVAILABLE,
                  "the server at '%s' does not speak TLS (%s); write http:// if it has none", name,
                  gnutls_strerror(rc));
    else
        error_set(reterr, PAWL_UNAVAILABLE, "no TLS with '%s': %s", name,
                  rc == GNUTLS_E_TIMEDOUT ? strerror(ETIMEDOUT) : gnutls_strerror(rc));
}

pawl_status tls_begin(struct tls *t, int fd, const char *name, tls_wait_fn *wait, void *user,
                      pawl_error *reterr)
{
    int rc = set_up(t, fd, name);
    while (rc == GNUTLS_E_SUCCESS && (rc = gnutls_handshake(t->session)) != GNUTLS_E_SUCCESS) {
        if (gnutls_error_is_fatal(rc))
            break;
        rc = rc != GNUTLS_E_AGAIN || wait(user, tls_events(t)) ? GNUTLS_E_SUCCESS
                                                               : GNUTLS_E_TIMEDOUT;
    }
    if (rc == GNUTLS_E_SUCCESS)
        return PAWL_OK;
    say_failed(t, name, rc, reterr);
    tls_end(t);
    return PAWL_UNAVAILABLE;
}

void tls_end(struct tls *t)
{
    if (t->session)
        gnutls_deinit(t->session);
    t->session = NULL;
}

/* ---- Bytes --------------------------------------------------------------------------- */

static ssize_t as_errno(ssize_t rc)
{
    if (rc >= 0)
        return rc;
    errno = rc == GNUTLS_E_AGAIN             ? EAGAIN
            : rc == GNUTLS_E_INTERRUPTED     ? EINTR
            : gnutls_error_is_fatal((int)rc) ? ECONNRESET
                                             : EINTR; /* a warning: go on */
    return -1;
}

ssize_t tls_send(struct tls *t, const void *bytes, size_t n)
{
    return as_errno(gnutls_record_send(t->session, bytes, n));
}

ssize_t tls_recv(struct tls *t, void *to, size_t n)
{
    return as_errno(gnutls_record_recv(t->session, to, n));
}

short tls_events(const struct tls *t)
{
    return gnutls_record_get_direction(t->session) ? POLLOUT : POLLIN;
}
