/* See spec_build.h. */
#include "client/spec_build.h"
#include "client/streams.h"
#include "wire/base64.h"
#include "wire/buffer.h"
#include "wire/duration.h"
#include "wire/rlimit.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static json_t *json_range(const struct index_range *r)
{
    json_t *range = json_pack("{s:I, s:I}", "first", (json_int_t)r->first, "last",
                              (json_int_t)r->last);
    if (range && r->step != 1)
        (void)json_object_set_new(range, "step", json_integer((json_int_t)r->step));
    return range;
}

json_t *spec_build_array(const struct index_list *l)
{
    const struct index_range all = {l->ranges[0].first, l->ranges[l->n - 1].last, 1};
    json_t *array = json_range(&all), *ranges = NULL;
    if (array && (l->n > 1 || l->ranges[0].step != 1))
        (void)json_object_set_new(array, "ranges", ranges = json_array());
    for (size_t i = 0; ranges && i < l->n; i++)
        (void)json_array_append_new(ranges, json_range(&l->ranges[i]));
    if (array && l->at_once)
        (void)json_object_set_new(array, "at_once", json_integer((json_int_t)l->at_once));
    if (array && l->width)
        (void)json_object_set_new(array, "width", json_integer((json_int_t)l->width));
    return array;
}

int spec_build_pair(json_t *object, const char *text, bool from_environment,
                    struct volt_error *err)
{
    const char *eq = strchr(text, '=');
    const char *value = eq ? eq + 1 : from_environment ? getenv(text) : NULL;
    const char *wrong = NULL;
    char *name = strndup(text, eq ? (size_t)(eq - text) : strlen(text));
    if (!name)
        return -ENOMEM;
    if (!*name)
        wrong = "a name is needed before =";
    else if (!value)
        wrong = from_environment ? "not set here; give NAME=VALUE"
                                 : "a value is needed, KEY=VALUE; a name alone is --name";
    else if (json_object_set_new(object, name, json_string(value)) < 0)
        wrong = "not UTF-8";
    free(name);
    if (!wrong)
        return 0;
    (void)snprintf(err->text, sizeof(err->text), "%.100s: %s", text, wrong);
    return -EINVAL;
}

int spec_build_environment(json_t *object, char *const *environ_list,
                           unsigned *ret_skipped)
{
    unsigned skipped = 0;
    for (char *const *e = environ_list; *e; e++) {
        const char *eq = strchr(*e, '=');
        if (!eq || eq == *e)
            continue;
        char *name = strndup(*e, (size_t)(eq - *e));
        if (!name)
            return -ENOMEM;
        json_t *value = json_string(eq + 1);
        if (!value || json_object_set_new(object, name, value) < 0)
            skipped++;
        free(name);
    }
    *ret_skipped = skipped;
    return 0;
}

int spec_build_path(json_t *spec, const char *name, const char *path,
                    struct volt_error *err)
{
    char cwd[PATH_MAX] = "", *full = NULL;
    if (!*path) {
        (void)snprintf(err->text, sizeof(err->text), "a path is needed");
        return -EINVAL;
    }
    if (path[0] != '/' && !getcwd(cwd, sizeof(cwd))) {
        int code = -errno;
        (void)snprintf(err->text, sizeof(err->text), "the current directory: %s",
                       strerror(-code));
        return code;
    }
    const char *rest = strcmp(path, ".") == 0 ? "" : path;
    const char *sep = path[0] != '/' && *rest && strcmp(cwd, "/") != 0 ? "/" : "";
    if (asprintf(&full, "%s%s%s", cwd, sep, rest) < 0)
        return -ENOMEM;
    json_t *string = json_string(full);
    free(full);
    if (!string || json_object_set_new(spec, name, string) < 0) {
        (void)snprintf(err->text, sizeof(err->text),
                       "%.100s: not UTF-8, as all texts of a job have to be", path);
        return -EINVAL;
    }
    return 0;
}

int spec_build_time(json_t *spec, const char *name, const char *text,
                    struct volt_error *err)
{
    uint64_t usec;
    if (duration_parse(text, &usec) < 0) {
        (void)snprintf(err->text, sizeof(err->text),
                       "%.100s is not a time like 30s, 10m or 1h30m", text);
        return -EINVAL;
    }
    if (json_object_set_new(spec, name, json_integer((json_int_t)usec)) == 0)
        return 0;
    (void)snprintf(err->text, sizeof(err->text), "out of memory");
    return -ENOMEM;
}

/* The most that fits into a message as base64. */
#define INPUT_MOST ((size_t)11 << 20)

static int read_to_end(int fd, struct wire_buf *to, struct volt_error *err)
{
    for (;;) {
        if (wire_buf_reserve(to, 65536) < 0)
            return -ENOMEM;
        ssize_t n = streams_read(fd, to->data + to->end, to->cap - to->end);
        if (n == 0)
            return 0;
        if (n < 0) {
            int code = -errno;
            (void)snprintf(err->text, sizeof(err->text), "reading standard input: %s",
                           strerror(-code));
            return code;
        }
        to->end += (size_t)n;
        if (wire_buf_len(to) > INPUT_MOST) {
            (void)snprintf(
                err->text, sizeof(err->text),
                "more than %zu MiB come through standard input; keep them in a "
                "file, and give --stdin=FILE",
                INPUT_MOST >> 20);
            return -EFBIG;
        }
    }
}

int spec_build_input(json_t *spec, int fd, struct volt_error *err)
{
    struct wire_buf bytes = {0};
    json_t *data = NULL;
    err->text[0] = '\0';
    int r = read_to_end(fd, &bytes, err);
    size_t len = BASE64_SIZE(wire_buf_len(&bytes));
    char *text = r == 0 ? malloc(len + 1) : NULL;
    if (text) {
        base64_encode(bytes.data + bytes.start, wire_buf_len(&bytes), text);
        data = json_stringn(text, len);
    }
    if (r == 0 && (!data || json_object_set_new(spec, "stdin_data", data) < 0))
        r = -ENOMEM;
    if (r == -ENOMEM)
        (void)snprintf(err->text, sizeof(err->text), "out of memory");
    free(text);
    wire_buf_fini(&bytes);
    return r;
}

/* A longer input goes as a file beside the call, which has little more room. */
#define INPUT_IN_CALL BASE64_SIZE((size_t)64 << 10)

static int file_of(const unsigned char *bytes, size_t n)
{
    int fd = memfd_create("stdin", MFD_CLOEXEC);
    size_t done = 0;
    while (fd >= 0 && done < n) {
        ssize_t wrote = pwrite(fd, bytes + done, n - done, (off_t)done);
        if (wrote < 0 && errno != EINTR) {
            int code = -errno;
            (void)close(fd);
            return code;
        }
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return fd < 0 ? -errno : fd;
}

int spec_build_input_file(const json_t *spec)
{
    const json_t *data = json_object_get(spec, "stdin_data");
    size_t len = json_string_length(data);
    if (len <= INPUT_IN_CALL)
        return -ENOENT;
    unsigned char *bytes = malloc(len / 4 * 3);
    int fd = -ENOMEM;
    if (bytes) {
        ssize_t n = base64_decode(json_string_value(data), len, bytes);
        fd = n < 0 ? (int)n : file_of(bytes, (size_t)n);
    }
    free(bytes);
    return fd;
}

/* Parses "RTMIN", "RTMIN+3" or "RTMAX-1". Returns 0: no such signal. */
static int realtime_signal(const char *name)
{
    bool down = strncasecmp(name, "RTMAX", 5) == 0;
    const char *rest = name + 5;
    unsigned long n = 0;
    if (*rest) {
        size_t digits = strspn(rest + 1, "0123456789");
        if (*rest != (down ? '-' : '+') || digits == 0 || rest[1 + digits])
            return 0;
        n = strtoul(rest + 1, NULL, 10);
    }
    if (n > (unsigned long)(SIGRTMAX - SIGRTMIN))
        return 0;
    return down ? SIGRTMAX - (int)n : SIGRTMIN + (int)n;
}

/* Second names of signals, which sigabbrev_np() does not know. */
static const struct {
    const char *name;
    int signal;
} other_names[] = {{"IO", SIGIO}, {"IOT", SIGIOT}, {"CLD", SIGCLD}};

/* Returns the number of a signal; 0: no such signal. */
static int signal_number(const char *text)
{
    if (isdigit((unsigned char)*text)) {
        char *end;
        unsigned long n = strtoul(text, &end, 10);
        return n <= (unsigned long)SIGRTMAX && !*end ? (int)n : 0;
    }
    const char *name = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;
    if (strncasecmp(name, "RTMIN", 5) == 0 || strncasecmp(name, "RTMAX", 5) == 0)
        return realtime_signal(name);
    for (int n = 1; n < SIGRTMIN; n++) {
        const char *abbrev = sigabbrev_np(n);
        if (abbrev && strcasecmp(abbrev, name) == 0)
            return n;
    }
    for (size_t i = 0; i < sizeof(other_names) / sizeof(other_names[0]); i++)
        if (strcasecmp(other_names[i].name, name) == 0)
            return other_names[i].signal;
    return 0;
}

int spec_build_signal(const char *text, char *buf, size_t size)
{
    int n = signal_number(text);
    const char *abbrev = sigabbrev_np(n);
    if (n <= 0 || (!abbrev && n < SIGRTMIN))
        return -EINVAL;
    if (abbrev)
        (void)snprintf(buf, size, "SIG%s", abbrev);
    else
        (void)snprintf(buf, size, "SIGRTMIN+%d", n - SIGRTMIN);
    return 0;
}

json_t *spec_build_rlimits(void)
{
    json_t *limits = json_pack("{s:s}", "*", "infinity");
    char text[RLIMIT_TEXT_MAX];
    struct rlimit l;
    for (int i = 0; i < RLIMIT_COUNT; i++) {
        if (getrlimit((__rlimit_resource_t)i, &l) < 0) /* an older kernel with fewer
                                                        * limits */
            continue;
        if (l.rlim_cur == RLIM_INFINITY) /* the hard limit too: the default */
            continue;
        json_t *value = json_string(rlimit_format(l.rlim_cur, l.rlim_max, text));
        if (json_object_set_new(limits, rlimit_names[i], value) < 0) {
            json_decref(limits);
            return NULL;
        }
    }
    return limits;
}

mode_t spec_build_umask(void)
{
    mode_t mask = umask(022);
    (void)umask(mask);
    return mask;
}
