/* Memory of the sources under test: a bump arena that is taken back with the execution.
 * Freed memory is poisoned and never reused within an execution. Also the names and the
 * quiet ranges of addresses. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "mcx_internal.h"

#define ARENA_SIZE (4 << 20)
#define ALIGN      128
#define OBJECTS    4096
#define RANGES     256
#define POISON     0xdb

struct object {
    char *p;
    size_t size;
    bool freed;
    int thread; /* the allocating one and its clock then */
    uint16_t clock;
};

struct range {
    const char *p;
    size_t size;
    const char *name; /* NULL: quiet */
};

static char arena[ARENA_SIZE] __attribute__((aligned(ALIGN)));
static size_t used;
static struct object objects[OBJECTS];
static int nobjects;
static struct range ranges[RANGES];
static int nranges;

void mcx_heap_reset(void)
{
    memset(arena, 0, used);
    used = 0;
    nobjects = 0;
    nranges = 0;
}

void *mcx_malloc(size_t size)
{
    size_t need = (size + 1 + ALIGN - 1) / ALIGN * ALIGN; /* a gap shows overruns */

    if (used + need > ARENA_SIZE || nobjects == OBJECTS)
        mcx_fail("the explorer's heap is full");
    struct object *o = &objects[nobjects++];

    *o = (struct object){.p = arena + used,
                         .size = size,
                         .thread = mcx_current,
                         .clock = mcx_threads[mcx_current].clock};
    used += need;
    return o->p;
}

static struct object *find(const void *p)
{
    const char *a = p;
    int lo = 0, hi = nobjects;

    if (a < arena || a >= arena + used)
        return NULL;
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;

        if (objects[mid].p <= a)
            lo = mid;
        else
            hi = mid;
    }
    return &objects[lo];
}

void mcx_heap_check(const void *p)
{
    struct object *o = find(p);

    if (!o)
        return;
    long offset = (const char *)p - o->p;

    if (o->freed)
        mcx_fail("use after free: object %d, offset %ld", (int)(o - objects), offset);
    if ((size_t)offset >= o->size)
        mcx_fail("access beyond object %d of %zu bytes", (int)(o - objects), o->size);
    if (mcx_running && o->thread != mcx_current &&
        mcx_threads[mcx_current].cur.t[o->thread] < o->clock)
        mcx_fail("object %d used before its allocation happens", (int)(o - objects));
}

void mcx_free(void *p)
{
    if (!p)
        return;
    mcx_point();
    struct object *o = find(p);

    if (!o || o->p != p)
        mcx_fail("free of a pointer that was not allocated");
    if (o->freed)
        mcx_fail("double free: object %d", (int)(o - objects));
    char name[64];

    mcx_log("free %s", mcx_name_of(p, name, sizeof(name)));
    mcx_memory_check_free(o->p, o->size);
    o->freed = true;
    memset(o->p, POISON, o->size);
}

int mcx_live_objects(void)
{
    int n = 0;

    for (int i = 0; i < nobjects; i++)
        n += !objects[i].freed;
    return n;
}

static void add_range(const void *p, size_t size, const char *name)
{
    if (nranges == RANGES)
        mcx_fail("too many named ranges");
    ranges[nranges++] = (struct range){p, size, name};
}

void mcx_name(const void *p, size_t size, const char *name)
{
    add_range(p, size, name);
}

void mcx_quiet(const void *p, size_t size)
{
    add_range(p, size, NULL);
}

bool mcx_is_quiet(const void *p)
{
    const char *a = p;

    for (int i = 0; i < nranges; i++)
        if (!ranges[i].name && a >= ranges[i].p && a < ranges[i].p + ranges[i].size)
            return true;
    return false;
}

const char *mcx_name_of(const void *p, char *out, size_t size)
{
    const char *a = p;

    for (int i = nranges - 1; i >= 0; i--) { /* the later, the more specific */
        const struct range *r = &ranges[i];

        if (!r->name || a < r->p || a >= r->p + r->size)
            continue;
        if (a == r->p)
            snprintf(out, size, "%s", r->name);
        else
            snprintf(out, size, "%s+%ld", r->name, (long)(a - r->p));
        return out;
    }
    const struct object *o = find(p);

    if (o)
        snprintf(out, size, "object %d+%ld", (int)(o - objects), (long)(a - o->p));
    else
        snprintf(out, size, "%p", p);
    return out;
}

/* --- the log of a replay ------------------------------------------------------------ */

bool mcx_log_on;
/* Per thread: an operation is logged after the switch that precedes it. */
static struct {
    const char *file;
    int line;
} here[MCX_THREADS + 1];

void mcx_here(const char *file, int line)
{
    here[mcx_current].file = file;
    here[mcx_current].line = line;
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
