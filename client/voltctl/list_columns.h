/* Columns of a list of jobs, by name, and sorting by them. */
#ifndef VOLT_CLIENT_VOLTCTL_LIST_COLUMNS_H
#define VOLT_CLIENT_VOLTCTL_LIST_COLUMNS_H

#include "client/voltctl/table.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct list_column; /* one of a fixed set */

/* Columns that are shown, or that jobs are sorted by, most important first. */
struct list_columns {
    const struct list_column *column[TABLE_MOST];
    bool down[TABLE_MOST]; /* sorting: the largest first */
    size_t n;
};

/* Parses "id,state": names separated by commas, in any case, each once. sorts: a name may
 * have "-" before it. Returns 0; -EINVAL with the first wrong name in bad. */
int list_columns_parse(const char *text, bool sorts, struct list_columns *ret, char *bad,
                       size_t bad_size);
/* Return the columns for a terminal of 80 columns, and those for --wide. of_all: with the
 * user of each job. */
void list_columns_default(struct list_columns *ret, bool of_all);
void list_columns_wide(struct list_columns *ret);
/* Writes all names, separated by commas. */
void list_columns_names(char *buf, size_t size);

/* Adds the fields of a job and of its spec that the columns need, for List. */
void list_columns_need(const struct list_columns *columns, json_t *fields,
                       json_t *spec_fields);
/* Returns a new table of the columns. whole: none is ever left out. */
struct table *list_columns_table(const struct list_columns *columns, bool whole,
                                 unsigned width, bool legend);
/* Adds a job to the table. Returns 0 or -ENOMEM. */
int list_columns_add(const struct list_columns *columns, struct table *t,
                     const json_t *job, uint64_t now_usec);
/* Sorts an array of jobs by the first column, equal ones by the next; stable. Returns 0
 * or -ENOMEM. */
int list_columns_sort(const struct list_columns *by, json_t *jobs, uint64_t now_usec);

#endif
