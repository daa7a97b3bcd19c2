/* Lists of commands and of arguments as other tools take them, mostly GNU parallel:
 * refused with the line that works here. */
#ifndef VOLT_CLIENT_LIST_ADVICE_H
#define VOLT_CLIENT_LIST_ADVICE_H

#include "client/submit.h"

/* Says that there is no command, and how one comes from a file or a pipe. -EINVAL. */
int list_advice_no_command(const struct submit_options *o);
/* Says what the value of a letter is here that ends the options of another tool. */
void list_advice_letter(const struct submit_options *o);
/* Says of a command that is a number how ids are written. False: it is none. */
bool list_advice_number(const char *command);
/* Says that an argument cannot be a text of a job, and how its bytes reach one. */
void list_advice_bytes(int argument);
/* Says why one message has no room for the job, if its command line is to blame. */
bool list_advice_too_long(const struct submit_options *o);
/* Says of a job that was submitted which of its arguments is mostly meant for a shell. */
void list_advice_operators(const struct submit_options *o);
/* False, and said: the command has ::: or :::: as an argument, or a line of a list would
 * be put into the text of a shell as it is. */
bool list_advice_check(const struct submit_options *o);

#endif
