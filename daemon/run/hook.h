/* Points in the life of an attempt at which a feature has something to do: hooks.def.
 *
 * None is called with core's lock. What may wait for a disk does so in
 * volt_block_in_place(), or by what has that inside; cx is NULL where no task runs. */
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
    bool again; /* the attempt is started once more, or by an earlier daemon: what it has
                 * made may be there */
    struct keeper_start_args *args;
};

struct hook {
    const char *step; /* what the end of a job names where prepare() fails */
    /* Before each START of each attempt: adds to args, which own what is put into them.
     * 0; -errno. */
    int (*prepare)(struct volt_cx *cx, const struct preparing *p);
    /* The attempt is over, and its end, w->attempt->end, is not in the store yet. */
    void (*exited)(struct volt_cx *cx, struct work *w);
    /* The end is in the store, or could not be stored: w->leaf.commit.status. */
    void (*retired)(struct work *w);
};

#define HOOK(name) extern const struct hook hook_##name;
#include "daemon/run/hooks.def"

/* 0; -errno, with *ret_step the step of the hook that failed: then nothing is left of
 * what the others have put into args. */
int hooks_prepare(struct volt_cx *cx, const struct preparing *p, const char **ret_step);
/* Gives back what these have put into args. */
void hooks_close(struct keeper_start_args *args);
/* Of a work that has an attempt; otherwise nothing happens. */
void hooks_exited(struct volt_cx *cx, struct work *w);
void hooks_retired(struct work *w);

#endif
