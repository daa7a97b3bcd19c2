/* Command-line options from one table: parsing (getopt_long) and the
 * --help text agree. */
#ifndef VOLT_CLIENT_OPTIONS_H
#define VOLT_CLIENT_OPTIONS_H

#include "wire/address.h"

#include <stdbool.h>
#include <stddef.h>

/* One option. Tables end with help NULL. */
struct option_entry {
    const char *name; /* long name without dashes */
    int key;          /* its letter, or OPTION_LONG + n */
    const char *arg;  /* "NAME"; "[SEC]" optional (long form only); NULL: none */
    const char *help; /* one line, which options_print() wraps */
};

#define OPTION_LONG 256 /* keys without a letter start here */

/* What other programs call an option: words between blanks, and what to write here, or
 * OPTION_LEAVE_OUT with the reason. Tables end with words NULL. */
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
    /* NULL, or it may say itself what is wrong with an option that is not known: true */
    bool (*explain)(const char *option, const char *value);
    bool stop_at_operand; /* the first word that is no option ends them */
    bool started;
    const char *arg; /* of the option just returned; NULL when none */
};

/* The next option's key; OPTION_END: argv[optind] is the first operand; OPTION_BAD: said
 * on standard error what is wrong, with a suggestion. */
int options_next(struct options *o);
/* The option with that key; NULL: there is none. */
const struct option_entry *options_find(const struct options *o, int key);
/* Prints the table as two columns, in lines of at most 79 characters. */
void options_print(const struct option_entry *table);

/* The options that every command has; and that of voltctl. */
extern const struct option_entry options_connection[], options_admin[];
enum {
    OPTION_USER = OPTION_LONG + 1000,
    OPTION_SYSTEM,
    OPTION_ADDRESS,
    OPTION_CONTROL_ADDRESS,
    OPTION_ALL_USERS,
};

/* Takes in an option of these tables; true when it was one. */
bool options_connection_take(struct address_choice *choice, int key, const char *arg);
/* Adds what the environment says where the command line said nothing. */
void options_connection_finish(struct address_choice *choice);

#endif
