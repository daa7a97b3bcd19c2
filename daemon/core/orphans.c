/* See orphans.h. */
#include "daemon/core/orphans.h"

/* Searches backwards: in order of keys, the newest attempt is the last of its job. */
struct orphan *orphans_find(const struct orphans *o, uint64_t id, int64_t index)
{
    for (size_t i = o->n; i-- > 0;)
        if (o->all[i].key.id == id && o->all[i].key.index == index)
            return &o->all[i];
    return NULL;
}
