/* voltctl tasks: prints what voltd's tasks wait on. */
#include "wire/duration.h"
#include "client/job_view.h"
#include "client/voltctl/table.h"
#include "client/voltctl/verbs.h"

#include <inttypes.h>
#include <stdio.h>

enum { COUNT, TYPE, STATE, WAITS_ON, WAITING, AGE, COLUMNS };

static const struct option_entry options[] = {CTL_JSON_OPTION, CTL_OPTIONS_END};

static const struct table_column columns[COLUMNS] = {
    [COUNT] = {.title = "COUNT", .align = TABLE_RIGHT},
    [TYPE] = {.title = "TYPE"},
    [STATE] = {.title = "STATE"},
    [WAITS_ON] = {.title = "WAITS ON", .flexible = true, .optional = true},
    [WAITING] = {.title = "WAITING", .align = TABLE_RIGHT, .optional = true, .rank = 2},
    [AGE] = {.title = "AGE", .align = TABLE_RIGHT, .optional = true, .rank = 1},
};

static const char *time_of(const json_t *row, const char *name, char *buf, size_t size)
{
    int64_t usec = job_view_int(row, name);

    if (usec <= 0)
        return "-";
    duration_format((uint64_t)usec, buf, size);
    return buf;
}

static int add_row(struct table *t, const json_t *row)
{
    const char *cells[COLUMNS], *waits_on = job_view_string(row, "waits_on");
    char count[24], waiting[32], age[32];

    (void)snprintf(count, sizeof(count), "%" PRId64, job_view_int(row, "count"));
    cells[COUNT] = count;
    cells[TYPE] = job_view_string(row, "type");
    cells[STATE] = job_view_string(row, "state");
    cells[WAITS_ON] = *waits_on ? waits_on : "-";
    cells[WAITING] = time_of(row, "longest_usec", waiting, sizeof(waiting));
    cells[AGE] = time_of(row, "oldest_usec", age, sizeof(age));
    return table_add(t, cells, TERM_PLAIN);
}

static int print(const json_t *answer)
{
    (void)table_print(columns, COLUMNS, json_object_get(answer, "tasks"), add_row);
    return CTL_EXIT_OK;
}

static int run(struct ctl *ctl)
{
    return ctl_ask(ctl, ADDRESS_CONTROL, "org.voltd.control.Tasks", NULL, print);
}

const struct verb verb_tasks = {
    .name = "tasks",
    .operands = "",
    .summary = "Show what the tasks of voltd's scheduler do",
    .text =
        "For a voltd that hangs: how many tasks of each type run, are queued or wait.\n"
        "What they wait on is known to a voltd with VOLT_DEBUG=leaves in its environment.\n",
    .options = options,
    .run = run,
};
