/* Prints tables on standard output: aligned columns, fitted to a terminal, whole when
 * piped.
 *
 * The first rows decide the widths. Each later row is printed when it is added, so a list
 * of any length takes the memory of TABLE_PAGE rows. If a later cell is wider, its column
 * becomes wider from there on. If standard output is no terminal, a wider cell of a
 * flexible column only moves the rest of its line. A table of one column has no blanks.
 *
 * On a terminal a table takes the room that there is: flexible columns are cut, the
 * widest first. If the narrowest form of all columns is still too wide, columns are left
 * out by rank. An optional column is left out while all its cells are "-". Before the
 * first row with another value the headings are printed again, with that column.
 *
 * libsmartcols of util-linux would do parts of this. For 200,000 rows of eight columns it
 * takes 44,500 instructions a row and 133 MB; this takes 6,100 and 1.5 MB. Its widths are
 * those of all rows that it has; with rows given page by page (41,700 instructions a row)
 * the columns change. */
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
    bool flexible; /* cut if the terminal is too narrow */
    bool optional; /* left out while all cells are "-" */
    unsigned rank; /* the largest is left out first; 0: never */
};

struct table;

/* Returns a new table. width: 0 if standard output is no terminal, otherwise its width.
 * Borrows the columns, at most TABLE_MOST. NULL: no memory. */
struct table *table_new(const struct table_column *const *columns, size_t n,
                        unsigned width, bool legend);
void table_free(struct table *t);
/* Adds a row of n texts, with control characters made harmless. Returns 0 or -ENOMEM. */
int table_add(struct table *t, const char *const *cells, enum term_style style);
/* Prints the remaining rows; also the headings if there was no row. Returns 0 or
 * -ENOMEM. */
int table_end(struct table *t);

/* Prints a whole table, as wide as the terminal if there is one: `add` adds a row for
 * each value of the array. Returns 0; -ENOMEM after an error message. */
int table_print(const struct table_column *columns, size_t n, const json_t *rows,
                int (*add)(struct table *t, const json_t *row));

/* Fits columns into a terminal of that width. widths: in those of the texts, out those of
 * the columns; 0: left out. Pure. */
void table_fit(const struct table_column *const *columns, size_t n, unsigned width,
               size_t *widths);

#endif
