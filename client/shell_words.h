/* Words as they are typed into a shell. */
#ifndef VOLT_CLIENT_SHELL_WORDS_H
#define VOLT_CLIENT_SHELL_WORDS_H

#include "wire/buffer.h"

/* Appends the word, quoted if a shell would make something else of it: 'a b', or $'a\tb'
 * where a character in it cannot be shown (bash, zsh, ksh and POSIX 2024 know that). No
 * NUL is appended. 0; -ENOMEM. */
int shell_word(struct wire_buf *to, const char *word);

#endif
