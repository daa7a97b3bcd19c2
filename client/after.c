/* See after.h. */
#include "client/after.h"
#include "client/client.h"
#include "client/id_range.h"
#include "client/job_view.h"
#include "client/last_list.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAST   "@last"
#define BLANKS " \t\n"

static int refuse(struct volt_error *err, const char *text)
{
    (void)snprintf(err->text, sizeof(err->text), "%s", text);
    return -EINVAL;
}

/* How an edge waits. */
struct manner {
    const char *when;
    bool each;
};

static int add_as(json_t *spec, const char *member, const char *text,
                  const struct manner *how)
{
    json_t *edges = json_object_get(spec, "after");

    if (!edges) {
        edges = json_array();
        (void)json_object_set_new(spec, "after", edges);
    }
    return json_array_append_new(edges, json_pack("{s:s, s:s, s:o*}", member, text,
                                                  "when", how->when, "each",
                                                  how->each ? json_true() : NULL));
}

static int add(json_t *spec, const char *id, const struct manner *how)
{
    return add_as(spec, "job", id, how);
}

/* Adds the jobs of a range, at most one more than voltd accepts; it then refuses them. */
static int add_range(json_t *spec, const struct id_range *range, const struct manner *how)
{
    char id[64];
    int r = 0;

    for (uint64_t i = 0; r == 0 && i <= range->last - range->first && i <= 256; i++) {
        id_range_text(range, i, id, sizeof(id));
        r = add(spec, id, how);
    }
    return r;
}

const char *after_behind(const char *word, const char *prefix)
{
    const size_t len = strlen(prefix);

    return strncmp(word, prefix, len) == 0 && word[len] ? word + len : NULL;
}

static const char *name_of(const char *word)
{
    return after_behind(word, AFTER_NAME);
}

static int add_word(json_t *spec, const char *word, const struct manner *how,
                    struct volt_error *err)
{
    struct id_range range;

    if (strcmp(word, LAST) == 0 || name_of(word))
        return add(spec, word, how);
    if (after_behind(word, AFTER_KEY))
        return add_as(spec, "key", after_behind(word, AFTER_KEY), how);
    if (id_range_parse(word, &range) == 0 && !range.with_array && range.first > 0)
        return add_range(spec, &range, how);
    if (isalpha((unsigned char)*word) && strcspn(word, ":=") == strlen(word)) {
        (void)snprintf(err->text, sizeof(err->text),
                       "%.100s is no id: try name:%.100s, your newest job of that name",
                       word, word);
        return -EINVAL;
    }
    (void)snprintf(
        err->text, sizeof(err->text),
        "%.100s is no job: expected are 17, 12-40, @last, name:NAME or key:KEY, with "
        "commas or blanks between them; of an array its own id",
        *word ? word : "an empty word");
    return -EINVAL;
}

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, BLANKS);
}

/* Returns the length of the word at text. Names and keys may have blanks. */
static size_t word_length(const char *text)
{
    return strcspn(text,
                   name_of(text) || after_behind(text, AFTER_KEY) ? "," : "," BLANKS);
}

int after_add(json_t *spec, const char *text, const char *when, bool each,
              struct volt_error *err)
{
    const struct manner how = {when, each};
    int r = 0;

    text = skip_blanks(text);
    for (bool more = true; more && r == 0;) {
        const size_t len = word_length(text);
        char *word = strndup(text, len);

        text = skip_blanks(text + len);
        more = *text != '\0';
        text = skip_blanks(text + (*text == ','));
        r = word ? add_word(spec, word, &how, err) : refuse(err, "out of memory");
        free(word);
    }
    return r;
}

/* Finds the newest job of this user, with that name unless NULL. */
static int find_newest(struct client *c, const char *name, char *buf, size_t size,
                       struct volt_error *err)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    char user[32];

    (void)snprintf(user, sizeof(user), "%u", (unsigned)getuid());
    int r = client_call(c, "org.voltd.jobs.List",
                        json_pack("{s:{s:s, s:s*}, s:b, s:i}", "filter", "user", user,
                                  "name", name, "newest_first", 1, "limit", 1),
                        &reply);
    const json_t *job = json_array_get(json_object_get(reply.parameters, "jobs"), 0);
    (void)snprintf(buf, size, "%s", job ? job_view_string(job, "id") : "");
    if (r < 0) {
        (void)snprintf(err->text, sizeof(err->text), "%s", strerror(-r));
    } else if (!*buf) {
        (void)snprintf(err->text, sizeof(err->text), "%s%.100s: you have no %sjob",
                       name ? AFTER_NAME : "", name ? name : LAST, name ? "such " : "");
        r = -ENOENT;
    }
    client_reply_fini(&reply);
    return r;
}

struct resolving {
    json_t *spec;
    const struct manner *how;
};

static int add_of_list(void *arg, const char *text)
{
    const struct resolving *r = arg;
    struct id_range range;

    return id_range_parse(text, &range) < 0 ? 0 : add_range(r->spec, &range, r->how);
}

/* Adds the list that ends with the newest job, or that job. */
static int add_last(json_t *spec, struct client *c, const char *last,
                    const struct manner *how)
{
    struct resolving arg = {spec, how};
    int r = last_list_each(c, last, add_of_list, &arg);

    return r == 0 ? add(spec, last, how) : r < 0 ? r : 0;
}

static int resolve(json_t *spec, struct client *c, json_t *edge, struct volt_error *err)
{
    const struct manner how = {job_view_string(edge, "when"),
                               job_view_bool(edge, "each")};
    const char *word = job_view_string(edge, "job"), *name = name_of(word);
    const bool last = strcmp(word, LAST) == 0;
    char id[64];

    if (!last && !name)
        return json_array_append(json_object_get(spec, "after"), edge);
    int r = find_newest(c, name, id, sizeof(id), err);
    if (r < 0)
        return r;
    r = last ? add_last(spec, c, id, &how) : add(spec, id, &how);
    return r < 0 ? refuse(err, "out of memory") : 0;
}

int after_resolve(json_t *spec, struct client *c, struct volt_error *err)
{
    json_t *edges = json_incref(json_object_get(spec, "after")), *edge;
    size_t i;
    int r = 0;

    if (edges)
        (void)json_object_set_new(spec, "after", json_array());
    json_array_foreach(edges, i, edge)
    {
        r = resolve(spec, c, edge, err);
        if (r < 0)
            break;
    }
    json_decref(edges);
    return r;
}

void after_format(const json_t *edge, char *buf, size_t size)
{
    const char *when = job_view_string(edge, "when");
    const bool plain = strcmp(when, "ok") == 0, each = job_view_bool(edge, "each");

    (void)snprintf(buf, size, "%s%s%s%s%s%s", job_view_string(edge, "job"),
                   plain && !each ? "" : " (", plain ? "" : when,
                   plain || !each ? "" : ", ", each ? "each element" : "",
                   plain && !each ? "" : ")");
}
