/* Converts jobs of other tools into specs for volt-submit -f: volt-submit --import. */
#ifndef VOLT_CLIENT_IMPORT_H
#define VOLT_CLIENT_IMPORT_H

/* Prints the jobs of this user in "crontab", "at" or "tsp", a spec per line. Times have
 * no equivalent: they become labels, and a message says so. Returns the exit code. */
int import_run(const char *what);

#endif
