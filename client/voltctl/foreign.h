/* Verbs of other programs, such as scontrol and pueue, and what to type here instead. */
#ifndef VOLT_CLIENT_VOLTCTL_FOREIGN_H
#define VOLT_CLIENT_VOLTCTL_FOREIGN_H

#include <stdbool.h>

/* Returns whether argv[0] is a verb of another program, after a message that names ours;
 * with its operands where they say which line is meant. argv ends with NULL. */
bool foreign_say(char *const *argv);

#endif
