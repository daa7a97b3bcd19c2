/* See attempt_record.h. */
#include "daemon/run/attempt_record.h"

#include <errno.h>

#include "daemon/job/spec.h"
#include "daemon/run/attempt.h"
#include "daemon/run/hook.h"

struct making {
    const struct preparing *p;
    enum keeper_kill_mode kill_mode;
    int fd;
};

static void make_record(void *arg)
{
    struct making *m = arg;
    struct run *run = parts_of(m->p->core)->run;

    m->fd = record_create(run->record_fd, &run->spare, m->p->key, run->boot_id,
                          m->kill_mode, &m->p->args->record_seed);
}

/* Uses a spare file. Without one, makes the record away from the worker, as that may wait
 * for a disk. */
int attempt_record_make(struct volt_cx *cx, const struct preparing *p)
{
    struct run *run = parts_of(p->core)->run;
    struct making m = {.p = p, .kill_mode = p->args->kill_mode};

    m.fd = record_create_spare(run->record_fd, &run->spare, p->key, run->boot_id,
                               m.kill_mode, &p->args->record_seed);
    if (m.fd == -ENFILE && cx)
        volt_block_in_place(cx, make_record, &m);
    else if (m.fd == -ENFILE)
        make_record(&m);
    if (m.fd < 0)
        return m.fd;
    p->args->record_fd = m.fd;
    return 0;
}
