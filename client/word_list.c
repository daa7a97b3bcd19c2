/* See word_list.h. */
#include "client/word_list.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds a word, which it takes, also on failure. */
static int take(struct word_list *l, char *word)
{
    if (word && l->n + 1 >= l->room) {
        size_t room = l->room ? l->room * 2 : 16;
        char **at = reallocarray(l->at, room, sizeof(*at));
        if (!at) {
            free(word);
            return -ENOMEM;
        }
        l->at = at;
        l->room = room;
    }
    if (!word)
        return -ENOMEM;
    l->at[l->n++] = word;
    l->at[l->n] = NULL;
    return 0;
}

int word_list_add(struct word_list *l, const char *word)
{
    return take(l, strdup(word));
}

int word_list_addf(struct word_list *l, const char *format, ...)
{
    char *word = NULL;
    va_list ap;
    va_start(ap, format);
    if (vasprintf(&word, format, ap) < 0)
        word = NULL;
    va_end(ap);
    return take(l, word);
}

/* Copies the word at s, without its quotes, to `to`. Returns the text after it; NULL: a
 * quote is not closed. */
static const char *unquote(const char *s, char *to)
{
    char quote = '\0';
    for (; *s && (quote || !strchr(" \t\r\n", *s)); s++) {
        bool escapes =
            *s == '\\' && quote != '\'' && s[1] && (!quote || strchr("\"\\$`", s[1]));
        if (escapes)
            *to++ = *++s;
        else if (*s == quote)
            quote = '\0';
        else if (!quote && (*s == '\'' || *s == '"'))
            quote = *s;
        else
            *to++ = *s;
    }
    *to = '\0';
    return quote ? NULL : s;
}

int word_list_split(struct word_list *l, const char *line)
{
    int r = 0;
    char *word = malloc(strlen(line) + 1);
    while (r == 0 && word) {
        line += strspn(line, " \t\r\n");
        if (!*line || *line == '#')
            break;
        line = unquote(line, word);
        r = line ? word_list_add(l, word) : -EINVAL;
    }
    r = word ? r : -ENOMEM;
    free(word);
    return r;
}

void word_list_fini(struct word_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->at[i]);
    free(l->at);
    *l = (struct word_list){0};
}
