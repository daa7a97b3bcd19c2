/* See script_line.h. */
#include <string.h>

#include "daemon/job/script_line.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

const char *script_line(const struct job_bytes *text, struct script_line *ret)
{
    const char *at = (const char *)text->bytes;
    const char *newline = memchr(at, '\n', text->n);
    const char *end = newline ? newline : at + text->n;

    *ret = (struct script_line){{0}, {0}};
    if (end - at < 2 || memcmp(at, "#!", 2) != 0)
        return "its first line must name what runs it, such as #!/bin/sh";
    if (end - at > SCRIPT_LINE_MAX)
        return "its first line is longer than 255 bytes";
    if (memchr(text->bytes, '\0', text->n))
        return "has a NUL byte, and is no text";
    if (end[-1] == '\r')
        return "its first line ends with CR LF, and the CR would be a part of the name "
               "of what runs it";
    for (at += 2; at < end && is_blank(*at);)
        at++;
    while (end > at && is_blank(end[-1]))
        end--;
    for (char *to = ret->interpreter; at < end && !is_blank(*at);)
        *to++ = *at++;
    while (at < end && is_blank(*at))
        at++;
    memcpy(ret->argument, at, (size_t)(end - at));
    return strchr(ret->interpreter, '/')
               ? NULL
               : "its first line must name what runs it by its path, such as "
                 "#!/usr/bin/env python3";
}

const char *script_name(const struct job_spec *s)
{
    const char *slash = strrchr(s->argv[0], '/'), *name = slash ? slash + 1 : s->argv[0];

    return *name && strlen(name) <= JOB_NAME_BYTES && strcmp(name, ".") != 0 &&
                   strcmp(name, "..") != 0
               ? name
               : "script";
}
