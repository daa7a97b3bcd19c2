/* The account that jobs run as, which is that of voltd: what a job gets whose spec has no
 * environment, or no directory. As from cron, not what voltd was started with. */
#ifndef VOLTD_RUN_ACCOUNT_H
#define VOLTD_RUN_ACCOUNT_H

struct account; /* immutable */

/* Asks the user database for all but the home, which is copied (NULL: none). state_dir is
 * no home for jobs (NULL: there is none). Returns new; NULL: out of memory. Blocks. */
struct account *account_open(const char *home, const char *state_dir);
void account_free(struct account *a); /* NULL allowed */

/* Its home; "/" where that is no directory, or the one in which voltd keeps its state. */
const char *account_home(const struct account *a);
/* HOME, LOGNAME, USER, SHELL, PATH, and LANG where voltd has it: "NAME=value", ends with
 * NULL. Without an entry in the user database LOGNAME and USER are missing. */
char *const *account_env(const struct account *a);

#endif
