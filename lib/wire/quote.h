/* Quotes words for a shell. */
#ifndef VOLT_WIRE_QUOTE_H
#define VOLT_WIRE_QUOTE_H

#include "wire/buffer.h"

/* Appends the word for a POSIX shell: as it is, or in '...' if the shell would change it.
 * Appends no NUL. Returns 0 or -ENOMEM. */
int wire_quote_word(struct wire_buf *to, const char *word);

#endif
