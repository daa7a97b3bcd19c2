/* See check_paths.h. */
#include "client/check_paths.h"
#include "client/job_view.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct checking {
    char *problem;
    size_t size;
};

/* Returns 0 if the path exists or cannot be looked at, otherwise ENOENT or ENOTDIR. */
static int missing(const char *path)
{
    struct stat st;
    return stat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR) ? errno : 0;
}

static bool complain(const struct checking *c, const char *option, const char *path,
                     const char *what)
{
    (void)snprintf(c->problem, c->size, "%s: %s: %s", option, path, what);
    return false;
}

/* Returns whether the kernel refuses access to this user, as whom the job runs. */
static bool is_refused(const char *path, int mode)
{
    return access(path, mode) < 0 && errno == EACCES;
}

/* Checks a standard input: voltd opens only regular files and /dev/null. */
static bool check_input(const struct checking *c, const char *path)
{
    struct stat st;
    int error = missing(path);
    if (error)
        return complain(c, "--stdin", path, strerror(error));
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && strcmp(path, "/dev/null") != 0)
        return complain(c, "--stdin", path, "neither a regular file nor /dev/null");
    if (!error && is_refused(path, R_OK))
        return complain(c, "--stdin", path, strerror(EACCES));
    return true;
}

static bool check_directory(const struct checking *c, const char *option,
                            const char *path)
{
    struct stat st;
    int error = stat(path, &st) == 0 && !S_ISDIR(st.st_mode) ? ENOTDIR : missing(path);
    if (!error && is_refused(path, X_OK))
        error = EACCES;
    return !error || complain(c, option, path, strerror(error));
}

/* Checks a file that voltd makes or writes, and its folder. Parts that are filled in at
 * the job's start are unknown. */
static bool check_output(const struct checking *c, const json_t *spec, const char *field,
                         const char *option)
{
    struct stat st;
    const char *path = job_view_string(spec, field), *slash = strrchr(path, '/');
    if (!slash || strcmp(path, "/dev/null") == 0)
        return true;
    char *folder = strndup(path, slash == path ? 1 : (size_t)(slash - path));
    bool known = folder && !strchr(folder, '{');
    bool good = !known || check_directory(c, option, folder);
    bool is_there = !strchr(path, '{') && lstat(path, &st) == 0;
    const char *written = is_there ? path : folder; /* the file, or the folder in which it
                                                     * is made */
    if (good && known && is_refused(written, W_OK))
        good = complain(c, option, written, strerror(EACCES));
    free(folder);
    if (!good || !is_there || S_ISREG(st.st_mode))
        return good;
    return complain(c, option, path,
                    S_ISDIR(st.st_mode) ? "Is a directory"
                    : S_ISLNK(st.st_mode)
                        ? "is a symbolic link, which voltd does not follow"
                        : "neither a regular file nor /dev/null");
}

bool check_paths(const json_t *spec, char *problem, size_t size)
{
    const struct checking c = {problem, size};
    const char *cwd = job_view_string(spec, "cwd"), *in = job_view_string(spec, "stdin");
    return (!*cwd || check_directory(&c, "--chdir", cwd)) &&
           (!*in || check_input(&c, in)) &&
           check_output(&c, spec, "output_path", "--output") &&
           check_output(&c, spec, "error_path", "--error");
}
