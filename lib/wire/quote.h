/* Words for a shell. */
#ifndef VOLT_WIRE_QUOTE_H
#define VOLT_WIRE_QUOTE_H

#include "wire/buffer.h"

/* Appends the word as a POSIX shell takes it: as it is, or in '...' where the shell would
 * make something else of it. No NUL is appended. 0; -ENOMEM. */
int wire_quote_word(struct wire_buf *to, const char *word);

#endif
