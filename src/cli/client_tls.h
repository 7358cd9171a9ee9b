/* SPDX-License-Identifier: MIT */
/*
 * cli/client_tls.h -- TLS on a connected socket, for http.c alone.
 *
 * The server's certificate is always checked, against the system's authorities or
 * those of one file, and for the name that was asked for.  The check cannot be
 * turned off: a token would go to any server that answers.
 */
#ifndef PAWL_CLI_CLIENT_TLS_H
#define PAWL_CLI_CLIENT_TLS_H

#include "pawl/types.h"

#include <sys/types.h>

struct tls;

/* Waits for the socket, as poll(2) names events; false: time is up, errno says so. */
typedef bool tls_wait_fn(void *user, short events);

/* Trust the authorities in the PEM file `ca`, or the system's (NULL). */
struct tls *tls_open(const char *ca, pawl_error *reterr);
void tls_close(struct tls *t); /* NULL is fine */

/* Shake hands on a connected, non-blocking socket.  PAWL_UNAVAILABLE says what is wrong. */
pawl_status tls_begin(struct tls *t, int fd, const char *name, tls_wait_fn *wait, void *user,
                      pawl_error *reterr);
/* Forget the connection; the socket is the caller's. */
void tls_end(struct tls *t);

/* As send(2) and recv(2): -1 with errno, EAGAIN: wait for tls_events(). */
ssize_t tls_send(struct tls *t, const void *bytes, size_t n);
ssize_t tls_recv(struct tls *t, void *to, size_t n);
short tls_events(const struct tls *t);

#endif
