/* Removes the output files of forgotten jobs, and files that an earlier voltd could not
 * remove. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <volt/volt.h>

#include "daemon/output/output.h"

/* Calls fn for every name in a folder; a missing folder has none. */
static void each_name(int at, const char *folder, void (*fn)(void *arg, const char *name),
                      void *arg)
{
    int fd = openat(at, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);

    if (!d && fd >= 0)
        (void)close(fd);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            fn(arg, e->d_name);
    if (d)
        (void)closedir(d);
}

struct emptying {
    int at;
    const char *folder;
};

static void remove_one(void *arg, const char *name)
{
    const struct emptying *e = arg;
    char path[NAME_MAX + 64];

    if ((size_t)snprintf(path, sizeof(path), "%s/%s", e->folder, name) < sizeof(path))
        (void)unlinkat(e->at, path, 0);
}

static void remove_folder(int at, const char *folder)
{
    struct emptying e = {at, folder};

    each_name(at, folder, remove_one, &e);
    (void)unlinkat(at, folder, AT_REMOVEDIR);
}

/* --- one job ---------------------------------------------------------------------- */

struct removal {
    int dir_fd;
    char folder[48];
};

static enum volt_poll removal_poll(struct volt_cx *cx, void *state)
{
    struct removal *r = state;

    (void)cx;
    remove_folder(r->dir_fd, r->folder);
    return VOLT_READY;
}

static const struct volt_task_type removal_type = {
    "output removal", sizeof(struct removal), removal_poll, NULL, NULL};

/* Removes a folder on the blocking pool. If that cannot begin, the next start tidies
 * up. */
static void remove_later(struct outputs *o, struct volt_runtime *rt, const char *folder)
{
    struct removal *r = volt_task_new(rt, &removal_type);

    if (!r)
        return;
    r->dir_fd = o->dir_fd;
    (void)snprintf(r->folder, sizeof(r->folder), "%s", folder);
    (void)volt_task_spawn_blocking(r, NULL);
}

void output_forget(struct outputs *o, struct volt_runtime *rt, uint64_t id)
{
    const struct job_key job = {.id = id, .index = JOB_NO_INDEX}, element = {.id = id};
    struct output_path p;

    for (unsigned i = 0; i < STORE_STREAMS; i++) {
        output_path_of(&job, (enum job_stream)i, &p);
        (void)unlinkat(o->dir_fd, p.file, 0);
    }
    output_path_of(&element, JOB_STDOUT, &p);
    if (unlinkat(o->dir_fd, p.folder, AT_REMOVEDIR) < 0 && errno == ENOTEMPTY)
        remove_later(o, rt, p.folder);
    else if (id % 1024 == 1023) /* mostly the last job of its group */
        (void)unlinkat(o->dir_fd, p.group, AT_REMOVEDIR);
}

/* --- later ------------------------------------------------------------------------ */

struct forgetting {
    struct outputs *o;
    struct volt_runtime *rt;
    uint64_t id;
};

static enum volt_poll forgetting_poll(struct volt_cx *cx, void *state)
{
    const struct forgetting *f = state;

    (void)cx;
    output_forget(f->o, f->rt, f->id);
    return VOLT_READY;
}

static const struct volt_task_type forgetting_type = {
    "output oblivion", sizeof(struct forgetting), forgetting_poll, NULL, NULL};

void output_forget_later(struct outputs *o, struct volt_runtime *rt, uint64_t id)
{
    struct forgetting *f = volt_task_new(rt, &forgetting_type);

    if (!f)
        return;
    *f = (struct forgetting){.o = o, .rt = rt, .id = id};
    (void)volt_task_spawn_blocking(f, NULL);
}

/* --- files of unknown jobs -------------------------------------------------------- */

struct tidying {
    struct outputs *o;
    bool (*known)(void *arg, uint64_t id);
    void *arg;
    const char *group;
    uint64_t latest; /* the last id asked about */
    bool latest_known;
};

/* Returns the id of "<id>", "<id>.out" or "<id>.err". 0: another name. */
static uint64_t id_of(const char *name)
{
    char *end;

    if (*name < '1' || *name > '9')
        return 0;
    uint64_t id = strtoull(name, &end, 10);
    return !*end || strcmp(end, ".out") == 0 || strcmp(end, ".err") == 0 ? id : 0;
}

static void tidy_name(void *arg, const char *name)
{
    struct tidying *s = arg;
    uint64_t id = id_of(name);
    char path[NAME_MAX + 64];

    if (!id)
        return;
    if (id != s->latest)
        s->latest_known = s->known(s->arg, id);
    s->latest = id;
    if (s->latest_known)
        return;
    (void)snprintf(path, sizeof(path), "%s/%s", s->group, name);
    if (unlinkat(s->o->dir_fd, path, 0) < 0 && errno == EISDIR)
        remove_folder(s->o->dir_fd, path);
}

static void tidy_group(void *arg, const char *name)
{
    struct tidying *s = arg;

    if (strspn(name, "0123456789") != strlen(name))
        return;
    s->group = name;
    each_name(s->o->dir_fd, name, tidy_name, s);
    (void)unlinkat(s->o->dir_fd, name, AT_REMOVEDIR);
}

void outputs_tidy(struct outputs *o, bool (*known)(void *arg, uint64_t id), void *arg)
{
    struct tidying s = {.o = o, .known = known, .arg = arg};

    each_name(o->dir_fd, ".", tidy_group, &s);
}
