/* See scan.h. */
#include "wire/scan.h"

#include <string.h>

enum { /* struct scan.key: the header field whose value comes next */
       KEY_OTHER = 0,
       KEY_METHOD,
       KEY_ONEWAY,
};

static const struct scan_bounds *bounds(const struct scan *s, const struct scan_limits *l)
{
    return s->large ? &l->large : &l->usual;
}

/* A string of the header (depth 1) has ended; its text is in s->text. */
static void header_string(struct scan *s, const struct scan_limits *l)
{
    bool fits = s->length < sizeof(s->text);

    s->text[fits ? s->length : sizeof(s->text) - 1] = '\0';
    if (!s->value) {
        s->key = KEY_OTHER;
        if (fits && strcmp(s->text, "method") == 0)
            s->key = KEY_METHOD;
        else if (fits && strcmp(s->text, "oneway") == 0)
            s->key = KEY_ONEWAY;
    } else if (s->key == KEY_METHOD && l->large_method) {
        s->large = fits && strcmp(s->text, l->large_method) == 0;
    }
}

/* Inside a string: to its end or the end of the bytes. Returns the bytes used; stops in
 * front of a NUL. */
static size_t scan_string(struct scan *s, const struct scan_limits *l, const char *bytes,
                          size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = bytes[i];

        if (c == '\0')
            return i;
        if (s->escaped) {
            s->escaped = false;
        } else if (c == '\\') {
            s->escaped = true;
        } else if (c == '"') {
            s->in_string = false;
            if (s->depth == 1)
                header_string(s, l);
            return i + 1;
        }
        if (s->depth == 1 && s->length < sizeof(s->text))
            s->text[s->length++] = c;
    }
    return len;
}

static void begin_string(struct scan *s)
{
    s->tokens++;
    s->in_string = true;
    s->escaped = false;
    s->in_scalar = false;
    s->length = 0;
}

/* One byte outside strings. */
static void scan_byte(struct scan *s, char c)
{
    switch (c) {
    case '"':
        begin_string(s);
        return;
    case '{':
    case '[':
        s->tokens++;
        s->depth++;
        s->value = false;
        break;
    case '}':
    case ']':
        if (s->depth > 0)
            s->depth--;
        break;
    case ',':
        if (s->depth == 1)
            s->value = false;
        break;
    case ':':
        if (s->depth == 1)
            s->value = true;
        break;
    case ' ':
    case '\t':
    case '\n':
    case '\r':
        break;
    default: /* a number, true, false, null, or nonsense */
        if (!s->in_scalar) {
            s->tokens++;
            if (c == 't' && s->depth == 1 && s->value && s->key == KEY_ONEWAY)
                s->oneway = true;
        }
        s->in_scalar = true;
        return;
    }
    s->in_scalar = false;
}

enum scan_result scan_feed(struct scan *s, const struct scan_limits *limits,
                           const char *bytes, size_t len, size_t *ret_used)
{
    size_t i = 0;

    while (i < len) {
        size_t used = 1;

        if (bytes[i] == '\0') {
            *ret_used = i + 1;
            return SCAN_END;
        }
        if (s->in_string)
            used = scan_string(s, limits, bytes + i, len - i);
        else
            scan_byte(s, bytes[i]);
        i += used;
        s->bytes += used;
        if (s->bytes > bounds(s, limits)->bytes)
            return SCAN_TOO_LARGE;
        if (s->depth > limits->depth)
            return SCAN_TOO_DEEP;
        if (s->tokens > bounds(s, limits)->tokens)
            return SCAN_TOO_MANY_TOKENS;
    }
    *ret_used = len;
    return SCAN_MORE;
}
