/* See bytes_json.h. */
#include "daemon/method/bytes_json.h"

#include "wire/base64.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int read_input(json_t *value, void *member, struct field_error *err)
{
    const char *text = field_string(value, "", err);
    size_t len = text ? strlen(text) : 0;
    struct job_bytes *input;
    ssize_t n;

    if (!text)
        return -EINVAL;
    input = malloc(sizeof(*input) + len / 4 * 3);
    if (!input)
        return field_no_memory(err);
    n = base64_decode(text, len, input->bytes);
    if (n < 0) {
        free(input);
        return field_fail(err, "", "must be base64, with its padding");
    }
    input->n = (size_t)n;
    *(struct job_bytes **)member = input;
    return 0;
}

int read_script(json_t *value, void *member, struct field_error *err)
{
    const char *text = field_string(value, "", err);
    const size_t len = text ? strlen(text) : 0;
    struct job_bytes *script = text ? malloc(sizeof(*script) + len) : NULL;

    if (!text)
        return -EINVAL;
    if (!script)
        return field_no_memory(err);
    script->n = len;
    memcpy(script->bytes, text, len);
    *(struct job_bytes **)member = script;
    return 0;
}

int name_script(struct job_spec *s, struct field_error *err)
{
    if (!s->script || s->argv)
        return 0;
    s->argv = calloc(2, sizeof(*s->argv));
    if (s->argv)
        s->argv[0] = strdup("script");
    return s->argv && s->argv[0] ? 0 : field_no_memory(err);
}

int check_bytes(const struct job_spec *s, const struct config *config,
                struct field_error *err)
{
    const unsigned long long most = config->max_stdin;

    if (s->input && s->input->n > most)
        return field_fail(err, "stdin_data",
                          "has %zu bytes, MaxStdin= allows %llu: keep it in a file, and "
                          "name that as standard input",
                          s->input->n, most);
    if (s->script && s->script->n > most)
        return field_fail(err, "script",
                          "has %zu bytes, MaxStdin= allows %llu: name its file as the "
                          "command (volt-submit --by-path), which runs as it is then",
                          s->script->n, most);
    return 0;
}

void put_input(struct wire_writer *to, const struct job_spec *s)
{
    const size_t len = s->input ? BASE64_SIZE(s->input->n) : 0;
    char *text = s->input ? malloc(len + 1) : NULL;

    if (!s->input)
        return;
    if (!text) {
        to->error = -ENOMEM;
        return;
    }
    base64_encode(s->input->bytes, s->input->n, text);
    text[len] = '\0';
    wire_put_text(to, "stdin_data", text);
    free(text);
}

void put_script(struct wire_writer *to, const struct job_spec *s)
{
    char *text = s->script ? strndup((const char *)s->script->bytes, s->script->n) : NULL;

    if (text)
        wire_put_text(to, "script", text);
    else if (s->script)
        to->error = -ENOMEM;
    free(text);
}
