/* Jobs of other tools as specs for volt-submit -f: volt-submit --import. */
#ifndef VOLT_CLIENT_IMPORT_H
#define VOLT_CLIENT_IMPORT_H

/* Prints what "crontab", "at" or "tsp" has of this user, a spec a line. Times have no
 * equal: they are labels, which is said. The exit code. */
int import_run(const char *what);

#endif
