/* SPDX-License-Identifier: MIT */
/*
 * base/limits.h -- every limit in one place, and the checks of names and ids.
 *
 * A check fills in `reterr` (may be NULL) with a line that names the limit, the
 * value and, where there is one, the flag that changes it.
 */
#ifndef PAWL_BASE_LIMITS_H
#define PAWL_BASE_LIMITS_H

#include "pawl/types.h"

#define LIMIT_INSTANCE_BYTES    512      /* chosen by a caller */
#define LIMIT_CHILD_ID_BYTES    1024     /* made by us */
#define LIMIT_NAME_BYTES        255      /* orchestration, activity, event, queue */
#define ID_OF_QUEUE             "queue~" /* then the queue's name, '~', the message's number */
#define LIMIT_VERSION_BYTES     64
#define LIMIT_KEY_BYTES         128 /* idempotency key */
#define LIMIT_TRAY_KEY_BYTES    128 /* for whom a call is */
#define LIMIT_PRIORITY          999 /* of a call, 1 first */
#define LIMIT_PRIORITY_DEFAULT  100
#define LIMIT_REASON_BYTES      4096 /* of cancel, terminate, suspend */
#define LIMIT_STATUS_BYTES      (256 * 1024)
#define LIMIT_ATTRIBUTES_BYTES  (64 * 1024) /* of a change, as JSON */
#define LIMIT_ASK_BYTES         (16 * 1024) /* what a wait asks for */
#define LIMIT_DETAILS_BYTES     (16 * 1024) /* of a heartbeat */
#define LIMIT_ASK_CHOICES       100
#define LIMIT_STATE_KEY_BYTES   128
#define LIMIT_STATE_VALUE_BYTES (64 * 1024)
#define LIMIT_STATE_KEYS        1000
#define LIMIT_STATE_BYTES       (1024 * 1024)     /* of all keys and values of an instance */
#define LIMIT_PAYLOAD_BYTES     (2 * 1024 * 1024) /* default of --max-payload */
#define LIMIT_HISTORY_EVENTS    50000             /* default of --max-history */
#define LIMIT_MAILBOX_EVENTS    10000             /* default of --max-mailbox */
#define LIMIT_RAISES            100               /* that come with a start */
#define LIMIT_DEPTH             1000              /* default of --max-depth */
#define LIMIT_JSON_DEPTH        64
#define LIMIT_DELAY_MS          (INT64_C(100) * 366 * 86400000) /* 100 years */
#define LIMIT_STACK_MIN         (16 * 1024)
#define LIMIT_STACK_DEFAULT     (64 * 1024)
#define LIMIT_STACK_MAX         (64 * 1024 * 1024)

/* Valid UTF-8 (no surrogates, no overlong forms). */
bool utf8_valid(pawl_str text);
/* An instance id: 1..max bytes of UTF-8 without control characters. */
bool check_instance_id(pawl_str id, size_t max, pawl_error *reterr);
/* The same for an id that a caller chose: it must not look like one that a bound queue makes. */
bool check_chosen_id(pawl_str id, size_t max, pawl_error *reterr);
/* queue~NAME~NUMBER: of the instance that a message of a bound queue starts. */
bool id_is_of_queue(pawl_str id);
/* A name: 1..255 bytes of UTF-8 without '/' or control characters; `what` is "activity name" etc. */
bool check_name(const char *what, pawl_str name, pawl_error *reterr);
/* For whom a call is: 1..128 bytes of UTF-8 without control characters. */
bool check_tray_key(pawl_str key, pawl_error *reterr);
/* Of a heartbeat: at most 16 KiB. */
bool check_details(pawl_str details, pawl_error *reterr);
/* A queue's name: as a name, not "." or ".." (they are no words for a URL); "-deadletter" behind it
 * does not count, so that whatever a queue buries can be addressed. */
bool check_queue_name(const char *what, pawl_str name, pawl_error *reterr);
#define DEAD_LETTERS "-deadletter" /* NAME-deadletter: where a queue's dead letters go */
/* major.minor.patch with optional -pre and +build (semver 2.0). */
bool check_version(pawl_str version, pawl_error *reterr);
/* <0, 0, >0 by semver precedence.  Both must be valid. */
int version_compare(pawl_str a, pawl_str b);

void error_set(pawl_error *err, pawl_status status, const char *format, ...) PAWL_PRINTF(3, 4);
/* `before`, `text`, `after`: the same without printf, where it is no error to most callers. */
void error_about(pawl_error *err, pawl_status status, const char *before, pawl_str text,
                 const char *after);

#endif
