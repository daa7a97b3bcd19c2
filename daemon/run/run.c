/* Opens, starts and closes the parts of the room: run.h. */
#include "daemon/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "daemon/run/away_links.h"
#include "daemon/run/state.h"

/* Reads the generation. ensure: makes it if there is none. */
static int read_generation(struct run *run, const char *record_dir, bool ensure,
                           struct volt_error *err)
{
    int r = ensure ? record_generation_ensure(run->record_fd, run->generation)
                   : record_generation_read(run->record_fd, run->generation);

    if (r == 0 || (r == -ENOENT && !ensure))
        return 0;
    return error_set(err, r, "%.180s/generation: %s", record_dir,
                     r == -EBADMSG ? "it is damaged" : file_text(r));
}

static bool has_keeper(const struct run_options *o)
{
    return o->keeper_path || o->keeper_socket || o->keepers_dir;
}

static int open_records(struct run *run, const struct run_options *o,
                        struct volt_error *err)
{
    const char *dir = o->record_dir;
    int r = record_boot_id(run->boot_id);

    if (r < 0)
        return error_set(err, r, "cannot read the boot id: %s", strerror(-r));
    run->record_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (run->record_fd < 0)
        return error_set(err, -errno, "cannot open %.180s: %s", dir, strerror(errno));
    record_sweep(run->record_fd);
    return read_generation(run, dir, has_keeper(o), err);
}

static int open_keeper(struct run *run, const struct run_options *o,
                       const struct siphash_key *secret, struct volt_error *err)
{
    char socket_path[108], scripts_dir[PATH_MAX];
    struct keeper_link_options k = {.socket_path = socket_path,
                                    .record_fd = run->record_fd,
                                    .scripts_dir = scripts_dir,
                                    .program = o->keeper_path,
                                    .descriptors = o->descriptors};
    int r;

    if (!has_keeper(o))
        return 0;
    if ((size_t)snprintf(scripts_dir, sizeof(scripts_dir), "%s/scripts", o->state_dir) >=
        sizeof(scripts_dir))
        k.scripts_dir = NULL;
    if ((size_t)snprintf(socket_path, sizeof(socket_path), "%s%s",
                         o->keeper_socket ? o->keeper_socket : o->runtime_dir,
                         o->keeper_socket ? "" : "/keeper.sock") >= sizeof(socket_path))
        return error_set(err, -ENAMETOOLONG,
                         "the path of the keeper's socket is too long");
    r = keeper_links_open(o->keepers_dir, &k, err, &run->links);
    if (r < 0)
        return r;
    return record_watch_open(run->record_fd, run->boot_id, secret, err, &run->watch);
}

int run_open(const struct run_options *o, const struct siphash_key *secret,
             struct run **ret, struct volt_error *err)
{
    struct run *run = *ret = calloc(1, sizeof(*run));
    int r;

    if (!run)
        return error_set(err, -ENOMEM, "out of memory");
    run->record_fd = -1;
    run->may_contain = o->keeper_socket || o->keepers_dir;
    run->socket = strdup(o->socket);
    if (!run->socket || meters_open(&run->meters) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    r = open_records(run, o, err);
    return r < 0 ? r : open_keeper(run, o, secret, err);
}

int run_start(struct core *core)
{
    const struct run *run = parts_of(core)->run;
    const struct keeper_callbacks callbacks = {away_links_here, away_links_awaits, core};
    int r = meters_start(run->meters, parts_of(core)->rt);

    if (r == 0 && run->links)
        r = keeper_links_start(run->links, parts_of(core)->rt, &callbacks);
    if (r == 0 && run_has_keepers(core))
        r = away_links_start(core);
    if (r == 0 && run->links)
        r = record_watch_start(run->watch, parts_of(core)->rt);
    return r;
}

void run_leave(struct core *core, bool settled)
{
    struct run *run = parts_of(core)->run;

    record_watch_free(run->watch);
    run->watch = NULL;
    removal_fini(core);
    keeper_links_free(run->links, settled);
    run->links = NULL;
}

void run_free(struct run *run)
{
    if (!run)
        return;
    if (run->record_fd >= 0) {
        record_sweep(run->record_fd);
        close(run->record_fd);
    }
    meters_free(run->meters);
    free(run->socket);
    free(run);
}

bool run_has_keeper(const struct core *core)
{
    return parts_of(core)->run->links != NULL;
}

bool run_has_keepers(const struct core *core)
{
    const struct run *run = parts_of(core)->run;

    return run->links && keeper_links_are_many(run->links);
}

bool run_may_contain(const struct core *core)
{
    return parts_of(core)->run->may_contain;
}

uint64_t run_keeper_away_usec(const struct core *core, uid_t owner)
{
    struct keeper_links *links = parts_of(core)->run->links;

    return links ? keeper_links_away_usec(links, owner) : 0;
}

struct keeper_link *run_link(const struct core *core, uid_t owner)
{
    struct keeper_links *links = parts_of(core)->run->links;

    return links ? keeper_links_of(links, owner) : NULL;
}

struct record_watch *run_watch(const struct core *core)
{
    return parts_of(core)->run->watch;
}

int run_record_fd(const struct run *run)
{
    return run->record_fd;
}

const uint8_t *run_boot_id(const struct run *run)
{
    return run->boot_id;
}

const uint8_t *run_generation(const struct run *run)
{
    return run->generation;
}

int run_check_owner(const struct core *core, uid_t owner)
{
    const struct run *run = parts_of(core)->run;

    return run->links ? keeper_links_check(run->links, owner) : -EOPNOTSUPP;
}
