/* Tasks of org.voltd.control: what voltd's tasks wait on, for a voltd that hangs.
 *
 * Similar tasks share a row, so the answer is short: types, states and leaves of each
 * type are a few dozen, as voltd's code has them. */
#include "daemon/method/methods.h"

#include "daemon/method/params.h"
#include "wire/json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    const char *type, *state; /* static */
    char waits_on[192];
    uint64_t count, oldest_usec, longest_usec;
};

struct rows {
    struct row *row;
    size_t n;
    bool no_memory;
};

static bool is_like(const struct row *r, const struct volt_task_info *t)
{
    return strcmp(r->type, t->type) == 0 && strcmp(r->state, t->state) == 0 &&
           strcmp(r->waits_on, t->waits_on) == 0;
}

/* Returns the row of tasks like this one; NULL: out of memory. */
static struct row *row_of(struct rows *rows, const struct volt_task_info *t)
{
    for (size_t i = 0; i < rows->n; i++)
        if (is_like(&rows->row[i], t))
            return &rows->row[i];
    struct row *more = realloc(rows->row, (rows->n + 1) * sizeof(*more));
    if (!more)
        return NULL;
    rows->row = more;
    struct row *r = &more[rows->n++];
    *r = (struct row){.type = t->type, .state = t->state};
    (void)snprintf(r->waits_on, sizeof(r->waits_on), "%s", t->waits_on);
    return r;
}

static void count(void *arg, const struct volt_task_info *t)
{
    struct rows *rows = arg;
    struct row *r = row_of(rows, t);

    if (!r) {
        rows->no_memory = true;
        return;
    }
    r->count++;
    if (t->age_usec > r->oldest_usec)
        r->oldest_usec = t->age_usec;
    if (t->waiting_usec > r->longest_usec)
        r->longest_usec = t->waiting_usec;
}

static int more_first(const void *a, const void *b)
{
    const struct row *ra = a, *rb = b;

    return (ra->count < rb->count) - (ra->count > rb->count);
}

static json_t *row_to_json(const struct row *r)
{
    return json_pack("{s:s,s:s,s:s,s:I,s:I,s:I}", "type", r->type, "state", r->state,
                     "waits_on", r->waits_on, "count", (json_int_t)r->count,
                     "oldest_usec", (json_int_t)r->oldest_usec, "longest_usec",
                     (json_int_t)r->longest_usec);
}

/* Returns new; NULL: out of memory. */
static json_t *tasks_to_json(struct volt_runtime *rt)
{
    struct rows rows = {.n = 0};
    json_t *array = json_array();

    if (volt_runtime_tasks(rt, count, &rows) < 0 || rows.no_memory) {
        json_decref(array);
        array = NULL;
    }
    if (array && rows.n > 0)
        qsort(rows.row, rows.n, sizeof(*rows.row), more_first);
    for (size_t i = 0; array && i < rows.n; i++)
        wire_add(&array, row_to_json(&rows.row[i]));
    free(rows.row);
    return array;
}

/* Looks at all tasks at once, which is more than a turn. */
static enum volt_poll tasks_poll(struct volt_cx *cx, struct call *call, void *state)
{
    static const struct field none[] = {{.name = NULL}};

    (void)state;
    if (params_read(call, none, NULL) < 0)
        return VOLT_READY;
    call_go_aside(cx, call);
    return call_reply(call,
                      json_pack("{s:o}", "tasks", tasks_to_json(call_service(call)->rt)));
}

const struct method method_tasks = {METHOD_IS(control, Tasks), .poll = tasks_poll};
