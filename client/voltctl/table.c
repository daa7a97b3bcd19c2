/* See table.h. */
#include "client/voltctl/table.h"
#include "client/say.h"
#include "client/term.h"
#include "wire/buffer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GAP = 2, NARROWEST = 8 };

struct row {
    enum term_style style;
    size_t at; /* where its n cells begin in texts, each with a NUL */
};

struct table {
    const struct table_column *columns[TABLE_MOST];
    size_t n;
    unsigned terminal; /* its width; 0: no terminal */
    bool legend, begun;
    struct wire_buf texts; /* of rows not printed yet */
    struct row rows[TABLE_PAGE];
    size_t nrows;
    size_t natural[TABLE_MOST]; /* widths of texts so far */
    bool told[TABLE_MOST];      /* a cell was not "-" */
    size_t widths[TABLE_MOST];  /* of columns; 0: left out */
    struct wire_buf line;
};

struct table *table_new(const struct table_column *const *columns, size_t n,
                        unsigned width, bool legend)
{
    struct table *t = n <= TABLE_MOST ? calloc(1, sizeof(*t)) : NULL;
    if (!t)
        return NULL;
    t->n = n;
    t->terminal = width;
    t->legend = legend;
    for (size_t i = 0; i < n; i++) {
        t->columns[i] = columns[i];
        t->natural[i] = strlen(columns[i]->title);
    }
    return t;
}

void table_free(struct table *t)
{
    if (!t)
        return;
    wire_buf_fini(&t->texts);
    wire_buf_fini(&t->line);
    free(t);
}

/* --- widths ------------------------------------------------------------------------- */

static size_t sum_of(const size_t *widths, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += widths[i] > 0 ? widths[i] + GAP : 0;
    return sum > 0 ? sum - GAP : 0;
}

static size_t least(const struct table_column *column, size_t width)
{
    return column->flexible && width > NARROWEST ? NARROWEST : width;
}

/* Leaves columns out until the narrowest form of the rest fits. */
static void leave_out(const struct table_column *const *columns, size_t n, unsigned width,
                      size_t *widths)
{
    size_t narrow[TABLE_MOST];
    for (size_t i = 0; i < n; i++)
        narrow[i] = least(columns[i], widths[i]);
    while (sum_of(narrow, n) > width) {
        size_t out = n;
        for (size_t i = 0; i < n; i++)
            if (narrow[i] > 0 && columns[i]->rank > 0 &&
                (out == n || columns[i]->rank > columns[out]->rank))
                out = i;
        if (out == n)
            return;
        narrow[out] = widths[out] = 0;
    }
}

void table_fit(const struct table_column *const *columns, size_t n, unsigned width,
               size_t *widths)
{
    leave_out(columns, n, width, widths);
    for (size_t i = 0; i < n; i++)
        if (columns[i]->flexible && widths[i] > width)
            widths[i] = width;
    while (sum_of(widths, n) > width) {
        size_t widest = n;
        for (size_t i = 0; i < n; i++)
            if (columns[i]->flexible && widths[i] > NARROWEST &&
                (widest == n || widths[i] > widths[widest]))
                widest = i;
        if (widest == n)
            return;
        widths[widest]--;
    }
}

/* Fits the columns for later rows. Returns true if an optional column is new. */
static bool fit(struct table *t)
{
    bool more = false;
    size_t widths[TABLE_MOST];
    for (size_t i = 0; i < t->n; i++)
        widths[i] =
            t->terminal && t->columns[i]->optional && !t->told[i] ? 0 : t->natural[i];
    if (t->terminal)
        table_fit(t->columns, t->n, t->terminal, widths);
    for (size_t i = 0; i < t->n; i++) {
        more |= t->begun && widths[i] > 0 && t->widths[i] == 0;
        t->widths[i] = widths[i];
    }
    return more;
}

/* --- lines -------------------------------------------------------------------------- */

static bool is_ascii(const char *text, size_t *ret_len)
{
    const char *c = text;
    while (*c >= 0x20 && *c < 0x7f)
        c++;
    *ret_len = (size_t)(c - text);
    return !*c;
}

static size_t width_of(const char *text)
{
    size_t len;
    return is_ascii(text, &len) ? len : term_width(text);
}

static int put_blanks(struct wire_buf *line, size_t n)
{
    int r = wire_buf_reserve(line, n);
    if (r == 0 && n > 0) {
        memset(line->data + line->end, ' ', n);
        line->end += n;
    }
    return r;
}

/* Appends text in width columns; cut: a text that is too long ends in an ellipsis. */
static int put_cell(struct wire_buf *line, const char *text, size_t width,
                    enum table_align align, bool cut, bool last)
{
    size_t len, w = is_ascii(text, &len) ? len : term_width(text);
    size_t pad = w < width ? width - w : 0;
    int r = 0;
    if (w <= width || !cut) {
        if (align == TABLE_RIGHT)
            r = put_blanks(line, pad);
        if (r == 0)
            r = wire_buf_append(line, text, strlen(text));
        return r == 0 && align == TABLE_LEFT && !last ? put_blanks(line, pad) : r;
    }
    const char *end = text;
    size_t n = 1; /* the ellipsis */
    for (struct term_char ch = term_char(end); n + ch.width <= width;
         ch = term_char(end)) {
        n += ch.width;
        end += ch.len;
    }
    r = wire_buf_append(line, text, (size_t)(end - text));
    if (r == 0)
        r = wire_buf_append(line, term_ellipsis(), strlen(term_ellipsis()));
    return r == 0 && !last ? put_blanks(line, width - n) : r;
}

/* Prints a row; cells: one after the other, each with a NUL. */
static int print_line(struct table *t, const char *cells, enum term_style style)
{
    size_t last = t->n;
    int r = 0;
    while (last > 0 && t->widths[last - 1] == 0)
        last--;
    wire_buf_consume(&t->line, wire_buf_len(&t->line));
    for (size_t i = 0; i < last && r == 0; i++) {
        if (t->widths[i] > 0) {
            bool cut = t->terminal && t->columns[i]->flexible;
            r = put_cell(&t->line, cells, t->widths[i],
                         t->n > 1 ? t->columns[i]->align : TABLE_LEFT, cut,
                         i + 1 == last);
            if (r == 0 && i + 1 < last)
                r = put_blanks(&t->line, GAP);
        }
        cells += strlen(cells) + 1;
    }
    if (r == 0)
        r = wire_buf_append(&t->line, "", 1);
    if (r < 0)
        return r;
    term_set_style(style);
    term_put_clean(wire_buf_at(&t->line), wire_buf_len(&t->line) - 1);
    term_set_style(TERM_PLAIN);
    (void)putchar('\n');
    return 0;
}

static int print_headings(struct table *t)
{
    char titles[32 * TABLE_MOST];
    size_t n = 0;
    for (size_t i = 0; i < t->n && n + 32 <= sizeof(titles); i++)
        n += (size_t)snprintf(titles + n, 32, "%s", t->columns[i]->title) + 1;
    return t->legend ? print_line(t, titles, TERM_DIM) : 0;
}

/* Prints the waiting rows with the present widths. */
static int print_rows(struct table *t)
{
    bool headings = fit(t) || !t->begun;
    int r = headings ? print_headings(t) : 0;
    t->begun = true;
    for (size_t i = 0; i < t->nrows && r == 0; i++)
        r = print_line(t, wire_buf_at(&t->texts) + t->rows[i].at, t->rows[i].style);
    t->nrows = 0;
    wire_buf_consume(&t->texts, wire_buf_len(&t->texts));
    return r;
}

/* --- rows --------------------------------------------------------------------------- */

/* Appends a copy of a cell, with its NUL, to texts. */
static int add_cell(struct wire_buf *texts, const char *cell)
{
    size_t len;
    if (is_ascii(cell, &len))
        return wire_buf_append(texts, cell, len + 1);
    size_t size = len + strlen(cell + len) + 1;
    int r = wire_buf_reserve(texts, size);
    if (r == 0) {
        char *to = texts->data + texts->end;
        term_clean(cell, to, size); /* as long, or shorter */
        texts->end += strlen(to) + 1;
    }
    return r;
}

/* Measures a row. Returns true if a column becomes wider, or has to be shown. */
static bool measure(struct table *t, const char *cells)
{
    bool wider = false;
    for (size_t i = 0; i < t->n; i++) {
        bool tells = strcmp(cells, "-") != 0 && *cells;
        size_t width = width_of(cells);
        bool grows = !t->begun || t->terminal || !t->columns[i]->flexible;
        if (width > t->natural[i] && grows) {
            t->natural[i] = width;
            wider = true;
        }
        wider |= tells && !t->told[i];
        t->told[i] |= tells;
        cells += strlen(cells) + 1;
    }
    return wider;
}

int table_add(struct table *t, const char *const *cells, enum term_style style)
{
    size_t at = wire_buf_len(&t->texts);
    for (size_t i = 0; i < t->n; i++) {
        int r = add_cell(&t->texts, cells[i]);
        if (r < 0)
            return r;
    }
    const char *copy = wire_buf_at(&t->texts) + at;
    bool wider = measure(t, copy);
    t->rows[t->nrows++] = (struct row){style, at};
    if (t->begun && !wider) {
        t->nrows = 0;
        int r = print_line(t, copy, style);
        wire_buf_consume(&t->texts, wire_buf_len(&t->texts));
        return r;
    }
    return t->begun || t->nrows == TABLE_PAGE ? print_rows(t) : 0;
}

int table_end(struct table *t)
{
    return t->begun && t->nrows == 0 ? 0 : print_rows(t);
}

int table_print(const struct table_column *columns, size_t n, const json_t *rows,
                int (*add)(struct table *t, const json_t *row))
{
    const struct table_column *shown[TABLE_MOST];
    const bool tty = term_is_tty(STDOUT_FILENO);
    const json_t *row;
    size_t i;
    for (i = 0; i < n; i++)
        shown[i] = &columns[i];
    struct table *t = table_new(shown, n, tty ? term_columns(STDOUT_FILENO) : 0, true);
    int r = t ? 0 : -ENOMEM;
    json_array_foreach(rows, i, row)
    {
        if (r == 0)
            r = add(t, row);
    }
    if (r == 0)
        r = table_end(t);
    if (r < 0)
        say("out of memory");
    table_free(t);
    return r;
}
