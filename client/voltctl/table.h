/* Tables on standard output: aligned columns, fitted to a terminal, whole when piped.
 *
 * The first rows decide the widths; each row behind them is printed when it is added, so
 * a list of any length takes the memory of TABLE_PAGE rows. What is wider later makes its
 * column wider from there on; elsewhere than on a terminal a flexible column moves the
 * rest of its line instead.
 *
 * On a terminal a table takes what room there is: flexible columns are cut, the widest
 * first. If the narrowest form of all columns is still too wide, columns are left out by
 * their rank. An optional column is left out while all that it has is "-"; the first row
 * that has more is preceded by the headings again, with that column.
 *
 * libsmartcols of util-linux would do parts of this. Of 200,000 rows of eight columns it
 * takes 44,500 instructions a row and 133 MB; this takes 6,100 and 1.5 MB. Its widths are
 * those of all rows that it holds: rows that are given to it page by page (41,700
 * instructions a row) do not keep their columns. */
#ifndef VOLT_CLIENT_VOLTCTL_TABLE_H
#define VOLT_CLIENT_VOLTCTL_TABLE_H

#include "client/term.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { TABLE_PAGE = 1000, TABLE_MOST = 24 };

enum table_align { TABLE_LEFT = 0, TABLE_RIGHT };

struct table_column {
    const char *title;
    enum table_align align;
    bool flexible; /* cut where the terminal is too narrow */
    bool optional; /* left out while it has nothing to tell */
    unsigned rank; /* the largest is left out first; 0: never */
};

struct table;

/* columns: 0 when standard output is no terminal, else its width. Borrows the columns, at
 * most TABLE_MOST; NULL: no memory. */
struct table *table_new(const struct table_column *const *columns, size_t n,
                        unsigned width, bool legend);
void table_free(struct table *t);
/* Adds a row of n texts, control characters made harmless. 0; -ENOMEM. */
int table_add(struct table *t, const char *const *cells, enum term_style style);
/* Prints what is not printed yet, the headings too where there was no row. 0; -ENOMEM. */
int table_end(struct table *t);

/* A whole table as wide as the terminal is, if it is one: a row for each value of the
 * array, added by `add`. 0; -ENOMEM, said. */
int table_print(const struct table_column *columns, size_t n, const json_t *rows,
                int (*add)(struct table *t, const json_t *row));

/* The columns that are shown, and how wide, in a terminal of that width: widths are those
 * of the texts, and become those of the columns, 0: left out. Pure. */
void table_fit(const struct table_column *const *columns, size_t n, unsigned width,
               size_t *widths);

#endif
