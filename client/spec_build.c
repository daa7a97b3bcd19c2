/* Building specs; see spec_build.h. */
#include "client/spec_build.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

int spec_build_pair(json_t *object, const char *text, bool from_environment,
                    struct volt_error *err)
{
    const char *eq = strchr(text, '=');
    size_t len = eq ? (size_t)(eq - text) : strlen(text);
    char name[256];
    if (len == 0 || len >= sizeof(name)) {
        (void)snprintf(err->text, sizeof(err->text),
                       "%.100s: a name is needed before =", text);
        return -EINVAL;
    }
    memcpy(name, text, len);
    name[len] = '\0';
    const char *value = eq ? eq + 1 : NULL;
    if (!eq && from_environment)
        value = getenv(name);
    if (!value) {
        (void)snprintf(err->text, sizeof(err->text), "%.100s: %s", name,
                       from_environment ? "not set here; give NAME=VALUE"
                                        : "a value is needed, NAME=VALUE");
        return -EINVAL;
    }
    json_t *string = json_string(value);
    if (!string || json_object_set_new(object, name, string) < 0) {
        (void)snprintf(err->text, sizeof(err->text), "%.100s: not UTF-8", text);
        return -EINVAL;
    }
    return 0;
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
        (void)snprintf(err->text, sizeof(err->text), "%.100s: not UTF-8", path);
        return -EINVAL;
    }
    return 0;
}

int spec_build_signal(const char *text, char *buf, size_t size)
{
    if (isdigit((unsigned char)*text)) {
        char *end;
        unsigned long n = strtoul(text, &end, 10);
        const char *abbrev = n < NSIG && !*end ? sigabbrev_np((int)n) : NULL;
        if (!abbrev)
            return -EINVAL;
        (void)snprintf(buf, size, "SIG%s", abbrev);
        return 0;
    }
    const char *name = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;
    for (int n = 1; n < NSIG; n++) {
        const char *abbrev = sigabbrev_np(n);
        if (abbrev && strcasecmp(abbrev, name) == 0) {
            (void)snprintf(buf, size, "SIG%s", abbrev);
            return 0;
        }
    }
    return -EINVAL;
}

mode_t spec_build_umask(void)
{
    mode_t mask = umask(022);
    (void)umask(mask);
    return mask;
}
