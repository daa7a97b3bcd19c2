/* Parses command-line options from a table (getopt_long), which also makes the --help
 * text. */
#ifndef VOLT_CLIENT_OPTIONS_H
#define VOLT_CLIENT_OPTIONS_H

#include "wire/address.h"

#include <stdbool.h>
#include <stddef.h>

/* An option. Tables end with help NULL. */
struct option_entry {
    const char *name; /* long name without dashes */
    int key;          /* its letter, or OPTION_LONG + n */
    const char *arg;  /* "NAME"; "[SEC]": optional (long form only); NULL: none */
    const char *help; /* one line, wrapped by options_print() */
};

#define OPTION_LONG 256 /* keys of options without a letter start here */

/* Option names of other programs: words between blanks, and the option here, or
 * OPTION_LEAVE_OUT with a reason. Tables end with words NULL. */
#define OPTION_LEAVE_OUT "leave it out"
struct option_elsewhere {
    const char *words, *ours;
};

enum { OPTION_END = -1, OPTION_BAD = -2 };

struct options {
    const struct option_entry *const *tables; /* NULL-terminated list of tables */
    int argc;
    char **argv;
    const struct option_elsewhere *elsewhere; /* NULL: none */
    /* Returns true if it explained an unknown option itself. NULL: not called. */
    bool (*explain)(const char *option, const char *value);
    bool stop_at_operand; /* the first word that is no option ends the options */
    bool started;
    const char *arg; /* argument of the option just returned; NULL: none */
};

/* Returns the next option's key; OPTION_END: argv[optind] is the first operand;
 * OPTION_BAD: the error, with a suggestion, was printed on standard error. */
int options_next(struct options *o);
/* Returns the option with that key; NULL: none. */
const struct option_entry *options_find(const struct options *o, int key);
/* Prints the table as two columns, in lines of at most 79 characters. */
void options_print(const struct option_entry *table);

/* Options of every command; options of voltctl. */
extern const struct option_entry options_connection[], options_admin[];
enum {
    OPTION_USER = OPTION_LONG + 1000,
    OPTION_SYSTEM,
    OPTION_ADDRESS,
    OPTION_CONTROL_ADDRESS,
    OPTION_ALL_USERS,
};

/* Takes an option of these tables. Returns whether it is one of them. */
bool options_connection_take(struct address_choice *choice, int key, const char *arg);
/* Adds addresses from the environment, where the command line gave none. */
void options_connection_finish(struct address_choice *choice);

#endif
