/* Frees locks by hand that processes left of ended jobs still hold: steer.h. */
#include "daemon/core/claims.h"
#include "daemon/core/parts.h"
#include "daemon/core/table.h"
#include "daemon/core/users.h"
#include "daemon/dispatch/dispatch.h"
#include "daemon/run/work.h"
#include "daemon/steer/steer.h"

static bool is_left(const struct work *w, const char *name)
{
    return jobs_left(w->job, jobs_status(w->job, w->offset)) && claims_has(w->job, name);
}

/* Returns the holder after the latest one, or the first if the latest holds nothing any
 * more: those looked at are skipped by their numbers. */
static struct list_node *resume(const struct core *core, const struct user *u,
                                const struct steer_free *f)
{
    const struct job *job = table_get(parts_of(core)->table, f->id);
    const struct work *w = job ? jobs_live(job, f->offset) : NULL;

    return w && w->holds && w->held_nr == f->nr ? w->held.next : u->holders.first;
}

static void look(struct tx *tx, struct work *w, struct steer_free *f)
{
    f->id = w->job->id;
    f->offset = w->offset;
    f->nr = w->held_nr;
    if (f->nr <= f->through)
        return;
    f->through = f->nr;
    if (!is_left(w, f->name))
        return;
    work_release_claims(tx, w);
    f->ret_count++;
}

/* Frees the claims of a portion of the user's holders. */
static void free_some(struct tx *tx, const struct user *u, struct steer_free *f)
{
    struct list_node *n = resume(tx->core, u, f), *next;

    for (; n && !core_is_used_up(tx->core) && tx_has_room(tx); n = next) {
        next = n->next;
        look(tx, list_thing(n, struct work, held), f);
        core_did(tx->core, 1, 0, 0);
    }
    f->more = n;
}

bool steer_free_step(struct core *core, uid_t owner, struct steer_free *f,
                     struct quota *quota)
{
    struct tx tx;

    f->more = false;
    core_begin(&tx, core);
    core_charge(core, quota);
    const struct user *u = users_find(parts_of(core)->users, owner);
    if (u)
        free_some(&tx, u, f);
    dispatch_finish(&tx);
    return f->more;
}
