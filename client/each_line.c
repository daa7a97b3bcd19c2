/* See each_line.h. Each line becomes a line of NDJSON, so mistakes are reported as for a
 * batch. An entry has the members that differ; the others are the defaults of the
 * batch. */
#include "client/each_line.h"
#include "wire/buffer.h"

#include <errno.h>
#include <stdbool.h>
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

/* Returns the text with {} replaced by the line, new; NULL: no memory, or the line is not
 * UTF-8. */
static json_t *expand(const char *text, const char *line, bool quoted)
{
    struct wire_buf to = {0};
    json_t *string = NULL;
    int r = 0;
    while (r == 0 && *text) {
        const char *place = strstr(text, PLACE);
        r = wire_buf_append(&to, text, place ? (size_t)(place - text) : strlen(text));
        text = place ? place + strlen(PLACE) : "";
        if (r == 0 && place)
            r = quoted ? append_quoted(&to, line) : append(&to, line);
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
        r |= json_array_append_new(list, expand(json_string_value(word), line, false));
    }
    if (!has_place(argv))
        r |= json_array_append_new(list, json_string(line));
    if (r == 0)
        return list;
    json_decref(list);
    return NULL;
}

/* Returns the members that this line changes in the spec. If a shell text is only {}, the
 * line is not quoted. NULL: as expand(). */
static json_t *entry_of(const json_t *spec, const char *line)
{
    static const char *const texts[] = {"shell", "name", "key"};
    const json_t *argv = json_object_get(spec, "argv");
    json_t *entry = json_object();
    int r = 0;
    if (argv)
        r = json_object_set_new(entry, "argv", expand_argv(argv, line));
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const char *text = json_string_value(json_object_get(spec, texts[i]));
        bool quoted = i == 0 && strcmp(text ? text : "", PLACE) != 0;
        if (text && r == 0)
            r = json_object_set_new(entry, texts[i], expand(text, line, quoted));
    }
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
    int r = put_lines(&lines, in);
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
