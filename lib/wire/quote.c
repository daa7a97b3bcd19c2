/* See quote.h. */
#include "wire/quote.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* Returns whether a shell takes the word as it is. Braces are fine, as in {i}, except
 * where a shell expands them. */
static bool plain(const char *word)
{
    const char *brace = strpbrk(word, "{}");

    for (const char *p = word; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("_-+=./:,@%^{}", *p))
            return false;
    return *word && !(brace && (!word[1] || strchr(word, ',') || strstr(word, "..")));
}

static int append(struct wire_buf *to, const char *text)
{
    return wire_buf_append(to, text, strlen(text));
}

int wire_quote_word(struct wire_buf *to, const char *word)
{
    if (plain(word))
        return append(to, word);
    int r = append(to, "'");
    while (r == 0 && *word) {
        size_t n = strcspn(word, "'");

        r = wire_buf_append(to, word, n);
        word += n;
        if (r == 0 && *word) {
            r = append(to, "'\\''");
            word++;
        }
    }
    return r == 0 ? append(to, "'") : r;
}
