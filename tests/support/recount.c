#include "tests/support/recount.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/core/state.h"

static enum job_class class_of(struct job *job)
{
    const struct job_status st =
        job->array ? array_status(job->array) : *jobs_status(job, NO_OFFSET);

    return st.state == JOB_QUEUED ? JOB_CLASS_QUEUED
           : st.state == JOB_DONE ? JOB_CLASS_DONE
                                  : JOB_CLASS_BUSY;
}

static void expect_tag(struct core *core, uint32_t tag, const struct job *job)
{
    assert_int_equal(postings_next(&core->index.keys, tag, job->id - 1), job->id);
}

/* Returns how many different tags the job has. */
static uint64_t check_keys(struct core *core, struct job *job)
{
    struct job_spec *spec = job_spec_of(job);
    uint32_t tags[65];
    uint64_t n = 0;

    assert_non_null(spec);
    for (size_t i = 0; i <= spec->nlabels; i++) {
        uint32_t tag =
            i ? index_tag_of_label(core, job->owner.uid, &spec->labels[i - 1])
              : index_tag_of_name(core, job->owner.uid, job_spec_display_name(spec));
        uint64_t k = 0;

        expect_tag(core, tag, job);
        while (k < n && tags[k] != tag)
            k++;
        tags[n] = tag;
        n += k == n;
    }
    job_spec_unref(spec);
    return n;
}

/* Ids in the postings, of all tags, that are those of indexed jobs, and others. */
static void count_postings(struct core *core, uint64_t *ret_known, uint64_t *ret_stale)
{
    const struct postings *p = &core->index.keys;

    *ret_known = *ret_stale = 0;
    for (uint32_t i = 0; i < p->npages; i++)
        for (uint32_t k = 0; k < p->pages[i].n; k++) {
            const uint32_t tag =
                (uint32_t)(p->pages[i].entries[k] >> (POSTINGS_ID_BITS + 1));

            if (k && p->pages[i].entries[k - 1] >> (POSTINGS_ID_BITS + 1) == tag)
                continue;
            for (uint64_t id = 0; (id = postings_next(p, tag, id));) {
                const struct job *job = table_get(&core->table, id);

                ++*(job && job->indexed >= INDEX_IN ? ret_known : ret_stale);
            }
        }
}

static uint64_t all_states(const struct users *all)
{
    struct hash_cursor c = {0};
    uint64_t n = 0;

    for (const struct user *u; (u = users_each(all, &c));)
        for (int class = 0; class < JOB_CLASSES; class ++)
            n += u->ids[class].count;
    return n;
}

void recount_index(struct core *core, bool memory_was_short)
{
    uint64_t id = 0, jobs = 0, missing = 0, keys = 0, known, stale;
    struct job *job;

    core_lock(core);
    do {
        size_t steps = SIZE_MAX;

        id = table_next(&core->table, id, &steps, &job);
        if (job && job->indexed == INDEX_MISSING) {
            missing++;
            assert_int_not_equal(postings_next(&core->index.keys, job->name_tag, id - 1),
                                 id);
        } else if (job) {
            const struct user *u = users_find(&core->users, job->owner.uid);

            assert_non_null(u);
            assert_int_equal(idset_next(&u->ids[class_of(job)], job->id - 1), job->id);
            keys += check_keys(core, job);
            jobs++;
        }
    } while (id);
    assert_int_equal(core->index.missing, missing);
    assert_int_equal(all_states(&core->users), jobs);
    count_postings(core, &known, &stale);
    assert_int_equal(known, keys);
    assert_true(!stale || memory_was_short);
    core_unlock(core);
}
