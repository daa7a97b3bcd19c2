/* Tables on standard output: aligned columns, fitted to a terminal, whole when piped. */
#ifndef VOLT_CLIENT_VOLTCTL_TABLE_H
#define VOLT_CLIENT_VOLTCTL_TABLE_H

#include "client/term.h"

#include <stddef.h>

enum table_align { TABLE_LEFT = 0, TABLE_RIGHT };

struct table_column {
    const char *title;
    enum table_align align;
    bool flexible; /* shortened first where the terminal is too narrow */
};

struct table;

struct table *table_new(const struct table_column *columns, size_t n); /* borrows */
void table_free(struct table *t);
/* Copies a row of n texts, control characters made harmless. 0; -ENOMEM. */
int table_add(struct table *t, const char *const *cells, enum term_style style);
void table_print(const struct table *t, bool legend);

#endif
