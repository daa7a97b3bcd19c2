/* Edit distance of short words; a swap of two neighbours counts once. */
#include "wire/suggest.h"

#include <stddef.h>
#include <string.h>

enum { LONGEST = 31 };

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t d[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= n; i++)
        d[i][0] = i;
    for (size_t j = 0; j <= m; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= n; i++)
        for (size_t j = 1; j <= m; j++) {
            size_t cost = a[i - 1] != b[j - 1];
            d[i][j] = min3(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < d[i][j])
                d[i][j] = d[i - 2][j - 2] + 1;
        }
    return d[n][m];
}

const char *suggest(const char *text, const char *const words[])
{
    size_t n = strlen(text);
    if (n == 0 || n > LONGEST)
        return NULL;
    const char *best = NULL;
    size_t best_distance = n <= 4 ? 2 : n <= 6 ? 3 : 4; /* words nearer than this */
    for (; *words; words++) {
        size_t m = strlen(*words);
        size_t d = m <= LONGEST ? distance(text, n, *words, m) : LONGEST;
        if (m > n && n >= 3 && strncmp(text, *words, n) == 0)
            d = 1; /* an abbreviation */
        if (d < best_distance) {
            best_distance = d;
            best = *words;
        }
    }
    return best;
}
