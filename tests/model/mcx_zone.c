/* Linked after the explorer and before what it tests: the variables of the program from
 * here on are part of a state (mcx_state.c), and begin each execution as they were at
 * first; those before are the explorer's. */
#include <stdlib.h>
#include <string.h>
#include "mcx_internal.h"

static char data[64] __attribute__((aligned(64), used)) = {1};
static char bss[64] __attribute__((aligned(64), used));

extern char edata[], end[]; /* by the linker */

static void *copy(const char *p, const char *until)
{
    char *to = malloc((size_t)(until - p));

    if (!to)
        abort();
    return memcpy(to, p, (size_t)(until - p));
}

void mcx_zone_reset(void)
{
    static char *first_data, *first_bss; /* of the zone themselves, it may be */
    char *was_data = first_data ? first_data : copy(data, edata);
    char *was_bss = first_bss ? first_bss : copy(bss, end);

    memcpy(data, was_data, (size_t)(edata - data));
    memcpy(bss, was_bss, (size_t)(end - bss));
    first_data = was_data;
    first_bss = was_bss;
}

size_t mcx_zone_size(void)
{
    return (size_t)((edata - data) + (end - bss));
}

bool mcx_zone_changed(char *was)
{
    size_t n = (size_t)(edata - data), m = (size_t)(end - bss);

    if (memcmp(was, data, n) == 0 && memcmp(was + n, bss, m) == 0)
        return false;
    memcpy(was, data, n);
    memcpy(was + n, bss, m);
    return true;
}

void mcx_zone_carry(char *was)
{
    (void)mcx_carry(data, (size_t)(edata - data));
    if (mcx_carry(bss, (size_t)(end - bss)))
        (void)mcx_zone_changed(was);
}

uint64_t mcx_zone_hash(void)
{
    uint64_t h = mcx_hash(data, (size_t)(edata - data), 1);

    return mcx_hash(bss, (size_t)(end - bss), h);
}

/* The explorer's variables are none of these. */
bool mcx_zone_ordered(const void *explorers)
{
    const char *p = explorers;

    return p < data || (p >= edata && p < bss);
}
