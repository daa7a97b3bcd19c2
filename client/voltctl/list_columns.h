/* The columns that a list of jobs can have, by their names, and orders by them. */
#ifndef VOLT_CLIENT_VOLTCTL_LIST_COLUMNS_H
#define VOLT_CLIENT_VOLTCTL_LIST_COLUMNS_H

#include "client/voltctl/table.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct list_column; /* one of a fixed set */

/* Those that are shown, or that jobs are sorted by, the first one first. */
struct list_columns {
    const struct list_column *column[TABLE_MOST];
    bool down[TABLE_MOST]; /* sorted by: the largest first */
    size_t n;
};

/* "id,state": names with commas, in any case, each once; sorts: "-" may stand before one.
 * 0; -EINVAL with the first that is not such a name in bad. */
int list_columns_parse(const char *text, bool sorts, struct list_columns *ret, char *bad,
                       size_t bad_size);
/* What a terminal of 80 columns has room for; and what people ask for beyond that. */
void list_columns_default(struct list_columns *ret);
void list_columns_wide(struct list_columns *ret);
/* All names, with commas. */
void list_columns_names(char *buf, size_t size);

/* Adds the fields of a job and of its spec that they need, as List takes them. */
void list_columns_need(const struct list_columns *columns, json_t *fields,
                       json_t *spec_fields);
/* A table of them for table_new(); whole: none is ever left out. */
struct table *list_columns_table(const struct list_columns *columns, bool whole,
                                 unsigned width, bool legend);
/* Adds one job to it. 0; -ENOMEM. */
int list_columns_add(const struct list_columns *columns, struct table *t,
                     const json_t *job, uint64_t now_usec);
/* Sorts jobs, an array: by the first column, those that are equal there by the next, and
 * in the end as they were. 0; -ENOMEM. */
int list_columns_sort(const struct list_columns *by, json_t *jobs, uint64_t now_usec);

#endif
