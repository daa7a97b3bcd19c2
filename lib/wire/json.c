/* See json.h. */
#include "wire/json.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/siphash.h"

/* Rough overhead of malloc per allocation. */
#define MALLOC_OVERHEAD 16

static _Thread_local struct {
    bool armed, exceeded, failed;
    size_t left;
} budget;

static void *budget_malloc(size_t size)
{
    if (budget.armed) {
        size_t cost = size + MALLOC_OVERHEAD < size ? SIZE_MAX : size + MALLOC_OVERHEAD;

        budget.exceeded |= cost > budget.left;
        budget.left -= cost < budget.left ? cost : budget.left;
    }
    void *p = malloc(size);
    budget.failed |= !p;
    return p;
}

/* Seeds jansson's hashes, since clients choose the names in objects. jansson would read
 * /dev/urandom, or use the clock without a free descriptor. */
static void install(void)
{
    struct siphash_key secret;

    json_set_alloc_funcs(budget_malloc, free);
    if (siphash_key_random(&secret) == 0)
        json_object_seed(secret.k0);
}

struct text {
    struct wire_piece piece[WIRE_PIECES];
    size_t at; /* index of the next piece */
};

/* Feeds the text, and ends it once the budget is exceeded. Failing an allocation instead
 * is no option: jansson then drops a byte of the string and goes on, or aborts. */
static size_t feed(void *buf, size_t size, void *arg)
{
    struct text *t = arg;
    while (t->at < WIRE_PIECES - 1 && t->piece[t->at].len == 0)
        t->at++;
    struct wire_piece *p = &t->piece[t->at];
    size_t n = size < p->len ? size : p->len;

    if (n == 0 || budget.exceeded || budget.failed)
        return 0;
    memcpy(buf, p->bytes, n);
    p->bytes += n;
    p->len -= n;
    return n;
}

static json_t *load(struct text t, size_t bytes, size_t flags, json_error_t *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    json_t *value;

    (void)pthread_once(&once, install);
    budget.armed = true;
    budget.exceeded = budget.failed = false;
    budget.left = bytes;
    value = json_load_callback(feed, &t, flags | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
                               error);
    budget.armed = false;
    if (value && (budget.exceeded || budget.failed)) {
        json_decref(value);
        (void)snprintf(error->text, sizeof(error->text), "out of memory");
        return NULL;
    }
    return value;
}

/* Turns reals that stand for integers back into integers. Beyond 2^53 a real is not
 * exact: such a value stays, and fails as "not an integer" if an integer is wanted. */
static json_t *restore_integer(json_t *value)
{
    double d = json_real_value(value);

    if (!json_is_real(value) || fabs(d) >= 9007199254740992.0 || floor(d) != d)
        return NULL;
    return json_integer((json_int_t)d);
}

static int restore_integers(json_t *value)
{
    const char *key;
    json_t *item, *replaced;
    size_t i;
    int r = 0;

    if (json_is_array(value)) {
        json_array_foreach(value, i, item)
        {
            if ((replaced = restore_integer(item)))
                r |= json_array_set_new(value, i, replaced);
            else
                r |= restore_integers(item);
        }
    } else if (json_is_object(value)) {
        json_object_foreach(value, key, item)
        {
            /* Setting an existing key keeps the place of the iteration. */
            if ((replaced = restore_integer(item)))
                r |= json_object_set_new_nocheck(value, key, replaced);
            else
                r |= restore_integers(item);
        }
    }
    return r;
}

/* Parses a text; for integers beyond 64 bits a second time, in which all are reals at
 * first. */
static int parse(struct text t, size_t bytes, size_t flags, json_t **ret,
                 json_error_t *error)
{
    json_t *value = load(t, bytes, flags, error);

    if (!value && json_error_code(error) == json_error_numeric_overflow) {
        value = load(t, bytes, flags | JSON_DECODE_INT_AS_REAL, error);
        if (value && restore_integers(value) < 0) {
            json_decref(value);
            return -ENOMEM;
        }
    }
    if (!value)
        return budget.exceeded ? -E2BIG : budget.failed ? -ENOMEM : -EINVAL;
    *ret = value;
    return 0;
}

static void say_why(struct volt_error *err, const json_error_t *error, size_t bytes)
{
    if (err && budget.exceeded)
        (void)snprintf(err->text, sizeof(err->text),
                       "the values need more than %zu bytes of memory", bytes);
    else if (err)
        (void)snprintf(err->text, sizeof(err->text), "%.180s (line %d, column %d)",
                       error->text, error->line, error->column);
}

int wire_parse_pieces(const struct wire_piece pieces[WIRE_PIECES], size_t bytes,
                      json_t **ret, struct volt_error *err)
{
    json_error_t error;
    json_t *value;
    const struct text text = {{pieces[0], pieces[1], pieces[2]}, 0};
    int r = parse(text, bytes, 0, &value, &error);

    if (r < 0) {
        say_why(err, &error, bytes);
        return r;
    }
    if (!json_is_object(value)) {
        json_decref(value);
        if (err)
            (void)snprintf(err->text, sizeof(err->text), "not a JSON object");
        return -EINVAL;
    }
    *ret = value;
    return 0;
}

int wire_parse(const char *text, size_t len, size_t bytes, json_t **ret,
               struct volt_error *err)
{
    return wire_parse_pieces((struct wire_piece[WIRE_PIECES]){{text, len}}, bytes, ret,
                             err);
}

static size_t skip_space(const char *text, size_t len, size_t at)
{
    while (at < len &&
           (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r'))
        at++;
    return at;
}

int wire_parse_entry(const char *text, size_t len, size_t *at, size_t bytes, json_t **ret,
                     struct volt_error *err)
{
    json_error_t error;
    size_t i = skip_space(text, len, *at);
    int r;

    if (i == len)
        return 0;
    if (*at > 0 && text[i++] != ',') {
        if (err)
            (void)snprintf(err->text, sizeof(err->text), "no comma between two values");
        return -EINVAL;
    }
    r = parse((struct text){.piece = {{text + i, len - i}}}, bytes,
              JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, ret, &error);
    if (r < 0) {
        say_why(err, &error, bytes);
        return r;
    }
    *at = i + (size_t)error.position;
    return 1;
}

struct encoding {
    struct wire_buf *out;
    int error;
};

static int take_text(const char *text, size_t len, void *arg)
{
    struct encoding *e = arg;

    e->error = wire_buf_append(e->out, text, len);
    return e->error;
}

int wire_encode(struct wire_buf *out, const json_t *value)
{
    struct encoding e = {.out = out, .error = wire_buf_reserve(out, 512)};
    size_t before = wire_buf_len(out);

    if (e.error == 0 &&
        json_dump_callback(value, take_text, &e, JSON_COMPACT | JSON_ENCODE_ANY) < 0 &&
        e.error == 0)
        e.error = -EINVAL;
    if (e.error == 0)
        e.error = wire_buf_append(out, "", 1);
    if (e.error < 0)
        out->end = out->start + before;
    return e.error;
}

/* Returns the length of the UTF-8 character at `at`. *ret_whole is false for an invalid
 * or cut character: the result is then the number of its bytes that are there, or 1. */
static size_t character(const unsigned char *at, bool *ret_whole)
{
    const unsigned char first = at[0];
    const unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    size_t len = 0, n = 1;

    if (first < 0x80)
        len = 1;
    else if (first >= 0xc2 && first < 0xf5)
        len = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (n < len && at[1] >= least && at[1] <= most)
        for (n = 2; n < len && at[n] >= 0x80 && at[n] <= 0xbf;)
            n++;
    *ret_whole = n == len;
    return n;
}

json_t *wire_text(const char *text)
{
    json_t *value = json_string(text);
    char *copy, *to;
    bool whole;

    if (value)
        return value;
    to = copy = malloc(strlen(text) + 1);
    if (!copy)
        return NULL;
    for (size_t n; *text; text += n) {
        n = character((const unsigned char *)text, &whole);
        if (whole)
            to = mempcpy(to, text, n);
        else
            *to++ = '?';
    }
    *to = '\0';
    value = json_string(copy);
    free(copy);
    return value;
}

static void keep(json_t **to, int r)
{
    if (r == 0)
        return;
    json_decref(*to);
    *to = NULL;
}

void wire_set(json_t **to, const char *key, json_t *value)
{
    if (*to)
        keep(to, json_object_set_new(*to, key, value));
    else
        json_decref(value);
}

void wire_add(json_t **to, json_t *value)
{
    if (*to)
        keep(to, json_array_append_new(*to, value));
    else
        json_decref(value);
}
