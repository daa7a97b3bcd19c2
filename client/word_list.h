/* A growing list of words, in the form of an argv. */
#ifndef VOLT_CLIENT_WORD_LIST_H
#define VOLT_CLIENT_WORD_LIST_H

#include <stddef.h>

struct word_list { /* zero-initialised is empty */
    char **at;     /* NULL-terminated, or NULL */
    size_t n, room;
};

/* Add a copy of a word, or a formatted word. Return 0 or -ENOMEM. */
int word_list_add(struct word_list *l, const char *word);
__attribute__((format(printf, 2, 3))) int word_list_addf(struct word_list *l,
                                                         const char *format, ...);
/* Adds the words of a line as a shell reads them: separated by blanks, with '...', "..."
 * and \; # begins a comment; $ and * mean nothing. Returns 0; -EINVAL: a quote is not
 * closed; -ENOMEM. */
int word_list_split(struct word_list *l, const char *line);
void word_list_fini(struct word_list *l);

#endif
