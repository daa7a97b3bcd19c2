/* See check.h. Findings are what the user asked for, so they go to standard output, a
 * line each. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "daemon/check.h"
#include "daemon/config/config.h"
#include "daemon/submit/ids.h"
#include "daemon/store/sqlite.h"

static void print(void *arg, const char *text)
{
    (void)printf("%s: %s\n", (const char *)arg, text);
}

static void print_mistake(void *arg, const char *text)
{
    (void)arg;
    (void)puts(text);
}

int check_config(const char *path, bool must_exist)
{
    size_t files;
    int n = config_check(path, must_exist, print_mistake, NULL, &files);

    if (n > 0)
        (void)printf("%s: %d mistake%s; voltd does not start with it\n", path, n,
                     n == 1 ? "" : "s");
    else
        (void)printf("%s: no mistake; %zu file%s read, with %s.d/*.conf\n", path, files,
                     files == 1 ? "" : "s", path);
    return n > 0 ? 1 : 0;
}

/* Checks the file of ids beside the store. Returns the number of findings. */
static int check_ids(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    uint64_t mark;
    int r = fd < 0 ? -errno : ids_read(fd, &mark);

    if (fd >= 0)
        close(fd);
    if (r == 0 || r == -ENOENT)
        return 0;
    (void)printf("%s: the file of ids: %s\n", dir,
                 r == -EBADMSG ? "checksum" : file_text(r));
    return 1;
}

/* Takes the locks, so that no voltd writes. Returns 0, or the exit status after an error
 * message. */
static int claim(struct paths *p)
{
    struct volt_error err = {{0}};

    if (access(p->state_dir, F_OK) < 0) {
        (void)fprintf(stderr, "voltd: %s: %s\n", p->state_dir, strerror(errno));
        return 1;
    }
    const int r = paths_claim(p, &err);
    if (r == -EBUSY)
        (void)fprintf(stderr,
                      "voltd: %s; nothing was looked at: stop it first (systemctl stop "
                      "voltd, or voltctl shutdown)\n",
                      err.text);
    else if (r < 0)
        (void)fprintf(stderr, "voltd: %s\n", err.text);
    return r == -EBUSY ? ADDRESS_EXIT_TAKEN : r < 0 ? 1 : 0;
}

int check_store(struct paths *p)
{
    int n = claim(p);

    if (n > 0)
        return n;
    n = store_sqlite_check(p->state_dir, print, p->state_dir);
    if (n == -ENOENT)
        (void)fprintf(stderr, "voltd: %s: there is no store\n", p->state_dir);
    else if (n < 0)
        (void)fprintf(stderr, "voltd: %s: %s\n", p->state_dir, strerror(-n));
    if (n >= 0)
        n += check_ids(p->state_dir);
    if (n > 0)
        (void)printf("%s: damaged, %d findings\n", p->state_dir, n);
    else if (n == 0)
        (void)printf("%s: sound\n", p->state_dir);
    paths_fini(p);
    return n == 0 ? 0 : 1;
}

int accept_store(struct paths *p)
{
    struct volt_error err = {{0}};
    char text[256] = "";
    int r = claim(p);

    if (r > 0)
        return r;
    r = store_sqlite_accept(p->state_dir, text, &err);
    if (r < 0)
        (void)fprintf(stderr, "voltd: %s\n", err.text);
    else if (r == 0)
        (void)printf("%s: no witness refuses the store: there is nothing to accept. "
                     "Whether it is sound, --check-store says\n",
                     p->state_dir);
    else
        (void)printf("%s: accepted %s. Jobs that it does not know are gone; jobs that "
                     "wait in it will run, even if they have run before\n",
                     p->state_dir, text);
    paths_fini(p);
    return r < 0 ? 1 : 0;
}
