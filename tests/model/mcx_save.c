/* Places on the path of an execution, to go on from: the depth-first search takes another
 * branch from the last place before it, and not from the beginning. Each file that has a
 * part of what changes says which; the same code saves it and puts it back.
 *
 * Histories and lists that only grow come back by their lengths. A place too many is left
 * out: the search goes on from an earlier one. */
#include <stdlib.h>
#include <string.h>
#include "mcx_internal.h"

#define MOST_BYTES  ((size_t)512 << 20)
#define MOST_PLACES 65536

static struct {
    int choices; /* made by then */
    size_t at;
} places[MOST_PLACES];
static int nplaces;
static char *bytes;
static size_t used, room;
static size_t from; /* when it is put back */
static bool back;

static void make_room(size_t n)
{
    if (used + n <= room)
        return;
    room = (used + n) * 2;
    bytes = realloc(bytes, room);
    if (!bytes)
        abort();
}

bool mcx_carry(void *p, size_t n)
{
    if (back) {
        memcpy(p, bytes + from, n);
        from += n;
    } else {
        make_room(n);
        memcpy(bytes + used, p, n);
        used += n;
    }
    return back;
}

void mcx_save_reset(void)
{
    nplaces = 0;
    used = 0;
}

bool mcx_save_begin(int choices)
{
    if (nplaces == MOST_PLACES || used >= MOST_BYTES)
        return false;
    places[nplaces].choices = choices;
    places[nplaces++].at = used;
    back = false;
    return true;
}

bool mcx_save_back(int choices)
{
    while (nplaces > 0 && places[nplaces - 1].choices >= choices)
        used = places[--nplaces].at;
    if (nplaces == 0)
        return false;
    from = places[nplaces - 1].at;
    back = true;
    return true;
}
