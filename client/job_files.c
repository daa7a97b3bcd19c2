/* See job_files.h. */
#include "client/job_files.h"
#include "client/job_view.h"
#include "wire/duration.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NSEC     5000000 /* between two checks */
#define PATIENCE_USEC UINT64_C(5000000)

static const char *template_of(const json_t *spec)
{
    return job_view_string(spec, "output_path");
}

/* Returns the name that voltd gives the job. */
static const char *name_of(const json_t *spec)
{
    const char *name = job_view_string(spec, "name");
    const char *command =
        json_string_value(json_array_get(json_object_get(spec, "argv"), 0));
    if (*name || !command)
        return *name ? name : "sh";
    const char *slash = strrchr(command, '/');
    return slash && slash[1] ? slash + 1 : command;
}

static json_int_t changed_at(const struct stat *st)
{
    return (json_int_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
}

/* Notes the file of a job or element whose id is not known yet. */
static int note(struct job_files *f, const json_t *spec, const char *id)
{
    struct stat st;
    json_t *job =
        json_pack("{s:s, s:s, s:O}", "id", id, "name", name_of(spec), "spec", spec);
    char *path = job ? job_view_path(job, "output_path") : NULL;
    int r = path ? 0 : -ENOMEM;
    json_decref(job);
    if (r == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        r = json_object_set_new(
            f->before, path,
            json_integer(f->truncates ? changed_at(&st) : (json_int_t)st.st_size));
    free(path);
    return r < 0 ? -ENOMEM : 0;
}

/* Notes the files of the elements in a range of an array. */
static int note_range(struct job_files *f, const json_t *spec, const json_t *range)
{
    const int64_t last = job_view_int(range, "last"), step = job_view_int(range, "step");
    int64_t left = last - job_view_int(range, "first");
    char id[32];
    int r = 0;
    for (; r == 0 && left >= 0; left -= step > 0 ? step : 1) {
        (void)snprintf(id, sizeof(id), "0_%" PRId64, last - left);
        r = note(f, spec, id);
    }
    return r;
}

int job_files_note(struct job_files *f, const json_t *spec)
{
    const json_t *array = json_object_get(spec, "array");
    const char *path = template_of(spec);
    int r = 0;
    f->before = json_object();
    if (!f->before)
        return -ENOMEM;
    f->truncates = strcmp(job_view_string(spec, "open_mode"), "truncate") == 0;
    if (!*path || strstr(path, "{id}")) /* a name with an id is a new file */
        return 0;
    if (!array)
        return note(f, spec, "0");
    if (!strstr(path, "{i}"))
        return 0;
    const json_t *ranges = json_object_get(array, "ranges"), *range;
    size_t i;
    if (json_array_size(ranges) == 0)
        return note_range(f, spec, array);
    json_array_foreach(ranges, i, range)
    {
        if (r == 0)
            r = note_range(f, spec, range);
    }
    return r;
}

void job_files_fini(struct job_files *f)
{
    json_decref(f->before);
    f->before = NULL;
}

bool job_files_apart(const json_t *spec)
{
    const char *path = template_of(spec);
    return strstr(path, "{id}") ||
           (json_object_get(spec, "array") && strstr(path, "{i}"));
}

/* Opens the file. Returns the descriptor; -EAGAIN: the job has not opened it yet; another
 * -errno: it is no regular file, or cannot be read. */
static int open_regular(const struct job_files *f, const char *path, bool begun)
{
    const json_t *before = json_object_get(f->before, path);
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errno == ENOENT ? -EAGAIN : -errno;
    int r = fstat(fd, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
    if (r == 0 && !begun && f->truncates && before &&
        json_integer_value(before) == changed_at(&st))
        r = -EAGAIN;
    if (r == 0)
        return fd;
    (void)close(fd);
    return r;
}

/* Checks once. Returns 1; 0: no readable file; -EAGAIN: not yet; or as client_call(). */
static int look(const struct job_files *f, struct client *c, const char *id,
                const char *field, struct client_reply *ret, off_t *ret_from)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int r = client_call(c, "org.voltd.jobs.Get",
                        json_pack("{s:s, s:b}", "id", id, "with_spec", 1), &reply);
    const json_t *job = json_object_get(reply.parameters, "job");
    bool ended = strcmp(job_view_string(job, "state"), "done") == 0;
    bool begun = ended && strcmp(job_view_string(job, "result"), "exec_failed") != 0;
    char *path = r == 0 ? job_view_path(job, field) : NULL;
    int fd = path ? open_regular(f, path, begun) : -ENOENT;
    if (r == 0 && fd == -EAGAIN && !ended)
        r = -EAGAIN;
    if (fd >= 0) {
        client_reply_fini(ret);
        *ret = (struct client_reply){.fd = fd,
                                     .parameters = json_pack("{s:b}", "ended", ended)};
        const json_t *before = f->truncates ? NULL : json_object_get(f->before, path);
        *ret_from = (off_t)json_integer_value(before);
        r = 1;
    }
    free(path);
    client_reply_fini(&reply);
    return r;
}

int job_files_open(const struct job_files *f, struct client *c, const char *id,
                   const char *stream, struct client_reply *ret, off_t *ret_from)
{
    const char *field = strcmp(stream, "stderr") == 0 ? "error_path" : "output_path";
    const uint64_t end = duration_now_usec() + PATIENCE_USEC;
    const struct timespec pause = {.tv_nsec = LOOK_NSEC};
    int r = look(f, c, id, field, ret, ret_from);
    while (r == -EAGAIN && duration_now_usec() < end) {
        (void)nanosleep(&pause, NULL);
        r = look(f, c, id, field, ret, ret_from);
    }
    return r == -EAGAIN ? 0 : r;
}
