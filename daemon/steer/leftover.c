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
    work_let_go(tx, w);
    f->ret_count++;
}

/* Frees the claims of a portion of the user's holders. */
static void free_some(struct tx *tx, const struct user *u, struct steer_free *f)
{
    struct list_node *n = resume(tx->core, u, f), *next;
    size_t looked = 0;

    for (; n && looked < QUOTA_ENTRIES && parts_of(tx->core)->held->facts < QUOTA_FACTS &&
           tx_has_room(tx);
         n = next, looked++) {
        next = n->next;
        look(tx, list_thing(n, struct work, held), f);
    }
    f->more = n;
    f->looked = looked;
    core_did(tx->core, looked, 0, 0);
}

bool steer_free_step(struct core *core, uid_t owner, struct steer_free *f)
{
    struct tx tx;

    f->more = false;
    f->looked = 0;
    core_begin(&tx, core);
    const struct user *u = users_find(parts_of(core)->users, owner);
    if (u)
        free_some(&tx, u, f);
    f->facts = parts_of(core)->held->facts;
    dispatch_finish(&tx);
    return f->more;
}
