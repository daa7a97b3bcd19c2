/* Recognises lists of commands or arguments in the style of other tools, mostly GNU
 * parallel: refuses them, and shows the line that works here. */
#ifndef VOLT_CLIENT_LIST_ADVICE_H
#define VOLT_CLIENT_LIST_ADVICE_H

#include "client/submit.h"

/* Prints that there is no command, and how to take one from a file or a pipe. Returns
 * -EINVAL. */
int list_advice_no_command(const struct submit_options *o);
/* Prints what the value of an option's letter means here that ends the options of another
 * tool. */
void list_advice_letter(const struct submit_options *o);
/* Prints how ids are written, if the command is a number. Returns whether it is. */
bool list_advice_number(const char *command);
/* Prints that an argument is no text that a job can have, and how its bytes can reach the
 * job. */
void list_advice_bytes(int argument);
/* Prints why the job does not fit into a message, if its command line is the reason;
 * returns whether it is. */
bool list_advice_too_long(const struct submit_options *o);
/* Warns, after a submission, of an argument that is usually meant for a shell. */
void list_advice_operators(const struct submit_options *o);
/* Returns false, after an error message, if the command has ::: or :::: as an argument,
 * or if a line of a list would be put unquoted into the text of a shell. */
bool list_advice_check(const struct submit_options *o);

#endif
