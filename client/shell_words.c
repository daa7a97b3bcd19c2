/* See shell_words.h. */
#include "client/shell_words.h"
#include "client/term.h"
#include "wire/quote.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool can_be_shown(const char *word)
{
    while (*word) {
        struct term_char ch = term_char(word);

        if (ch.harmful)
            return false;
        word += ch.len;
    }
    return true;
}

static int append(struct wire_buf *to, const char *text)
{
    return wire_buf_append(to, text, strlen(text));
}

/* Appends a byte inside $''. Three digits, as the next character may be a digit. */
static int escape_byte(struct wire_buf *to, unsigned char c)
{
    char text[8];

    if (c == '\n' || c == '\t')
        return append(to, c == '\n' ? "\\n" : "\\t");
    (void)snprintf(text, sizeof(text), "\\%03o", c);
    return append(to, text);
}

static int escape(struct wire_buf *to, const char *word)
{
    int r = append(to, "$'");

    while (r == 0 && *word) {
        struct term_char ch = term_char(word);

        if (!ch.harmful && (*word == '\'' || *word == '\\'))
            r = append(to, "\\");
        if (!ch.harmful && r == 0)
            r = wire_buf_append(to, word, ch.len);
        for (unsigned i = 0; ch.harmful && i < ch.len && r == 0; i++)
            r = escape_byte(to, (unsigned char)word[i]);
        word += ch.len;
    }
    return r == 0 ? append(to, "'") : r;
}

int shell_word(struct wire_buf *to, const char *word)
{
    return can_be_shown(word) ? wire_quote_word(to, word) : escape(to, word);
}
