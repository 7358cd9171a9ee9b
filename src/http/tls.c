/* SPDX-License-Identifier: MIT */
/*
 * http/tls.c -- TLS of the server's side, by GnuTLS (docs/decisions/0010).
 *
 * Everything is non-blocking: a handshake takes as many steps as the network makes of
 * it, and the loop does only a few of them in a round.  The library's own errors become
 * errno, so that the rest reads like plain sockets.
 *
 * TLS 1.2 and 1.3, with an ephemeral key and an AEAD: nothing else.  Certificate and key can be
 * read again while connections that began with the old ones go on with them.
 */
#include "http/http_conn.h"

#include "base/attr.h"
#include "base/clock.h"
#include "http/cert.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

#define SUITES                                                                                     \
    "NONE:+VERS-TLS1.3:+VERS-TLS1.2:+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-GCM:+AEAD:"           \
    "+ECDHE-ECDSA:+ECDHE-RSA:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1:+COMP-NULL:"          \
    "+SIGN-ALL:-SIGN-RSA-SHA1:-SIGN-DSA-SHA1:-SIGN-ECDSA-SHA1:+CTYPE-X509:%SERVER_PRECEDENCE"
#define CHECK_AGAIN_S 86400

struct http_trust {
    gnutls_certificate_credentials_t keys;
    gnutls_priority_t priority;
    size_t users;    /* sessions, and the server itself */
    int64_t check_s; /* wall clock: look at the certificate again */
    char file[256];  /* the certificate's, for words */
    struct logger log;
};

struct http_tls {
    gnutls_session_t session;
    struct http_trust *trust;
};

static bool load(struct http_trust *t, const char *cert, const char *key, pawl_error *reterr)
{
    *reterr = (pawl_error){.status = PAWL_INVALID};
    FILE *f = cert && key ? fopen(cert, "re") : NULL, *g = f ? fopen(key, "re") : NULL;
    if (!f || !g) {
        (void)snprintf(reterr->text, sizeof(reterr->text),
                       "cannot read '%s'; TLS needs --tls-cert and --tls-key",
                       f      ? key
                       : cert ? cert
                              : "");
    } else {
        int rc = gnutls_certificate_set_x509_key_file(t->keys, cert, key, GNUTLS_X509_FMT_PEM);
        if (rc < 0)
            (void)snprintf(reterr->text, sizeof(reterr->text),
                           "the HTTP server cannot start; are certificate and key in order? (%s)",
                           gnutls_strerror(rc));
    }
    if (f)
        (void)fclose(f);
    if (g)
        (void)fclose(g);
    return !reterr->text[0];
}

/* Warn, now and once a day. */
static void check(struct http_trust *t)
{
    int64_t now_s = clock_wall_ms() / 1000;
    if (now_s < t->check_s)
        return;
    t->check_s = now_s + CHECK_AGAIN_S;
    struct cert_words words = cert_check(t->keys, now_s);
    const char *all[] = {words.time, words.strength};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (all[i][0])
            log_warn(&t->log, "tls", "clients may refuse the certificate", "file=\"%s\" why=\"%s\"",
                     t->file, all[i]);
}

struct http_trust *http_trust_open(const char *cert, const char *key, const struct logger *log,
                                   pawl_error *reterr)
{
    struct http_trust *t = calloc(1, sizeof(*t));
    if (t) {
        t->users = 1;
        t->log = *log;
    }
    if (!t || gnutls_certificate_allocate_credentials(&t->keys) < 0 ||
        gnutls_priority_init(&t->priority, SUITES, NULL) < 0) {
        *reterr = (pawl_error){.status = PAWL_NO_MEMORY, .text = "out of memory for TLS"};
        http_trust_leave(t);
        return NULL;
    }
    if (load(t, cert, key, reterr)) {
        (void)snprintf(t->file, sizeof(t->file), "%s", cert);
        check(t);
        return t;
    }
    http_trust_leave(t);
    return NULL;
}

void http_trust_leave(struct http_trust *t)
{
    if (!t || --t->users > 0)
        return;
    if (t->priority)
        gnutls_priority_deinit(t->priority);
    if (t->keys)
        gnutls_certificate_free_credentials(t->keys);
    free(t);
}

static bool set_up(struct http_tls *s, int fd)
{
    static unsigned char name[] = "http/1.1";
    gnutls_datum_t alpn = {name, sizeof(name) - 1};
    if (gnutls_priority_set(s->session, s->trust->priority) < 0 ||
        gnutls_credentials_set(s->session, GNUTLS_CRD_CERTIFICATE, s->trust->keys) < 0)
        return false;
    (void)gnutls_alpn_set_protocols(s->session, &alpn, 1, 0);
    gnutls_certificate_server_set_request(s->session, GNUTLS_CERT_IGNORE);
    gnutls_handshake_set_timeout(s->session, GNUTLS_INDEFINITE_TIMEOUT); /* the loop has one */
    gnutls_transport_set_int(s->session, fd);
    return true;
}

struct http_tls *http_tls_new(struct http_trust *t, int fd)
{
    struct http_tls *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    if (gnutls_init(&s->session, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) < 0) {
        free(s);
        return NULL;
    }
    check(t);
    s->trust = t;
    t->users++;
    if (set_up(s, fd))
        return s;
    http_tls_free(s);
    return NULL;
}

void http_tls_free(struct http_tls *s)
{
    if (!s)
        return;
    gnutls_deinit(s->session);
    http_trust_leave(s->trust);
    free(s);
}

int http_tls_shake(struct http_tls *s, uint32_t *events)
{
    int rc = gnutls_handshake(s->session);
    *events = gnutls_record_get_direction(s->session) ? EPOLLOUT : EPOLLIN;
    if (rc == GNUTLS_E_SUCCESS)
        return 1;
    return gnutls_error_is_fatal(rc) ? -1 : 0;
}

static ssize_t as_errno(ssize_t rc)
{
    if (rc >= 0)
        return rc;
    if (rc == GNUTLS_E_PREMATURE_TERMINATION)
        return 0; /* hung up without saying so */
    errno = gnutls_error_is_fatal((int)rc) || rc == GNUTLS_E_REHANDSHAKE ? ECONNRESET : EAGAIN;
    return -1;
}

ssize_t http_tls_recv(struct http_tls *s, void *to, size_t n)
{
    return as_errno(gnutls_record_recv(s->session, to, n));
}

ssize_t http_tls_send(struct http_tls *s, const void *bytes, size_t n)
{
    return as_errno(gnutls_record_send(s->session, bytes, n));
}

bool http_tls_pending(struct http_tls *s)
{
    return gnutls_record_check_pending(s->session) > 0;
}

void http_tls_bye(struct http_tls *s)
{
    (void)gnutls_bye(s->session, GNUTLS_SHUT_WR);
}
