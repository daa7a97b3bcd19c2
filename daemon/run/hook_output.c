/* The output files of an attempt. Opens them before its start. At its end looks how much
 * of them is to be stored. Finishes them when the end is in the store. */
#include <errno.h>

#include "daemon/run/attempt.h"
#include "daemon/run/hook.h"

struct making {
    struct outputs *outputs;
    const struct job_key *key;
    enum job_stream stream;
    bool again;
    int fd;
};

static void make_output(void *arg)
{
    struct making *n = arg;

    n->fd = n->again ? output_append(n->outputs, n->key, n->stream) : -ENOENT;
    if (n->fd == -ENOENT) /* an earlier voltd may have died before it made the file */
        n->fd = output_create(n->outputs, n->key, n->stream);
}

/* Opens an output: a spare file. Without one, looks for or makes a file away from the
 * worker, as that may wait for a disk. */
static int open_output(struct volt_cx *cx, const struct preparing *p,
                       enum job_stream stream, int *ret_fd)
{
    struct making n = {parts_of(p->core)->outputs, p->key, stream, p->again, -ENFILE};

    if (!p->again)
        n.fd = output_create_spare(parts_of(p->core)->outputs, p->key, stream);
    if (n.fd < 0 && cx)
        volt_block_in_place(cx, make_output, &n);
    else if (n.fd < 0)
        make_output(&n);
    if (n.fd < 0)
        return n.fd;
    *ret_fd = n.fd;
    return 0;
}

static int prepare(struct volt_cx *cx, const struct preparing *p)
{
    if (p->spec->output != JOB_OUTPUT_FILE)
        return 0;
    int r = open_output(cx, p, JOB_STDOUT, &p->args->stdout_fd);
    if (r == 0 && p->spec->output_split)
        r = open_output(cx, p, JOB_STDERR, &p->args->stderr_fd);
    return r;
}

/* Returns KiB printed above output_limit, rounded up; 0 unless the limit ended the
 * job. */
static uint32_t over_kib(struct work *w, uint64_t bytes)
{
    uint64_t limit = w->job->spec->output_limit;

    if (bytes <= limit)
        return 0;
    core_lock(w->core);
    bool ended = jobs_status(w->job, w->offset)->printed_too_much;
    core_unlock(w->core);
    uint64_t kib = (bytes - limit + 1023) / 1024;
    return !ended ? 0 : kib < UINT32_MAX ? (uint32_t)kib : UINT32_MAX;
}

/* Adds the output to the end for the store, if it is small. A store without room takes
 * ends only. */
static void exited(struct volt_cx *cx, struct work *w)
{
    struct core *core = w->core;
    const struct job_spec *spec = w->job->spec;
    struct attempt *a = w->attempt;
    struct job_key key = attempt_key(w);
    uint64_t fold = 0;

    if (!a || spec->output != JOB_OUTPUT_FILE)
        return;
    if (store_refusal(parts_of(core)->store) == 0)
        fold = vat_u64_load(&parts_of(core)->outputs->fold, VAT_RLX);
    a->printed.began =
        a->record.verdict == RECORD_DONE || a->record.verdict == RECORD_SHIM_KILLED;
    output_end_look(cx, parts_of(core)->outputs, &key, spec->output_split, fold,
                    &a->printed);
    w->printed = &a->printed;
    a->end.kept = a->printed.kept;
    a->end.printed[JOB_STDOUT] = a->printed.length[JOB_STDOUT];
    a->end.printed[JOB_STDERR] = a->printed.length[JOB_STDERR];
    a->end.over_kib = over_kib(w, a->printed.bytes);
}

static void retired(struct work *w)
{
    struct job_key key = attempt_key(w);

    if (w->printed)
        output_end_finish(parts_of(w->core)->outputs, &key, w->printed,
                          !w->again && w->leaf.commit.status == 0);
    w->printed = NULL;
}

const struct hook hook_output = {
    .step = "output", .prepare = prepare, .exited = exited, .retired = retired};
