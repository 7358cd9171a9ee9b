/* SPDX-License-Identifier: MIT */
/* cli/top/keys.c -- see keys.h. */
#include "cli/top/keys.h"

#include "base/attr.h"
#include "base/utf8.h"

#include <string.h>

#define SEQUENCE_MAX 16 /* bytes; a longer one is none */

static const struct {
    const char *bytes;
    enum key key;
} sequences[] = {
    {"[A",  KEY_UP       },
    {"[B",  KEY_DOWN     },
    {"[C",  KEY_RIGHT    },
    {"[D",  KEY_LEFT     },
    {"OA",  KEY_UP       },
    {"OB",  KEY_DOWN     },
    {"OC",  KEY_RIGHT    },
    {"OD",  KEY_LEFT     },
    {"[H",  KEY_HOME     },
    {"[F",  KEY_END      },
    {"OH",  KEY_HOME     },
    {"OF",  KEY_END      },
    {"[1~", KEY_HOME     },
    {"[4~", KEY_END      },
    {"[7~", KEY_HOME     },
    {"[8~", KEY_END      },
    {"[5~", KEY_PAGE_UP  },
    {"[6~", KEY_PAGE_DOWN},
    {"[Z",  KEY_BACK_TAB },
    {"OM",  KEY_ENTER    },
};

static enum key of_control(unsigned char c)
{
    switch (c) {
    case '\r':
    case '\n':
        return KEY_ENTER;
    case '\t':
        return KEY_TAB;
    case 0x7f:
    case 0x08:
        return KEY_ERASE;
    case 0x03:
    case 0x1c:
        return KEY_INTERRUPT;
    case 0x1a:
        return KEY_STOP;
    case 0x0c:
        return KEY_REDRAW;
    case 0x15:
        return KEY_CLEAR;
    default:
        return KEY_NONE;
    }
}

/* How many bytes the sequence after ESC has; 0: it is not whole. */
static size_t sequence_length(const char *at, size_t count)
{
    if (count < 2)
        return 0;
    if (at[0] == 'O')
        return 2;
    for (size_t i = 1; i < count && i < SEQUENCE_MAX; i++)
        if (at[i] >= 0x40 && at[i] <= 0x7e) /* what ends a control sequence */
            return i + 1;
    return count < SEQUENCE_MAX ? 0 : SEQUENCE_MAX;
}

static struct key_press of_escape(const char *bytes, size_t count, bool whole)
{
    bool sequence = count > 1 && (bytes[1] == '[' || bytes[1] == 'O');
    size_t n = sequence ? sequence_length(bytes + 1, count - 1) : 0;
    if (!n && !whole && (sequence || count == 1))
        return (struct key_press){.key = KEY_NONE};
    if (!n)
        return (struct key_press){.key = KEY_ESCAPE, .used = 1};
    for (size_t i = 0; i < COUNT_OF(sequences); i++)
        if (strlen(sequences[i].bytes) == n && memcmp(sequences[i].bytes, bytes + 1, n) == 0)
            return (struct key_press){.key = sequences[i].key, .used = n + 1};
    return (struct key_press){.key = KEY_NONE, .used = n + 1}; /* a key that is not used here */
}

struct key_press key_read(const char *bytes, size_t count, bool whole)
{
    struct key_press press = {.key = KEY_NONE};
    unsigned char c = count ? (unsigned char)bytes[0] : 0;
    if (!count)
        return press;
    if (c == 0x1b)
        return of_escape(bytes, count, whole);
    size_t n = utf8_length(bytes, bytes + count);
    if (!n && !whole && c >= 0xc2 && c <= 0xf4 && count < 4)
        return press; /* the rest of the character comes */
    press.used = n ? n : 1;
    press.key = of_control(c);
    if (!n || press.key != KEY_NONE || utf8_is_unsafe(utf8_decode(bytes, n)))
        return press;
    press.key = KEY_TEXT;
    memcpy(press.text, bytes, n);
    return press;
}
