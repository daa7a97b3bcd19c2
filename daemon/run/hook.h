/* Hooks: points in the life of an attempt at which a feature acts. hooks.def lists them.
 *
 * No hook is called with core's lock. A hook that may wait for a disk uses
 * volt_block_in_place(), or a function that does. cx is NULL if no task runs. */
#ifndef VOLTD_RUN_HOOK_H
#define VOLTD_RUN_HOOK_H

#include "daemon/core/work.h"
#include "daemon/job/key.h"
#include "daemon/job/spec.h"
#include "daemon/link/keeper_link.h"

struct preparing {
    struct core *core;
    const struct job_spec *spec;
    const struct job_key *key;
    bool again; /* another START, or one by a later voltd: files of the attempt may
                 * exist */
    struct keeper_start_args *args;
};

struct hook {
    const char *step; /* step in the job's end if prepare() fails */
    /* Called before each START. Adds to args, which owns all that is added. Returns 0 or
     * -errno. */
    int (*prepare)(struct volt_cx *cx, const struct preparing *p);
    /* Called when the attempt is over and its end, w->attempt->end, is not in the store
     * yet. */
    void (*exited)(struct volt_cx *cx, struct work *w);
    /* Called when the end is in the store, or could not be stored:
     * w->leaf.commit.status. */
    void (*retired)(struct work *w);
};

#define HOOK(name) extern const struct hook hook_##name;
#include "daemon/run/hooks.def"

/* Calls all prepare(). Returns 0; -errno with *ret_step of the hook that failed: then
 * args is empty again. */
int hooks_prepare(struct volt_cx *cx, const struct preparing *p, const char **ret_step);
/* Frees and closes all that prepare() has added to args. */
void hooks_close(struct keeper_start_args *args);
/* Call all hooks. Do nothing to a work without an attempt. */
void hooks_exited(struct volt_cx *cx, struct work *w);
void hooks_retired(struct work *w);

#endif
