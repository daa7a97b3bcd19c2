/* Submission of jobs: one leaf future for one job or a batch. */
#ifndef VOLTD_SUBMIT_SUBMIT_H
#define VOLTD_SUBMIT_SUBMIT_H

#include <string.h>
#include <volt/volt.h>
#include "daemon/job/owner.h"

struct core;
struct standing;

/* READY after the store has committed. */
struct jobs_submit_item {
    struct job_spec *spec; /* borrowed; core takes a reference of its own */
    uint64_t ret_id;       /* 0: rejected, or new, of what is only checked */
    bool ret_existed;      /* the job of an earlier submission with this key */
    /* 0; -EEXIST: the key is that of another job; -EDQUOT: a limit reached; -ENOSPC,
     * -EIO: the store's disk is full or fails;
     * -ESHUTDOWN: closing; -ENOMEM; others: refused. */
    int ret_error;
    uint64_t ret_taken; /* with -EEXIST: the job that has the key; 0: one of these */
    uint64_t ret_limit; /* of -EDQUOT: which */
    int not_new;    /* private: what it is refused with if its key is new, and ret_text */
    char *ret_text; /* why, new; NULL: strerror() of it says all */
};
static inline const char *jobs_submit_reason(const struct jobs_submit_item *item)
{
    return item->ret_text ? item->ret_text : strerror(-item->ret_error);
}
struct jobs_submit {
    struct core *core;
    struct job_owner owner;
    struct jobs_submit_item *items; /* borrowed until _fini */
    size_t count;
    bool atomic; /* all or none; so where an edge of a spec has an item */
    bool only_checks; /* set before the first poll: nothing becomes a job */
    struct standing *standing; /* with only_checks, of one item: filled in if it is new */
    /* Set before each poll: items that it may look at, and facts that it may append, and
     * up to two more for what is replaced; 0: 500 and 64. */
    size_t looks, most_facts;
    size_t looked, facts; /* by the latest poll */
    bool ret_durable;
    void *pending; /* private */
    int at;        /* private */
};
void jobs_submit_init(struct jobs_submit *s, struct core *core,
                      const struct job_owner *owner, struct jobs_submit_item *items,
                      size_t count, bool atomic);
enum volt_poll jobs_submit_poll(struct volt_cx *cx, struct jobs_submit *s);
void jobs_submit_fini(struct jobs_submit *s);

#endif
