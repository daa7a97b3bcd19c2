/* See field_options.h. */
#include "client/field_options.h"
#include "client/limit_options.h"
#include "client/size.h"
#include "client/spec_build.h"
#include "client/submit_table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* OTHER: set elsewhere. */
enum type { OTHER = 0, TEXT, TIME, SIZE, PRIORITY };

static const struct row {
    const char *member, *option;
    int key;
    enum type type;
} rows[] = {
    {"after", "--after", 0, OTHER},
    {"argv", "command", 0, OTHER},
    {"array", "--array", 0, OTHER},
    {"at_usec", "--at", 0, OTHER},
    {"claims", "--lock, --sem or --rate", 0, OTHER},
    {"cwd", "--chdir", 0, OTHER},
    {"delay_usec", "--in", 0, OTHER},
    {"duration_usec", "--duration", OPT_DURATION, TIME},
    {"env", "--env", 0, OTHER},
    {"error_path", "--error", 0, OTHER},
    {"hold", "--hold", 0, OTHER},
    {"key", "--key", OPT_KEY, TEXT},
    {"kill_after_usec", "--kill-after", OPT_KILL_AFTER, TIME},
    {"kill_mode", "--kill-mode", OPT_KILL_MODE, TEXT},
    {"kind", "--kind", OPT_KIND, TEXT},
    {"labels", "--label", 0, OTHER},
    {"limits", "--output-limit", 0, OTHER},
    {"name", "--name", 'n', TEXT},
    {"on_exists", "--if-exists", OPT_IF_EXISTS, TEXT},
    {"on_lost", "--on-lost", OPT_ON_LOST, TEXT},
    {"open_mode", "--open-mode", OPT_OPEN_MODE, TEXT},
    {"output", "--output", 0, OTHER},
    {"output_bytes", "--output-limit", OPT_OUTPUT_LIMIT,
     SIZE}, /* of `limits`, or changes */
    {"output_path", "--output", 0, OTHER},
    {"output_split", "--error=file", 0, OTHER},
    {"priority", "--priority", 'p', PRIORITY},
    {"queue", "--queue", 'q', TEXT},
    {"retry", "--retry", 0, OTHER},
    {"script", "script", 0, OTHER},
    {"shell", "--shell", OPT_SHELL, TEXT},
    {"start_by_usec", "--start-by", 0, OTHER},
    {"stdin", "--stdin", 0, OTHER},
    {"stdin_data", "--stdin", 0, OTHER},
    {"stop_signal", "--stop-signal", 0, OTHER},
    {"success_codes", "--success", 0, OTHER},
    {"timeout_usec", "--timeout", OPT_TIMEOUT, TIME},
    {"umask", "--umask", 0, OTHER},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* Returns the row of a member, whose name has len bytes; NULL: of the option with this
 * key. */
static const struct row *find(const char *member, size_t len, int key)
{
    for (const struct row *r = rows; r < rows + ROWS; r++)
        if (member ? strlen(r->member) == len && memcmp(r->member, member, len) == 0
                   : r->type != OTHER && r->key == key)
            return r;
    return NULL;
}

const char *field_option_of(const char *path)
{
    const char *limit =
        strncmp(path, "limits.", 7) == 0 ? limit_option_of(path + 7) : NULL;
    const struct row *r = find(path, strcspn(path, ".["), 0);
    return limit || !r ? limit : r->option;
}

__attribute__((format(printf, 3, 4))) static int
fail(struct volt_error *err, const struct row *r, const char *format, ...)
{
    const int n = snprintf(err->text, sizeof(err->text), "%s: ", r->option);
    va_list ap;
    va_start(ap, format);
    (void)vsnprintf(err->text + n, sizeof(err->text) - (size_t)n, format, ap);
    va_end(ap);
    return -EINVAL;
}

static int set_priority(json_t *object, const struct row *r, const char *text,
                        struct volt_error *err)
{
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (errno || end == text || *end)
        return fail(err, r, "%s is not a number from -1000 to 1000", text);
    return json_object_set_new(object, r->member, json_integer(n));
}

static int set_size(json_t *object, const struct row *r, const char *text, bool edits,
                    struct volt_error *err)
{
    uint64_t bytes;
    if (size_parse(text, &bytes) < 0 || (!edits && bytes == 0))
        return fail(err, r, "%s is not a size like %s, 10M or 1G", text,
                    edits ? "4096" : "64K");
    return json_object_set_new(edits ? object : limits_in(object), r->member,
                               json_integer((json_int_t)bytes));
}

int field_option_take(json_t *object, int key, const char *text, bool edits,
                      struct volt_error *err)
{
    struct volt_error why;
    const struct row *r = find(NULL, 0, key);
    if (!r)
        return 1;
    if (edits && strcmp(text, "none") == 0 && (r->type == TIME || r->type == SIZE))
        text = "0";
    if (r->type == PRIORITY)
        return set_priority(object, r, text, err);
    if (r->type == SIZE)
        return set_size(object, r, text, edits, err);
    if (r->type == TIME)
        return spec_build_time(object, r->member, text, &why) < 0
                   ? fail(err, r, "%s", why.text)
                   : 0;
    return json_object_set_new(object, r->member, json_string(text)) < 0
               ? fail(err, r, "not UTF-8")
               : 0;
}
