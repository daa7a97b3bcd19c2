/* See each_line.h. Each line becomes a line of NDJSON, so mistakes are reported as for a
 * batch. An entry has the members that differ; the others are the defaults of the
 * batch. */
#include "client/each_line.h"
#include "client/field_options.h"
#include "wire/buffer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLACE "{}"

static int append(struct wire_buf *to, const char *text)
{
    return wire_buf_append(to, text, strlen(text));
}

/* Appends the line as one word of sh. */
static int append_quoted(struct wire_buf *to, const char *line)
{
    int r = append(to, "'");
    for (; r == 0 && *line; line++)
        r = *line == '\'' ? append(to, "'\\''") : wire_buf_append(to, line, 1);
    return r == 0 ? append(to, "'") : r;
}

/* Appends the line as a part of the name of a file, as voltd does with {name}. */
static int append_in_path(struct wire_buf *to, const char *line)
{
    int r = 0;
    if (strcmp(line, ".") == 0 || strcmp(line, "..") == 0)
        return append(to, line[1] ? "__" : "_");
    for (; r == 0 && *line; line++)
        r = wire_buf_append(to, *line == '/' ? "_" : line, 1);
    return r;
}

typedef int append_fn(struct wire_buf *to, const char *line);

/* Returns the text with {} replaced by the line, new; NULL: no memory, or the line is not
 * UTF-8. */
static json_t *expand(const char *text, const char *line, append_fn *put)
{
    struct wire_buf to = {0};
    json_t *string = NULL;
    int r = 0;
    while (r == 0 && *text) {
        const char *place = strstr(text, PLACE);
        r = wire_buf_append(&to, text, place ? (size_t)(place - text) : strlen(text));
        text = place ? place + strlen(PLACE) : "";
        if (r == 0 && place)
            r = put(&to, line);
    }
    if (r == 0)
        string = json_stringn(to.data ? wire_buf_at(&to) : "", wire_buf_len(&to));
    wire_buf_fini(&to);
    return string;
}

static bool has_place(const json_t *argv)
{
    size_t i;
    const json_t *word;
    json_array_foreach(argv, i, word)
    {
        if (strstr(json_string_value(word), PLACE))
            return true;
    }
    return false;
}

static json_t *expand_argv(const json_t *argv, const char *line)
{
    json_t *list = json_array(), *word;
    size_t i;
    int r = 0;
    json_array_foreach(argv, i, word)
    {
        r |= json_array_append_new(list, expand(json_string_value(word), line, append));
    }
    if (!has_place(argv))
        r |= json_array_append_new(list, json_string(line));
    if (r == 0)
        return list;
    json_decref(list);
    return NULL;
}

/* Sets object[name] in the entry, if {} is in the text. */
static int put_pair(json_t *entry, const char *object, const char *name, const char *text,
                    const char *line)
{
    json_t *pairs = json_object_get(entry, object);
    if (!text || !strstr(text, PLACE))
        return 0;
    if (!pairs) {
        pairs = json_object();
        if (json_object_set_new(entry, object, pairs) < 0)
            return -1;
    }
    return json_object_set_new(pairs, name, expand(text, line, append));
}

static int put_labels(json_t *entry, const json_t *spec, const char *line)
{
    json_t *labels = json_object_get(spec, "labels"), *value;
    const char *name;
    int r = 0;
    json_object_foreach(labels, name, value)
    {
        r |= put_pair(entry, "labels", name, json_string_value(value), line);
    }
    return r;
}

/* Puts the line into the variables of -E; those that are passed on stay as they are. */
static int put_env(json_t *entry, const json_t *spec, const char *line)
{
    const json_t *env = json_object_get(spec, "env"), *item;
    size_t i;
    int r = 0;
    json_array_foreach(json_object_get(spec, "env_given"), i, item)
    {
        const char *name = json_string_value(item), *here = getenv(name);
        const char *text = json_string_value(json_object_get(env, name));
        if (!here || !text || strcmp(here, text) != 0)
            r |= put_pair(entry, "env", name, text, line);
    }
    return r;
}

/* Puts the line into the names of the claims. */
static int put_claims(json_t *entry, const json_t *spec, const char *line)
{
    json_t *claims = json_deep_copy(json_object_get(spec, "claims")), *claim;
    bool changed = false;
    size_t i;
    int r = 0;
    json_array_foreach(claims, i, claim)
    {
        const char *name = json_string_value(json_object_get(claim, "name"));
        if (!name || !strstr(name, PLACE))
            continue;
        r |= json_object_set_new(claim, "name", expand(name, line, append));
        changed = true;
    }
    if (changed && r == 0)
        return json_object_set_new(entry, "claims", claims);
    json_decref(claims);
    return r;
}

static int put_texts(json_t *entry, const json_t *spec, const char *line)
{
    static const struct {
        const char *member;
        append_fn *put;
    } texts[] = {{"shell", append_quoted},
                 {"name", append},
                 {"key", append},
                 {"output_path", append_in_path},
                 {"error_path", append_in_path}};
    int r = 0;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const char *text = json_string_value(json_object_get(spec, texts[i].member));
        const bool whole = text && strcmp(text, PLACE) == 0;
        append_fn *put = whole && texts[i].put == append_quoted ? append : texts[i].put;
        if (text && strstr(text, PLACE))
            r |= json_object_set_new(entry, texts[i].member, expand(text, line, put));
    }
    return r;
}

/* Returns the members that this line changes in the spec. If a shell text is only {}, the
 * line is not quoted. NULL: as expand(). */
static json_t *entry_of(const json_t *spec, const char *line)
{
    const json_t *argv = json_object_get(spec, "argv");
    json_t *entry = json_object();
    int r = argv ? json_object_set_new(entry, "argv", expand_argv(argv, line)) : 0;
    r |= put_texts(entry, spec, line);
    r |= put_labels(entry, spec, line);
    r |= put_env(entry, spec, line);
    r |= put_claims(entry, spec, line);
    if (r == 0)
        return entry;
    json_decref(entry);
    return NULL;
}

/* The input and the specs made of it. */
struct reading {
    const json_t *spec;
    bool null; /* entries end with a NUL byte, not a newline */
    struct wire_buf specs;
    struct volt_error *err;
};

static int complain(const struct reading *r, unsigned number, const char *what)
{
    (void)snprintf(r->err->text, sizeof(r->err->text), "%s %u: %s",
                   r->null ? "entry" : "line", number, what);
    return -EINVAL;
}

/* Returns whether the line alone would be the program, but looks like a command with
 * arguments. */
static bool is_command_line(const json_t *spec, const char *line)
{
    const json_t *argv = json_object_get(spec, "argv");
    const char *word = json_string_value(json_array_get(argv, 0));
    return json_array_size(argv) == 1 && strcmp(word, PLACE) == 0 &&
           strpbrk(line, " \t;|&<>$`") && access(line, F_OK) < 0;
}

/* Appends a line of NDJSON; an empty line stays empty. */
static int put_line(struct reading *in, char *line, size_t len, unsigned number)
{
    if (len > 0 && line[len - 1] == (in->null ? '\0' : '\n'))
        line[--len] = '\0';
    if (number == 1 && !in->null && strncmp(line, "\xef\xbb\xbf", 3) == 0) {
        line += 3; /* byte order mark, which some editors write */
        len -= 3;
    }
    if (memchr(line, '\0', len))
        return complain(in, number,
                        "a NUL byte; --null (-0) takes what find -print0 prints");
    if (len > 0 && line[len - 1] == '\r' && !in->null)
        return complain(in, number,
                        "it ends with CR LF, and the CR would be a part of it; "
                        "tr -d '\\r' removes it");
    if (is_command_line(in->spec, line))
        return complain(in, number,
                        "no program is called like the whole line; where each line is a "
                        "command: -- sh -c {}");
    json_t *entry = len > 0 ? entry_of(in->spec, line) : NULL;
    if (len > 0 && !entry)
        return complain(in, number, "not UTF-8, as all texts of a job have to be");
    char *text = entry ? json_dumps(entry, JSON_COMPACT) : NULL;
    int r = entry ? text ? append(&in->specs, text) : -ENOMEM : 0;
    json_decref(entry);
    free(text);
    return r < 0 ? r : append(&in->specs, "\n");
}

static int put_lines(struct reading *to, FILE *in)
{
    char *line = NULL;
    size_t room = 0;
    unsigned number = 0;
    ssize_t len;
    int r = 0;
    errno = 0;
    while (r == 0 && (len = getdelim(&line, &room, to->null ? '\0' : '\n', in)) >= 0)
        r = put_line(to, line, (size_t)len, ++number);
    if (r == 0 && ferror(in))
        r = errno ? -errno : -EIO;
    free(line);
    return r;
}

/* Returns whether a {} is inside quotes of the shell text or after a backslash: the line
 * has quotes of its own, so it would become code. */
static bool is_quoted(const char *text)
{
    char open = '\0';
    for (; *text; text++) {
        const char *place = text + (*text == '\\');
        if ((open || place > text) && strncmp(place, PLACE, strlen(PLACE)) == 0)
            return true;
        if (*text == '\\' && open != '\'' && text[1])
            text++;
        else if (*text == open)
            open = '\0';
        else if (!open && (*text == '\'' || *text == '"'))
            open = *text;
    }
    return false;
}

static bool has_place_in_name(const json_t *pairs)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)pairs, name, value)
    {
        if (strstr(name, PLACE))
            return true;
    }
    return false;
}

static bool has_place_in_given(const json_t *spec)
{
    const json_t *name;
    size_t i;
    json_array_foreach(json_object_get(spec, "env_given"), i, name)
    {
        if (strstr(json_string_value(name), PLACE))
            return true;
    }
    return false;
}

/* Returns whether a part of the path that is not of this directory has {}. */
static bool has_place_in_path(const char *path)
{
    char *here = getcwd(NULL, 0);
    const size_t len = here ? strlen(here) : 0;
    const bool below = here && strncmp(path, here, len) == 0;
    free(here);
    return strstr(below ? path + len : path, PLACE);
}

/* Refuses the options in which {} would stay as it is. */
static int refuse_place(const json_t *spec, struct volt_error *err)
{
    static const char *const members[] = {"cwd", "stdin", "queue"};
    const char *option = NULL;
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        const char *text = json_string_value(json_object_get(spec, members[i]));
        if (text && has_place_in_path(text))
            option = field_option_of(members[i]);
    }
    if (has_place_in_name(json_object_get(spec, "labels")))
        option = "--label";
    if (has_place_in_given(spec))
        option = "--env";
    if (!option)
        return 0;
    (void)snprintf(
        err->text, sizeof(err->text),
        "%s has {}, which is the line only in COMMAND, --name, --key, --output "
        "and --error, in the values of --env and --label, and in the names of "
        "--lock, --sem and --rate",
        option);
    return -EINVAL;
}

int each_line_read(struct batch *b, const json_t *spec, FILE *in, bool null,
                   struct volt_error *err)
{
    const char *shell = json_string_value(json_object_get(spec, "shell"));
    struct reading lines = {.spec = spec, .null = null, .err = err};
    struct wire_buf *text = &lines.specs;
    err->text[0] = '\0';
    if (shell && !strstr(shell, PLACE)) {
        (void)snprintf(err->text, sizeof(err->text),
                       "--shell needs {} in its text: the place of the line");
        return -EINVAL;
    }
    if (shell && is_quoted(shell)) {
        (void)snprintf(
            err->text, sizeof(err->text),
            "--shell has {} within quotes, or behind a backslash: leave these out, the "
            "line is quoted already");
        return -EINVAL;
    }
    int r = refuse_place(spec, err);
    if (r == 0)
        r = put_lines(&lines, in);
    FILE *specs = r == 0 ? fmemopen(wire_buf_at(text), wire_buf_len(text), "r") : NULL;
    if (r == 0)
        r = specs ? batch_read(b, specs, err) : -ENOMEM;
    if (specs)
        (void)fclose(specs);
    wire_buf_fini(text);
    if (r < 0 && !err->text[0])
        (void)snprintf(err->text, sizeof(err->text), "%s", strerror(-r));
    return r;
}
