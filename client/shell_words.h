/* Quotes words for a shell. */
#ifndef VOLT_CLIENT_SHELL_WORDS_H
#define VOLT_CLIENT_SHELL_WORDS_H

#include "wire/buffer.h"

/* Appends the word, quoted if a shell would change it: 'a b', or $'a\tb' for characters
 * that cannot be shown (known to bash, zsh, ksh and POSIX 2024). Appends no NUL. Returns
 * 0 or -ENOMEM. */
int shell_word(struct wire_buf *to, const char *word);

#endif
