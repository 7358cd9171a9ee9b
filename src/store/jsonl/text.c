/* SPDX-License-Identifier: MIT */
/* store/jsonl/text.c -- see the header. */
#include "store/jsonl/text.h"

#include "base/attr.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/limits.h"

#include <stdio.h>
#include <string.h>

#define DAY_MS     INT64_C(86400000)
#define SEAL_BYTES 18 /* ,"crc":"xxxxxxxx"} */

/* ---- Bytes ------------------------------------------------------------------- */

static void put_base64(struct buf *b, pawl_str s)
{
    if (!buf_reserve(b, BASE64_CHARS(s.len)))
        return;
    base64_write(b->ptr + b->len, s);
    b->len += BASE64_CHARS(s.len);
    b->ptr[b->len] = 0;
}

static bool get_base64(pawl_str text, pawl_mem *mem, pawl_str *ret)
{
    char *out = pawl_mem_alloc(mem, text.len + 1);
    size_t read;
    *ret = (pawl_str){out, base64_read(out, text, &read)};
    return read == text.len || text.ptr[read] == '=';
}

/* JSON that can stand in a line as it is and be told from a string. */
static bool is_plain_json(pawl_str s)
{
    char first = s.ptr[0], last = s.ptr[s.len - 1];
    if (first == '"' || first == ' ' || first == '\t' || last == ' ' || last == '\t')
        return false;
    if (memchr(s.ptr, '\n', s.len) || memchr(s.ptr, '\r', s.len))
        return false;
    return json_fits(s, LIMIT_JSON_DEPTH - 3);
}

void text_put(struct buf *b, const char *key, pawl_str value, bool payload)
{
    buf_printf(b, "\"%s\":", key);
    if (!value.len) {
        buf_puts(b, "\"\"");
    } else if (payload && is_plain_json(value)) {
        buf_str(b, value);
    } else if (utf8_valid(value)) {
        json_quote(b, value);
    } else {
        buf_putc(b, '"');
        put_base64(b, value);
        bool data = strcmp(key, "data") == 0;
        buf_printf(b, "\",\"%s%sencoding\":\"base64\"", data ? "" : key, data ? "" : "_");
    }
}

bool text_get(pawl_str raw, bool base64, pawl_mem *mem, pawl_str *ret)
{
    if (!raw.len)
        return false;
    if (raw.ptr[0] != '"') {
        *ret = raw;
        return !base64;
    }
    struct buf text;
    buf_init(&text, raw.len + 1);
    bool ok = json_unescape(raw, &text) && !text.failed;
    if (ok && base64)
        ok = get_base64(buf_slice(&text), mem, ret);
    else if (ok)
        *ret = pawl_mem_dup(mem, buf_slice(&text));
    buf_deinit(&text);
    return ok;
}

void text_put_item(struct buf *b, pawl_str value)
{
    if (utf8_valid(value)) {
        json_quote(b, value);
        return;
    }
    buf_putc(b, '{');
    text_put(b, "data", value, false);
    buf_putc(b, '}');
}

bool text_get_item(pawl_str raw, pawl_mem *mem, pawl_str *ret)
{
    bool object = raw.len && raw.ptr[0] == '{';
    return text_get(object ? pawl_json_get(raw, "/data") : raw, object, mem, ret);
}

/* ---- Times --------------------------------------------------------------------- */

/* Days since 1970 to a date and back (proleptic Gregorian, Hinnant's method). */
static void date_of(int64_t days, int64_t *year, int *month, int *day)
{
    int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    *day = (int)(doy - (153 * mp + 2) / 5 + 1);
    *month = (int)(mp < 10 ? mp + 3 : mp - 9);
    *year = yoe + era * 400 + (*month <= 2);
}

static int64_t days_of(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400, yoe = year - era * 400;
    int64_t doy = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

void text_put_time(struct buf *b, int64_t ms)
{
    if (ms < 0 || ms >= DAY_MS * 2932897) { /* the year 10000 */
        buf_printf(b, "%lld", (long long)ms);
        return;
    }
    int64_t year;
    int month, day, rest = (int)(ms % DAY_MS);
    date_of(ms / DAY_MS, &year, &month, &day);
    buf_printf(b, "\"%04lld-%02d-%02dT%02d:%02d:%02d.%03dZ\"", (long long)year, month, day,
               rest / 3600000, rest / 60000 % 60, rest / 1000 % 60, rest % 1000);
}

bool text_get_time(pawl_str raw, int64_t *ret)
{
    if (!raw.len || raw.ptr[0] != '"')
        return json_integer(raw, ret);
    char text[32] = "";
    int year, month, day, hour, minute, second, milli;
    if (raw.len != 26)
        return false;
    memcpy(text, raw.ptr + 1, 24);
    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ", &year, &month, &day, &hour, &minute, &second,
               &milli) != 7)
        return false;
    *ret = days_of(year, month, day) * DAY_MS + hour * INT64_C(3600000) + minute * INT64_C(60000) +
           second * INT64_C(1000) + milli;
    return true;
}

/* ---- Checksums ------------------------------------------------------------------- */

uint32_t text_crc(pawl_str bytes)
{
    static const uint32_t nibbles[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                         0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                         0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                         0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    uint32_t crc = ~UINT32_C(0);
    for (size_t i = 0; i < bytes.len; i++) {
        crc ^= (unsigned char)bytes.ptr[i];
        crc = crc >> 4 ^ nibbles[crc & 15];
        crc = crc >> 4 ^ nibbles[crc & 15];
    }
    return ~crc;
}

void text_seal(struct buf *b, size_t start)
{
    pawl_str all = buf_slice(b);
    assert_that(start <= all.len);
    uint32_t crc = text_crc((pawl_str){all.ptr + start, all.len - start});
    buf_printf(b, ",\"crc\":\"%08x\"}\n", crc);
}

bool text_sealed(pawl_str bytes)
{
    char seal[SEAL_BYTES + 1];
    if (bytes.len < SEAL_BYTES)
        return false;
    pawl_str body = {bytes.ptr, bytes.len - SEAL_BYTES};
    (void)snprintf(seal, sizeof(seal), ",\"crc\":\"%08x\"}", text_crc(body));
    return memcmp(bytes.ptr + body.len, seal, SEAL_BYTES) == 0;
}
