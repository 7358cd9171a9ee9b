/* SPDX-License-Identifier: MIT */
/* tests/replay/event_text.c -- events as words; see the header. */
#include "event_text.h"

#include "pawl/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN_MAX 4

struct shape {
    int kind;
    const char *form; /* words; %r #ref, %n name, %d data, %D delay */
};

static const struct shape shapes[] = {
    {PAWL_EV_ORCHESTRATION_STARTED,              "started %d"            },
    {PAWL_EV_ORCHESTRATION_COMPLETED,            "finished ok %d"        },
    {PAWL_EV_ORCHESTRATION_FAILED,               "finished failed %d"    },
    {PAWL_EV_ORCHESTRATION_CONTINUED_AS_NEW,     "finished continued %d" },
    {PAWL_EV_ORCHESTRATION_CANCELLED,            "finished cancelled %d" },
    {PAWL_EV_ORCHESTRATION_TERMINATED,           "finished terminated %d"},
    {PAWL_EV_ORCHESTRATION_CANCEL_REQUESTED,     "cancel-requested %d"   },
    {PAWL_EV_ORCHESTRATION_SUSPENDED,            "suspended %d"          },
    {PAWL_EV_ORCHESTRATION_RESUMED,              "resumed %d"            },
    {PAWL_EV_ACTIVITY_SCHEDULED,                 "%r activity %n %d"     },
    {PAWL_EV_ACTIVITY_COMPLETED,                 "completed %r %d"       },
    {PAWL_EV_ACTIVITY_FAILED,                    "failed %r %d"          },
    {PAWL_EV_ACTIVITY_CANCEL_REQUESTED,          "cancel %r %d"          },
    {PAWL_EV_TIMER_CREATED,                      "%r timer %D"           },
    {PAWL_EV_TIMER_FIRED,                        "fired %r"              },
    {PAWL_EV_TIMER_CANCELLED,                    "cancel %r %d"          },
    {PAWL_EV_EXTERNAL_SUBSCRIBED,                "%r wait %n"            },
    {PAWL_EV_EXTERNAL_EVENT,                     "event %r %n %d"        },
    {PAWL_EV_EXTERNAL_CANCELLED,                 "cancel %r %d"          },
    {PAWL_EV_UPDATE_WAITED,                      "%r update %n"          },
    {PAWL_EV_UPDATE_ACCEPTED,                    "accepted %r %n %d"     },
    {PAWL_EV_UPDATE_ANSWERED,                    "answered %r %n %d"     },
    {PAWL_EV_UPDATE_WAIT_CANCELLED,              "cancel %r %d"          },
    {PAWL_EV_SUB_ORCHESTRATION_SCHEDULED,        "%r child %n %d"        },
    {PAWL_EV_SUB_ORCHESTRATION_COMPLETED,        "child-completed %r %d" },
    {PAWL_EV_SUB_ORCHESTRATION_FAILED,           "child-failed %r %d"    },
    {PAWL_EV_SUB_ORCHESTRATION_CANCEL_REQUESTED, "cancel %r %d"          },
    {PAWL_EV_ORCHESTRATION_CHAINED,              "%r detached %n %d"     },
    {PAWL_EV_EVENT_SENT,                         "%r raise %n %d"        },
    {PAWL_EV_CUSTOM_STATUS_UPDATED,              "status %d"             },
    {PAWL_EV_PATCH_RECORDED,                     "patch %n"              },
    {PAWL_EV_STATE_CHANGED,                      "state %n %d"           },
    {PAWL_EV_ATTRIBUTES_SET,                     "attributes %d"         },
    {PAWL_EV_STATE_CARRIED,                      "carried %n %d"         },
};

static int plain_words(const struct step *s, char words[PLAIN_MAX][600]);
static bool option_fits(const struct step *s, pawl_str option, bool *retfits);
static bool number_fits(pawl_str option, const char *prefix, int64_t value, bool *retfits);
static bool word_fits(pawl_str expected, const char *word);

void event_text(const struct step *s, char *out, size_t n)
{
    char words[PLAIN_MAX][600];
    int count = plain_words(s, words);
    size_t len = 0;

    out[0] = '\0';
    for (int i = 0; i < count && len < n; i++)
        len += (size_t)snprintf(out + len, n - len, "%s%.120s", i ? " " : "",
                                *words[i] ? words[i] : "\"\"");
    if (len < n && s->event.attrs.len)
        (void)snprintf(out + len, n - len, " attrs=%.*s", PAWL_FMT(s->event.attrs));
}

bool event_fits(const struct step *s, const struct line *l, int from)
{
    char words[PLAIN_MAX][600];
    int count = plain_words(s, words), at = 0;

    for (int i = from; i < l->count; i++) {
        bool fits;
        if (i > from && option_fits(s, l->words[i], &fits)) {
            if (!fits)
                return false;
        } else if (at == count || !word_fits(l->words[i], words[at++])) {
            return false;
        }
    }
    bool is_cancel = strcmp(words[0], "cancel") == 0;
    return at == count || (at == count - 1 && (is_cancel || !*words[at]));
}

static int plain_words(const struct step *s, char words[PLAIN_MAX][600])
{
    const pawl_event *e = &s->event;
    const char *form = "unknown";
    int count = 0;

    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        if (shapes[i].kind == e->kind)
            form = shapes[i].form;
    for (const char *at = form; *at; count++) {
        size_t n = strcspn(at, " ");
        char *w = words[count];
        if (at[0] != '%')
            (void)snprintf(w, 600, "%.*s", (int)n, at);
        else if (at[1] == 'r')
            (void)snprintf(w, 600, "#%" PRIu64, e->ref);
        else if (at[1] == 'D')
            (void)snprintf(w, 600, "%" PRId64, pawl_json_int(e->attrs, "/delay_ms", -1));
        else
            (void)snprintf(w, 600, "%.*s", PAWL_FMT(at[1] == 'n' ? e->name : e->data));
        at += n;
        at += *at == ' ';
    }
    return count;
}

static bool option_fits(const struct step *s, pawl_str option, bool *retfits)
{
    const pawl_event *e = &s->event;

    if (number_fits(option, "seq=", (int64_t)e->seq, retfits) ||
        number_fits(option, "at=", e->at_ms, retfits) ||
        number_fits(option, "fires=", s->fire_at_ms, retfits) ||
        number_fits(option, "rid=", (int64_t)s->target_rid, retfits) ||
        number_fits(option, "message=", (int64_t)s->message, retfits))
        return true;
    if (pawl_str_is(option, "refused"))
        *retfits = s->refused || pawl_json_get(e->attrs, "/refused").len > 0;
    else if (pawl_str_is(option, "abandon"))
        *retfits = s->abandon && pawl_json_bool(e->attrs, "/abandon", false);
    else if (pawl_str_is(option, "cleared"))
        *retfits = pawl_json_bool(e->attrs, "/cleared", false);
    else if (pawl_str_is(option, "rejected"))
        *retfits = pawl_json_bool(e->attrs, "/rejected", false);
    else if (pawl_str_is(option, "left"))
        *retfits = pawl_json_bool(e->attrs, "/left", false);
    else if (pawl_str_is(option, "forced"))
        *retfits = pawl_json_bool(e->attrs, "/forced", false);
    else if (strncmp(option.ptr, "id=", 3) == 0)
        *retfits = pawl_str_is(s->child, option.ptr + 3);
    else if (strncmp(option.ptr, "version=", 8) == 0)
        *retfits = pawl_str_is(s->version, option.ptr + 8);
    else if (strncmp(option.ptr, "attrs=", 6) == 0)
        *retfits = pawl_str_is(e->attrs, option.ptr + 6);
    else
        return false;
    return true;
}

static bool number_fits(pawl_str option, const char *prefix, int64_t value, bool *retfits)
{
    size_t n = strlen(prefix);

    if (strncmp(option.ptr, prefix, n) != 0)
        return false;
    *retfits = strtoll(option.ptr + n, NULL, 10) == value;
    return true;
}

static bool word_fits(pawl_str expected, const char *word)
{
    if (expected.len && expected.ptr[0] == '~')
        return strstr(word, expected.ptr + 1) != NULL;
    return strncmp(expected.ptr, word, 599) == 0;
}
