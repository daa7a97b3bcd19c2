/* See watermark.h. A ticket is a turn (0 or 1) plus 1. */
#include "daemon/log/watermark.h"

#include <assert.h>
#include <stdbool.h>

static bool is_idle(const struct watermark *w)
{
    return w->under_way[0] + w->under_way[1] == 0;
}

uint8_t watermark_begin(struct watermark *w, uint64_t newest)
{
    if (is_idle(w))
        w->low = w->mark = newest;
    w->under_way[w->turn]++;
    return (uint8_t)(w->turn + 1);
}

void watermark_end(struct watermark *w, uint8_t ticket, uint64_t newest)
{
    assert(ticket && w->under_way[ticket - 1] > 0);
    w->under_way[ticket - 1]--;
    if (w->under_way[!w->turn] > 0)
        return;
    w->low = w->mark;
    w->mark = newest;
    w->turn = !w->turn;
}

uint64_t watermark_low(const struct watermark *w, uint64_t newest)
{
    return is_idle(w) ? newest : w->low;
}
