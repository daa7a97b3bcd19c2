/* See progress.h. */
#include "client/progress.h"
#include "wire/duration.h"
#include "client/term.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SEC          UINT64_C(1000000)
#define REDRAW_USEC  (SEC / 10)
#define BAR_LONGEST  30
#define BAR_SHORTEST 8

/* Writes " 612/1000 3 failed 41.2 job/s eta 00:09". */
static void format_figures(const struct progress *p, char *buf, size_t size)
{
    int n = snprintf(buf, size, "%" PRIu64 "/%" PRIu64, p->done, p->total);
    if (p->failed > 0)
        n += snprintf(buf + n, size - (size_t)n, "  %" PRIu64 " failed", p->failed);
    uint64_t counted = p->done > p->done_before ? p->done - p->done_before : 0;
    if (counted == 0 || p->elapsed_usec == 0)
        return;
    double rate = (double)counted * (double)SEC / (double)p->elapsed_usec;
    n += snprintf(buf + n, size - (size_t)n, "  %.*f job/s", rate < 100 ? 1 : 0, rate);
    char clock[24];
    if (p->done < p->total) {
        duration_format_clock((uint64_t)((double)(p->total - p->done) / rate + 0.999),
                              clock, sizeof(clock));
        (void)snprintf(buf + n, size - (size_t)n, "  eta %s", clock);
    } else {
        duration_format_clock(p->elapsed_usec / SEC, clock, sizeof(clock));
        (void)snprintf(buf + n, size - (size_t)n, "  in %s", clock);
    }
}

void progress_format(const struct progress *p, unsigned columns, char *buf, size_t size)
{
    char figures[160];
    format_figures(p, figures, sizeof(figures));
    size_t used = strlen(figures) + 3; /* brackets and a space */
    char bar[BAR_LONGEST + 4] = "";
    if (used + BAR_SHORTEST <= columns) {
        size_t width = columns - used < BAR_LONGEST ? columns - used : BAR_LONGEST;
        size_t full =
            p->total ? (size_t)((double)p->done / (double)p->total * (double)width) : 0;
        if (full > width)
            full = width;
        bar[0] = '[';
        memset(bar + 1, '#', full);
        memset(bar + 1 + full, '.', width - full);
        memcpy(bar + 1 + width, "] ", 3);
    }
    (void)snprintf(buf, size, "%s%s", bar, figures);
    if (columns < size && strlen(buf) > columns)
        buf[columns] = '\0';
}

void progress_line_init(struct progress_line *line, bool enabled)
{
    *line = (struct progress_line){.enabled = enabled && term_is_tty(STDERR_FILENO)};
}

void progress_line_update(struct progress_line *line, uint64_t total, uint64_t done,
                          uint64_t failed)
{
    if (!line->enabled)
        return;
    uint64_t now = duration_now_usec();
    if (!line->counting) {
        line->counting = true;
        line->started_usec = now;
        line->done_before = done;
    }
    if (line->shown && done < total && now - line->drawn_usec < REDRAW_USEC)
        return;
    struct progress p = {.total = total,
                         .done = done,
                         .failed = failed,
                         .elapsed_usec = now - line->started_usec,
                         .done_before = line->done_before};
    char text[256];
    progress_format(&p, term_columns(STDERR_FILENO) - 1, text, sizeof(text));
    (void)fprintf(stderr, "\r%s\033[K", text);
    (void)fflush(stderr);
    line->drawn_usec = now;
    line->shown = true;
}

void progress_line_count(struct progress_line *line, uint64_t n, const char *what)
{
    if (!line->enabled)
        return;
    (void)fprintf(stderr, "\r%" PRIu64 " %s\033[K", n, what);
    (void)fflush(stderr);
    line->shown = true;
}

void progress_line_clear(struct progress_line *line)
{
    if (!line->shown)
        return;
    (void)fprintf(stderr, "\r\033[K");
    (void)fflush(stderr);
    line->shown = false;
}
