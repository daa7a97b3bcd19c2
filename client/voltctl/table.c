/* Tables; see table.h. */
#include "client/voltctl/table.h"
#include "client/term.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GAP = 2, NARROWEST = 8, MOST = 24 };

struct row {
    enum term_style style;
    char *cells[];
};

struct table {
    const struct table_column *columns;
    size_t n, rows_count, rows_room;
    struct row **rows;
    size_t widths[MOST];
};

struct table *table_new(const struct table_column *columns, size_t n)
{
    struct table *t = n <= MOST ? calloc(1, sizeof(*t)) : NULL;
    if (!t)
        return NULL;
    t->columns = columns;
    t->n = n;
    for (size_t i = 0; i < n; i++)
        t->widths[i] = strlen(columns[i].title);
    return t;
}

static void row_free(struct row *row, size_t n)
{
    for (size_t i = 0; row && i < n; i++)
        free(row->cells[i]);
    free(row);
}

void table_free(struct table *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->rows_count; i++)
        row_free(t->rows[i], t->n);
    free(t->rows);
    free(t);
}

int table_add(struct table *t, const char *const *cells, enum term_style style)
{
    if (t->rows_count == t->rows_room) {
        size_t room = t->rows_room ? t->rows_room * 2 : 64;
        struct row **rows = realloc(t->rows, room * sizeof(struct row *));
        if (!rows)
            return -ENOMEM;
        t->rows = rows;
        t->rows_room = room;
    }
    struct row *row = calloc(1, sizeof(*row) + t->n * sizeof(char *));
    if (!row)
        return -ENOMEM;
    row->style = style;
    for (size_t i = 0; i < t->n; i++) {
        size_t size = strlen(cells[i]) + 1;
        row->cells[i] = malloc(size);
        if (!row->cells[i]) {
            row_free(row, t->n);
            return -ENOMEM;
        }
        term_clean(cells[i], row->cells[i], size);
        size_t width = term_width(row->cells[i]);
        if (width > t->widths[i])
            t->widths[i] = width;
    }
    t->rows[t->rows_count++] = row;
    return 0;
}

/* Takes what is too wide for the terminal out of the flexible columns. */
static void fit(const struct table *t, size_t widths[static MOST])
{
    size_t sum = 0, columns = term_columns(STDOUT_FILENO);
    for (size_t i = 0; i < t->n; i++)
        sum += widths[i] + (i > 0 ? GAP : 0);
    for (size_t i = t->n; i > 0 && sum > columns; i--) {
        if (!t->columns[i - 1].flexible || widths[i - 1] <= NARROWEST)
            continue;
        size_t over = sum - columns, can = widths[i - 1] - NARROWEST;
        size_t cut = over < can ? over : can;
        widths[i - 1] -= cut;
        sum -= cut;
    }
}

/* Prints text in width columns; too long a text ends in an ellipsis. */
static void print_cell(const char *text, size_t width, enum table_align align, bool last)
{
    size_t w = term_width(text);
    if (w <= width) {
        size_t pad = width - w;
        if (align == TABLE_RIGHT)
            term_print("%*s%s", (int)pad, "", text);
        else
            term_print("%s%*s", text, last ? 0 : (int)pad, "");
        return;
    }
    const char *end = text;
    size_t n = 1; /* the ellipsis */
    for (struct term_char ch = term_char(end); n + ch.width <= width;
         ch = term_char(end)) {
        n += ch.width;
        end += ch.len;
    }
    term_print("%.*s\u2026%*s", (int)(end - text), text, last ? 0 : (int)(width - n), "");
}

void table_print(const struct table *t, bool legend)
{
    size_t widths[MOST];
    memcpy(widths, t->widths, sizeof(widths));
    if (term_is_tty(STDOUT_FILENO))
        fit(t, widths);
    for (size_t r = legend ? 0 : 1; r <= t->rows_count; r++) {
        enum term_style style = r == 0 ? TERM_DIM : t->rows[r - 1]->style;
        term_set_style(style);
        for (size_t i = 0; i < t->n; i++) {
            const char *text = r == 0 ? t->columns[i].title : t->rows[r - 1]->cells[i];
            print_cell(text, widths[i], t->columns[i].align, i + 1 == t->n);
            if (i + 1 < t->n)
                (void)fputs("  ", stdout);
        }
        term_set_style(TERM_PLAIN);
        (void)putchar('\n');
    }
}
