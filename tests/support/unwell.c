/* See unwell.h. */
#include "tests/support/unwell.h"

struct store_health unwell;

void unwell_health(struct store *s, struct store_health *ret)
{
    (void)s;
    *ret = unwell;
}

void unwell_put(struct store *s)
{
    static struct store_log_ops log;

    log = *s->log;
    log.health = unwell_health;
    s->log = &log;
    unwell = (struct store_health){.full = false};
}
