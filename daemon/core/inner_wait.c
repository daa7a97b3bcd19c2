/* See inner_wait.h. */
#include "daemon/core/inner_wait.h"

#include "daemon/core/state.h"

void inner_wait_add(struct core *core, struct inner_wait *n)
{
    struct user *u = users_get(&core->users, n->uid);

    if (!u)
        return;
    list_add_last(&u->inner_waits, &n->node);
    n->listed = true;
}

void inner_wait_remove(struct core *core, struct inner_wait *n)
{
    if (n->listed)
        list_remove(&users_find(&core->users, n->uid)->inner_waits, &n->node);
    n->listed = false;
}
