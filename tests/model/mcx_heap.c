/* Memory of the sources under test: a bump arena for each thread, so that an address does
 * not depend on the order of independent allocations; taken back with the execution.
 * Freed memory is poisoned and never reused within an execution. Also the names and the
 * quiet ranges of addresses. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "mcx_internal.h"

#define ARENA_SIZE (512 << 10)
#define ARENAS     (MCX_THREADS + 1)
#define ALIGN      128
#define OBJECTS    1024
#define RANGES     256
#define POISON     0xdb

struct object {
    char *p;
    size_t size;
    bool freed;
    int thread; /* the allocating one and its clock then */
    uint16_t clock;
    int address; /* of mcx_touch.c */
};

struct range {
    const char *p;
    size_t size;
    const char *name;
};

static struct arena {
    char p[ARENA_SIZE] __attribute__((aligned(ALIGN)));
    struct object objects[OBJECTS];
    uint16_t owner[ARENA_SIZE / ALIGN]; /* index of the object there */
} arenas[ARENAS];
static struct filled {
    size_t used;
    int nobjects;
} filled[ARENAS];
static struct range ranges[RANGES], quiet[RANGES]; /* by address */
static int nranges, nquiet;
/* Of each thread: an operation is logged after the switch that precedes it. */
static struct {
    const char *file;
    int line;
} here[MCX_THREADS + 1];

void mcx_heap_reset(void)
{
    for (int i = 0; i < ARENAS; i++) {
        memset(arenas[i].p, 0, filled[i].used);
        filled[i] = (struct filled){0};
    }
    nranges = nquiet = 0;
}

/* Names and quiet ranges are only added. */
void mcx_heap_carry(void)
{
    struct filled before[ARENAS];

    memcpy(before, filled, sizeof(filled));
    (void)mcx_carry(filled, sizeof(filled));
    for (int i = 0; i < ARENAS; i++) {
        struct arena *a = &arenas[i];
        const struct filled *f = &filled[i];

        if (before[i].used > f->used)
            memset(a->p + f->used, 0, before[i].used - f->used);
        if (f->used == 0)
            continue;
        (void)mcx_carry(a->p, f->used);
        (void)mcx_carry(a->objects, (size_t)f->nobjects * sizeof(a->objects[0]));
    }
    (void)mcx_carry(&nranges, sizeof(nranges));
    (void)mcx_carry(&nquiet, sizeof(nquiet));
    (void)mcx_carry(here, sizeof(here));
}

void *mcx_malloc(size_t size)
{
    size_t need = (size + 1 + ALIGN - 1) / ALIGN * ALIGN; /* a gap shows overruns */
    struct arena *a = &arenas[mcx_current];
    struct filled *f = &filled[mcx_current];

    if (f->used + need > ARENA_SIZE || f->nobjects == OBJECTS)
        mcx_fail("the explorer's heap is full");
    for (size_t at = f->used / ALIGN; at < (f->used + need) / ALIGN; at++)
        a->owner[at] = (uint16_t)f->nobjects;
    struct object *o = &a->objects[f->nobjects++];

    *o = (struct object){.p = a->p + f->used,
                         .size = size,
                         .thread = mcx_current,
                         .clock = mcx_threads[mcx_current].clock,
                         .address = mcx_touch_index(a->p + f->used)};
    f->used += need;
    return o->p;
}

static struct object *find(const void *p)
{
    if ((const char *)p < arenas[0].p || (const void *)p >= (void *)(arenas + ARENAS))
        return NULL;
    struct arena *a = &arenas[((const char *)p - arenas[0].p) / (long)sizeof(*a)];
    size_t offset = (size_t)((const char *)p - a->p);

    return offset < filled[a - arenas].used ? &a->objects[a->owner[offset / ALIGN]]
                                            : NULL;
}

static int number(const struct object *o)
{
    return o->thread * 100 + (int)(o - arenas[o->thread].objects);
}

void mcx_heap_check(const void *p)
{
    struct object *o = find(p);

    if (!o)
        return;
    long offset = (const char *)p - o->p;

    if (o->freed)
        mcx_fail("use after free: object %d, offset %ld", number(o), offset);
    if ((size_t)offset >= o->size)
        mcx_fail("access beyond object %d of %zu bytes", number(o), o->size);
    if (mcx_running)
        mcx_touch_use(o->address, USE_ANY);
    if (mcx_running && o->thread != mcx_current &&
        mcx_threads[mcx_current].cur.t[o->thread] < o->clock)
        mcx_fail("object %d used before its allocation happens", number(o));
}

void mcx_free(void *p)
{
    if (!p)
        return;
    mcx_point(NULL, TOUCH_READ);
    struct object *o = find(p);

    if (!o || o->p != p)
        mcx_fail("free of a pointer that was not allocated");
    if (o->freed)
        mcx_fail("double free: object %d", number(o));
    char name[64];

    mcx_log("free %s", mcx_name_of(p, name, sizeof(name)));
    mcx_memory_check_free(o->p, o->size);
    o->freed = true;
    memset(o->p, POISON, o->size);
}

int mcx_live_objects(void)
{
    int n = 0;

    for (int i = 0; i < ARENAS; i++)
        for (int k = 0; k < filled[i].nobjects; k++)
            n += !arenas[i].objects[k].freed;
    return n;
}

uint64_t mcx_heap_hash(void)
{
    uint64_t h = 0;

    for (int i = 0; i < ARENAS; i++) { /* freed memory shows, too */
        const char *p = arenas[i].p, *end = p + filled[i].used;

        for (int k = 0; k < nquiet; k++)
            if (quiet[k].p >= p && quiet[k].p < end) {
                h = mcx_hash(p, (size_t)(quiet[k].p - p), h);
                p = quiet[k].p + quiet[k].size;
            }
        h = mcx_hash(p, (size_t)(end - p), h);
    }
    return h;
}

uint64_t mcx_heap_clocks(uint64_t (*f)(int thread, uint16_t clock, int address))
{
    uint64_t h = 0;

    for (int i = 0; i < MCX_THREADS; i++)
        for (int k = 0; k < filled[i].nobjects; k++)
            h = mcx_mix(h,
                        f(i, arenas[i].objects[k].clock, arenas[i].objects[k].address));
    return h;
}

void mcx_name(const void *p, size_t size, const char *name)
{
    if (nranges == RANGES)
        mcx_fail("too many named ranges");
    ranges[nranges++] = (struct range){p, size, name};
}

void mcx_quiet(const void *p, size_t size)
{
    int k = nquiet++;

    if (nquiet == RANGES)
        mcx_fail("too many quiet ranges");
    for (; k > 0 && quiet[k - 1].p > (const char *)p; k--)
        quiet[k] = quiet[k - 1];
    quiet[k] = (struct range){p, size, NULL};
}

bool mcx_is_quiet(const void *p)
{
    const char *a = p;

    for (int i = 0; i < nquiet; i++)
        if (a >= quiet[i].p && a < quiet[i].p + quiet[i].size)
            return true;
    return false;
}

const char *mcx_name_of(const void *p, char *out, size_t size)
{
    const char *a = p;

    for (int i = nranges - 1; i >= 0; i--) { /* the later, the more specific */
        const struct range *r = &ranges[i];

        if (a < r->p || a >= r->p + r->size)
            continue;
        if (a == r->p)
            snprintf(out, size, "%s", r->name);
        else
            snprintf(out, size, "%s+%ld", r->name, (long)(a - r->p));
        return out;
    }
    const struct object *o = find(p);

    if (o)
        snprintf(out, size, "object %d+%ld", number(o), (long)(a - o->p));
    else
        snprintf(out, size, "%p", p);
    return out;
}

/* --- the log of a replay ------------------------------------------------------------ */

bool mcx_log_on;

void mcx_here(const char *file, int line)
{
    here[mcx_current].file = file;
    here[mcx_current].line = line;
    mcx_wipe();
}

const char *mcx_here_is(int *ret_line)
{
    *ret_line = here[mcx_current].line;
    return here[mcx_current].file;
}

static void print_line(const char *where, const char *format, va_list ap)
{
    const char *thread = mcx_running ? mcx_scenario->threads[mcx_current].name : "-";

    printf("  %-10s %-28s ", thread, where);
    vprintf(format, ap);
    putchar('\n');
}

void mcx_log(const char *format, ...)
{
    va_list ap;
    char where[64];

    if (!mcx_log_on)
        return;
    if (here[mcx_current].file)
        snprintf(where, sizeof(where), "%s:%d", here[mcx_current].file,
                 here[mcx_current].line);
    else
        where[0] = '\0';
    va_start(ap, format);
    print_line(where, format, ap);
    va_end(ap);
}

void mcx_note(const char *format, ...)
{
    va_list ap;

    if (!mcx_log_on)
        return;
    va_start(ap, format);
    print_line("(model)", format, ap);
    va_end(ap);
}
