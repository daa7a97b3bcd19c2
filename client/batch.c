/* See batch.h. */
#include "client/batch.h"

#include "wire/spec_defaults.h"
#include "wire/spec_local.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX     ((size_t)4 << 30)
#define MESSAGE_MOST  ((size_t)16 << 20)
#define MESSAGE_BYTES ((size_t)2 << 20) /* far below MESSAGE_MOST */
#define MESSAGE_SPECS 5000

/* voltd's reason for entries of an atomic batch that are not at fault. */
#define OTHER_REFUSED "another spec of this batch was refused"

static int complain(struct volt_error *err, unsigned line, const char *text)
{
    (void)snprintf(err->text, sizeof(err->text), "line %u: %s", line, text);
    return -EINVAL;
}

static int slurp(struct batch *b, FILE *in)
{
    size_t room = 0;
    int error;
    for (;;) {
        if (room - b->len < 65536) {
            room = room ? room * 2 : (size_t)1 << 18;
            char *text = room <= INPUT_MAX ? realloc(b->text, room + 1) : NULL;
            if (!text)
                return room <= INPUT_MAX ? -ENOMEM : -EFBIG;
            b->text = text;
        }
        errno = 0;
        size_t n = fread(b->text + b->len, 1, room - b->len, in);
        error = errno ? errno : EIO;
        b->len += n;
        if (n == 0)
            break;
    }
    b->text[b->len] = '\0';
    return ferror(in) ? -error : 0;
}

static int add(struct batch *b, size_t offset, size_t len, unsigned line)
{
    if (b->count == b->room) {
        size_t room = b->room ? b->room * 2 : 256;
        struct batch_entry *e = realloc(b->entries, room * sizeof(*e));
        if (!e)
            return -ENOMEM;
        b->entries = e;
        b->room = room;
    }
    b->entries[b->count++] = (struct batch_entry){offset, len, line};
    return 0;
}

/* Returns the text of a JSON error for users, where jansson's is for programmers, or
 * takes the entry for a file. */
static const char *mistake(const json_error_t *je)
{
    switch (json_error_code(je)) {
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return "\\u0000: no text of a job can hold a NUL byte";
    case json_error_premature_end_of_input:
        return "the object does not end here: a job is a line, or an element of one array";
    case json_error_end_of_input_expected:
        return "something follows the object: a job is a line, or an element of one array";
    default:
        return je->text;
    }
}

/* Checks an entry by parsing it. jansson counts lines from the entry's first. */
static int check(struct batch *b, const struct batch_entry *e, struct volt_error *err)
{
    const char *text = b->text;
    json_error_t je;
    json_t *value = json_loadb(text + e->offset, e->len,
                               JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &je);
    int r = 0;
    if (e->len == 0)
        r = complain(err, e->line, "a job is missing beside a comma");
    else if (!value && e->len > 1 && strncmp(text + e->offset, "#!", 2) == 0)
        r = complain(err, e->line,
                     "no JSON, but a script: volt-submit ./FILE runs it, without -f; "
                     "-F follows its output");
    else if (!value && isalpha((unsigned char)text[e->offset]))
        r = complain(
            err, e->line,
            "no JSON; where each line is a command: --each-line FILE -- sh -c {}");
    else if (!value)
        r = complain(err, e->line + (je.line > 1 ? (unsigned)je.line - 1 : 0),
                     mistake(&je));
    else if (!json_is_object(value))
        r = complain(err, e->line, "a job is a JSON object");
    b->named |= spec_says_local(value);
    b->keyed |= json_object_get(value, "key") != NULL;
    b->tries |= json_object_get(value, "retry") || json_object_get(value, "on_lost");
    json_decref(value);
    return r;
}

static bool is_blank(char ch)
{
    return ch == ' ' || ch == '\t' || ch == '\r';
}

static size_t skip_space(const struct batch *b, size_t at, unsigned *line)
{
    for (; at < b->len && (is_blank(b->text[at]) || b->text[at] == '\n'); at++)
        *line += b->text[at] == '\n';
    return at;
}

/* Returns the end of the array element at `at`: the comma or bracket after it. */
static size_t element_end(const struct batch *b, size_t at, unsigned *line)
{
    unsigned depth = 0;
    bool string = false;
    for (; at < b->len; at++) {
        char ch = b->text[at];
        *line += ch == '\n';
        if (string) {
            if (ch == '\\' && at + 1 < b->len)
                at++;
            else if (ch == '"')
                string = false;
        } else if (ch == '"') {
            string = true;
        } else if (ch == '{' || ch == '[') {
            depth++;
        } else if (depth == 0 && (ch == ',' || ch == ']')) {
            break;
        } else if (ch == '}' || ch == ']') {
            depth -= depth > 0;
        }
    }
    return at;
}

static int split_array(struct batch *b, size_t at, unsigned line, struct volt_error *err)
{
    b->is_array = true;
    at = skip_space(b, at + 1, &line);
    bool first = true;
    while (at < b->len && (b->text[at] != ']' || !first)) {
        unsigned begin = line;
        size_t end = element_end(b, at, &line);
        int r = add(b, at, end - at, begin);
        if (r == 0)
            r = check(b, &b->entries[b->count - 1], err);
        if (r < 0)
            return r;
        first = false;
        at = end;
        if (at >= b->len || b->text[at] == ']')
            break;
        at = skip_space(b, at + 1, &line);
    }
    if (at >= b->len)
        return complain(err, line, "the array is not closed by ]");
    at = skip_space(b, at + 1, &line);
    return at < b->len ? complain(err, line, "something follows the array") : 0;
}

static int split_lines(struct batch *b, size_t at, struct volt_error *err)
{
    unsigned line = 1;
    for (; at < b->len; line++) {
        char *nl = memchr(b->text + at, '\n', b->len - at);
        size_t end = nl ? (size_t)(nl - b->text) : b->len;
        size_t start = at;
        while (start < end && is_blank(b->text[start]))
            start++;
        if (start < end) {
            int r = add(b, start, end - start, line);
            if (r == 0)
                r = check(b, &b->entries[b->count - 1], err);
            if (r < 0)
                return r;
        }
        at = end + 1;
    }
    return 0;
}

/* Refuses a NUL byte; checked first, as it would end every text, also that of an
 * error. */
static int refuse_nul(const struct batch *b, struct volt_error *err)
{
    const char *nul = memchr(b->text, '\0', b->len);
    unsigned line = 1;
    if (!nul)
        return 0;
    for (const char *p = b->text; p < nul; p++)
        line += *p == '\n';
    (void)snprintf(err->text, sizeof(err->text),
                   "line %u: a NUL byte (byte %zu of the file); jobs are JSON in UTF-8",
                   line, (size_t)(nul - b->text) + 1);
    return -EINVAL;
}

static int split(struct batch *b, struct volt_error *err)
{
    static const char mark[] = "\xef\xbb\xbf"; /* byte order mark, which some editors
                                                * write */
    size_t start = b->len >= 3 && memcmp(b->text, mark, 3) == 0 ? 3 : 0;
    unsigned line = 1;
    size_t at = skip_space(b, start, &line);
    int r = refuse_nul(b, err);
    if (r < 0)
        return r;
    return b->text[at] == '[' ? split_array(b, at, line, err)
                              : split_lines(b, start, err);
}

int batch_read(struct batch *b, FILE *in, struct volt_error *err)
{
    *b = (struct batch){0};
    err->text[0] = '\0';
    int r = slurp(b, in);
    if (r == 0)
        r = split(b, err);
    if (r < 0 && !err->text[0])
        (void)snprintf(err->text, sizeof(err->text), "%s", strerror(-r));
    if (r < 0)
        batch_fini(b);
    return r;
}

void batch_fini(struct batch *b)
{
    free(b->text);
    free(b->entries);
    *b = (struct batch){0};
}

json_t *batch_spec(const struct batch *b, size_t i, const json_t *defaults,
                   struct volt_error *err)
{
    const struct batch_entry *e = &b->entries[i];
    json_error_t je;
    json_t *spec = json_loadb(b->text + e->offset, e->len, 0, &je);
    if (!spec) {
        (void)complain(err, e->line, je.text);
        return NULL;
    }
    if (defaults && spec_add_defaults(spec, defaults) < 0) {
        (void)complain(err, e->line, strerror(ENOMEM));
        json_decref(spec);
        return NULL;
    }
    return spec;
}

/* Common part of the specs, and how it is sent. */
struct common {
    const json_t *defaults;
    size_t bytes; /* as text */
    bool apart;   /* sent once per message, not in each spec */
    bool dry_run; /* only checks */
};

/* Returns the parameters of SubmitBatch for the entries from *next on that fit into a
 * message. Each entry counts with its defaults, as voltd counts. If all entries fit, the
 * call is atomic: a mistake in one refuses all. */
static json_t *next_message(const struct batch *b, const struct common *common,
                            size_t *next, struct volt_error *err)
{
    json_t *specs = json_array();
    const size_t first = *next;
    size_t bytes = 0, i = first;
    for (; specs && i < b->count && (b->named || i - *next < MESSAGE_SPECS); i++) {
        bytes += b->entries[i].len + common->bytes;
        if (i > *next && bytes > MESSAGE_BYTES && !b->named)
            break;
        json_t *spec = batch_spec(b, i, common->apart ? NULL : common->defaults, err);
        if (!spec || json_array_append_new(specs, spec) < 0) {
            json_decref(specs);
            return NULL;
        }
    }
    *next = i;
    if (!specs)
        return NULL;
    const bool whole = first == 0 && i == b->count;
    return json_pack("{s:O*, s:o, s:o*, s:o*}", "defaults",
                     common->apart ? common->defaults : NULL, "specs", specs, "atomic",
                     whole ? json_true() : NULL, "dry_run",
                     common->dry_run ? json_true() : NULL);
}

/* Returns the position of the first entry that voltd refused for now; SIZE_MAX: none. */
static size_t temporary(const json_t *rejected)
{
    size_t i, first = SIZE_MAX;
    const json_t *item;
    json_array_foreach(rejected, i, item)
    {
        size_t at = (size_t)json_integer_value(json_object_get(item, "position"));
        if (at < first && json_is_true(json_object_get(item, "temporary")))
            first = at;
    }
    return first;
}

/* Reports the answer to a message. Returns whether nothing behind it is to be sent. */
static bool report(const struct batch *b, size_t first, const json_t *p,
                   const struct batch_sink *sink)
{
    const json_t *rejected = json_object_get(p, "rejected");
    const size_t last = temporary(rejected);
    size_t i;
    json_t *item;
    sink->durable(sink->arg, json_is_true(json_object_get(p, "durable")));
    json_array_foreach(json_object_get(p, "ids"), i, item)
    {
        if (json_string_length(item) > 0)
            sink->accepted(sink->arg, json_string_value(item));
    }
    json_array_foreach(rejected, i, item)
    {
        size_t at = (size_t)json_integer_value(json_object_get(item, "position"));
        const char *name = json_string_value(json_object_get(item, "parameter"));
        const char *why = json_string_value(json_object_get(item, "reason"));
        if (at > last || (why && strcmp(why, OTHER_REFUSED) == 0))
            continue;
        at += first;
        sink->rejected(sink->arg, at < b->count ? b->entries[at].line : 0,
                       name ? name : "", why ? why : "");
    }
    if (last == SIZE_MAX)
        return false;
    sink->stopped(sink->arg, first + last);
    return true;
}

/* The entries of a message, and its parameters until it is sent. */
struct message {
    size_t first, end;
    json_t *params;
};

/* Returns whether voltd refuses `defaults`: it is older, or they are too large. */
static bool refuses_defaults(const struct client_reply *reply)
{
    const char *name = json_string_value(json_object_get(reply->parameters, "parameter"));
    return client_error_is(reply, "InvalidParameter") && name &&
           strcmp(name, "defaults") == 0;
}

/* Finds the entry that a refusal is about; *ret_field: its member. Returns false if it is
 * about no single entry. */
static bool refused_entry(const struct message *m, const struct client_reply *reply,
                          size_t *ret, const char **ret_field)
{
    const char *name = json_string_value(json_object_get(reply->parameters, "parameter"));
    size_t position;
    int end = 0;
    if (!client_error_is(reply, "InvalidParameter") || !name || refuses_defaults(reply))
        return false;
    *ret_field = "";
    if (sscanf(name, "specs[%zu]%n", &position, &end) == 1 && end > 0 &&
        position < m->end - m->first) {
        *ret = m->first + position;
        *ret_field = name[end] ? name + end + 1 : "";
        return true;
    }
    *ret = m->first;
    return m->end - m->first == 1;
}

/* Reports a message that was refused for one entry: first that entry, then the others. */
static void report_refused(const struct batch *b, const struct message *m, size_t entry,
                           const char *field, const struct client_reply *reply,
                           const struct batch_sink *sink)
{
    const char *reason = json_string_value(json_object_get(reply->parameters, "reason"));
    char text[96];
    (void)snprintf(text, sizeof(text),
                   "not taken: line %u, which goes with it, is refused",
                   b->entries[entry].line);
    sink->rejected(sink->arg, b->entries[entry].line, field, reason ? reason : "refused");
    for (size_t i = m->first; i < m->end && !b->named; i++)
        if (i != entry)
            sink->rejected(sink->arg, b->entries[i].line, "", text);
}

/* Makes the message behind m, with no parameters if there is none. 0 or -ENOMEM. */
static int make_next(const struct batch *b, const struct common *common,
                     const struct message *m, struct message *ret)
{
    struct volt_error err;
    *ret = (struct message){.first = m->end, .end = m->end};
    if (m->end == b->count)
        return 0;
    ret->params = next_message(b, common, &ret->end, &err);
    return ret->params ? 0 : -ENOMEM;
}

/* Receives the answer to m. Returns 0; 1: an error reply about the whole in *error;
 * negative. *ret_stop: nothing behind m is to be sent. */
static int receive_answer(const struct batch *b, const struct message *m,
                          struct client *c, const struct batch_sink *sink,
                          struct client_reply *error, bool *ret_stop)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    const char *field;
    size_t entry;
    int r = client_receive(c, CLIENT_FOREVER, &reply);
    if (r == 1 && reply.error && !refused_entry(m, &reply, &entry, &field)) {
        client_reply_fini(error);
        *error = reply;
        if (m->first > 0)
            sink->stopped(sink->arg, m->first);
        return 1;
    }
    if (r == 1 && reply.error)
        report_refused(b, m, entry, field, &reply, sink);
    else if (r == 1)
        *ret_stop = report(b, m->first, reply.parameters, sink);
    client_reply_fini(&reply);
    return r < 0 ? r : 0;
}

/* Submits one message after the other. The next is made while voltd has the one before
 * it. */
static int submit_all(const struct batch *b, const struct common *common,
                      struct client *c, const struct batch_sink *sink,
                      struct client_reply *error)
{
    struct message m = {0}, next;
    bool stop = false;
    int r = make_next(b, common, &m, &next);
    while (r == 0 && next.params && !stop) {
        m = next;
        next.params = NULL;
        r = client_send(c, "org.voltd.jobs.SubmitBatch", m.params, 0);
        if (r == 0)
            r = make_next(b, common, &m, &next);
        if (r == 0)
            r = receive_answer(b, &m, c, sink, error, &stop);
    }
    json_decref(next.params);
    return r;
}

/* As submit_all(), but puts the defaults into each spec if this voltd refuses them. */
static int submit_common(const struct batch *b, struct common *common, struct client *c,
                         const struct batch_sink *sink, struct client_reply *error)
{
    int r = submit_all(b, common, c, sink, error);
    if (r != 1 || !common->apart || !refuses_defaults(error))
        return r;
    common->apart = false;
    return submit_all(b, common, c, sink, error);
}

/* --- more than one message ---------------------------------------------------------- */

struct checking {
    const struct batch_sink *sink;
    bool rejected;
};

static void check_accepted(void *arg, const char *id)
{
    (void)arg;
    (void)id;
}

static void check_durable(void *arg, bool yes)
{
    (void)arg;
    (void)yes;
}

static void check_stopped(void *arg, size_t entry)
{
    (void)arg;
    (void)entry;
}

static void check_rejected(void *arg, unsigned line, const char *parameter,
                           const char *reason)
{
    struct checking *ch = arg;
    ch->rejected = true;
    ch->sink->rejected(ch->sink->arg, line, parameter, reason);
}

static bool is_older(const struct client_reply *error)
{
    const char *name = json_string_value(json_object_get(error->parameters, "parameter"));
    return client_error_is(error, "InvalidParameter") && name &&
           strcmp(name, "dry_run") == 0;
}

/* Checks every entry before the first is submitted, as if they were one message.
 * *ret_good: all are valid, as far as this voltd can tell. Returns as submit_all(). */
static int check_all(const struct batch *b, struct common *common, struct client *c,
                     const struct batch_sink *sink, struct client_reply *error,
                     bool *ret_good)
{
    struct checking ch = {.sink = sink};
    const struct batch_sink checks = {.accepted = check_accepted,
                                      .rejected = check_rejected,
                                      .durable = check_durable,
                                      .stopped = check_stopped,
                                      .arg = &ch};
    common->dry_run = true;
    int r = submit_common(b, common, c, &checks, error);
    common->dry_run = false;
    if (r == 1 && is_older(error)) {
        client_reply_fini(error);
        r = 0;
    }
    *ret_good = r == 0 && !ch.rejected;
    return r;
}

int batch_submit(const struct batch *b, const json_t *defaults, struct client *c,
                 const struct batch_sink *sink, struct client_reply *error)
{
    struct common common = {.defaults = defaults,
                            .bytes = json_dumpb(defaults, NULL, 0, JSON_COMPACT),
                            .apart = json_object_size(defaults) > 0};
    const size_t bytes = b->len + b->count * common.bytes;
    bool good = true;
    int r = 0;
    if (b->named && bytes > MESSAGE_MOST)
        return -EFBIG;
    if (!b->named && (b->count > MESSAGE_SPECS || bytes > MESSAGE_BYTES))
        r = check_all(b, &common, c, sink, error, &good);
    return r == 0 && good ? submit_common(b, &common, c, sink, error) : r;
}
