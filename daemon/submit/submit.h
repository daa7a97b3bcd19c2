/* Submission of jobs: one leaf future for one job or a batch. */
#ifndef VOLTD_SUBMIT_SUBMIT_H
#define VOLTD_SUBMIT_SUBMIT_H

#include <errno.h>
#include <string.h>
#include <volt/volt.h>
#include "daemon/job/owner.h"
#include "daemon/job/quota.h"

struct core;
struct standing;

/* READY after the store has committed. */
struct jobs_submit_item {
    struct job_spec *spec; /* borrowed; core takes its own reference */
    uint64_t ret_id;       /* 0: rejected, or only checked and new */
    bool ret_existed;      /* the job is that of an earlier submission with this key */
    /* 0, or:
     *   -EEXIST: another job has the key
     *   -EDQUOT: a limit is reached
     *   -ENOSPC, -EIO: the store's disk is full or fails
     *   -ESHUTDOWN: closing; -ENOMEM; others: rejected */
    int ret_error;
    uint64_t ret_taken; /* with -EEXIST: the job that has the key; 0: an item of this
                         * batch */
    uint64_t ret_limit; /* with -EDQUOT: the limit */
    int not_new;        /* private: error, with ret_text, in case its key is new */
    char *ret_text;     /* reason, new; NULL: strerror() says all */
};
static inline const char *jobs_submit_reason(const struct jobs_submit_item *item)
{
    return item->ret_text ? item->ret_text : strerror(-item->ret_error);
}
/* Returns whether an item may be taken later that is rejected with this error. The items
 * behind it are rejected with it, so that those taken are the first ones. */
static inline bool jobs_submit_is_temporary(int error)
{
    return error == -EDQUOT || error == -ENOSPC || error == -EIO || error == -ESHUTDOWN ||
           error == -ENOMEM;
}
struct jobs_submit {
    struct core *core;
    struct job_owner owner;
    struct jobs_submit_item *items; /* borrowed until _fini */
    size_t count;
    bool atomic;               /* all or none; to be set if an edge names an item */
    bool only_checks;          /* set before the first poll: check, and submit nothing */
    struct standing *standing; /* with only_checks, of one item: filled in if it is new */
    struct quota *quota;       /* bounds and is charged with each poll; NULL: unbounded */
    bool ret_durable;
    void *pending; /* private */
    int at;        /* private */
};
void jobs_submit_init(struct jobs_submit *s, struct core *core,
                      const struct job_owner *owner, struct jobs_submit_item *items,
                      size_t count, bool atomic);
enum volt_poll jobs_submit_poll(struct volt_cx *cx, struct jobs_submit *s);
void jobs_submit_fini(struct jobs_submit *s);
/* Returns whether jobs may have limits of a cgroup. Which of them there are their keeper
 * says when it is to start one. */
bool jobs_may_be_limited(const struct core *core);

#endif
