/* See writer.h. */
#include "wire/writer.h"

#include "wire/json.h"
#include <errno.h>
#include <string.h>

#define DIGITS_MAX 20 /* digits of 64 bits, with a sign */

/* Returns whether the next value is the first of its object or array, or of the text. */
static bool is_first(const struct wire_buf *out)
{
    char before = wire_buf_len(out) > 0 ? out->data[out->end - 1] : '{';

    return before == '{' || before == '[';
}

/* Writes comma and key, and makes room for `more` bytes of the value. Returns where the
 * value goes, which ends with done(); NULL without memory. */
static char *begin(struct wire_writer *w, const char *key, size_t more)
{
    size_t len = key ? strlen(key) : 0;
    struct wire_buf *out = w->out;
    char *at;

    if (w->error == 0)
        w->error = wire_buf_reserve(out, len + more + 4);
    if (w->error < 0)
        return NULL;
    at = out->data + out->end;
    if (!is_first(out))
        *at++ = ',';
    if (key) {
        *at++ = '"';
        memcpy(at, key, len);
        at += len;
        *at++ = '"';
        *at++ = ':';
    }
    return at;
}

static void done(struct wire_writer *w, const char *end)
{
    w->out->end = (size_t)(end - w->out->data);
}

void wire_open(struct wire_writer *w, const char *key, char bracket)
{
    char *at = begin(w, key, 1);

    if (!at)
        return;
    *at = bracket;
    done(w, at + 1);
}

void wire_close(struct wire_writer *w, char bracket)
{
    if (w->error == 0)
        w->error = wire_buf_append(w->out, &bracket, 1);
}

void wire_put_int(struct wire_writer *w, const char *key, int64_t value)
{
    uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
    char *at = begin(w, key, DIGITS_MAX), digits[DIGITS_MAX];
    size_t n = 0;

    if (!at)
        return;
    do {
        digits[DIGITS_MAX - ++n] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (value < 0)
        digits[DIGITS_MAX - ++n] = '-';
    memcpy(at, digits + DIGITS_MAX - n, n);
    done(w, at + n);
}

void wire_put_bool(struct wire_writer *w, const char *key, bool value)
{
    const char *word = value ? "true" : "false";
    char *at = begin(w, key, 5);

    if (!at)
        return;
    memcpy(at, word, strlen(word));
    done(w, at + strlen(word));
}

/* Returns whether the text needs no escapes in JSON; *ret_len: its length. */
static bool is_plain(const char *text, size_t *ret_len)
{
    const unsigned char *c = (const unsigned char *)text;

    while (*c >= 0x20 && *c < 0x80 && *c != '"' && *c != '\\')
        c++;
    *ret_len = (size_t)((const char *)c - text);
    return *c == '\0';
}

void wire_put_text(struct wire_writer *w, const char *key, const char *text)
{
    size_t len;
    char *at;

    if (!is_plain(text, &len)) {
        wire_put_json(w, key, w->error < 0 ? NULL : wire_text(text));
        return;
    }
    at = begin(w, key, len + 2);
    if (!at)
        return;
    *at++ = '"';
    memcpy(at, text, len);
    at[len] = '"';
    done(w, at + len + 1);
}

void wire_put_raw(struct wire_writer *w, const char *key, const char *text, size_t len)
{
    char *at = begin(w, key, len);

    if (!at)
        return;
    memcpy(at, text, len);
    done(w, at + len);
}

void wire_put_json(struct wire_writer *w, const char *key, json_t *value)
{
    char *at;

    if (!value && w->error == 0)
        w->error = -ENOMEM;
    at = begin(w, key, 0);
    if (at) {
        done(w, at);
        w->error = wire_encode(w->out, value);
    }
    if (at && w->error == 0)
        w->out->end--; /* the NUL */
    json_decref(value);
}
