/* volt-lock: runs any command with a lock of voltd, like flock(1). */
#ifndef VOLT_CLIENT_LOCK_H
#define VOLT_CLIENT_LOCK_H

#include "wire/address.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    LOCK_EXIT_BUSY = 1, /* unless -E sets another code */
    LOCK_EXIT_VOLT_FAILED = 125,
    LOCK_EXIT_NOT_EXECUTABLE = 126,
    LOCK_EXIT_NOT_FOUND = 127,
    LOCK_GO = -1, /* the options are valid */
};

struct lock_options {
    struct address_choice choice;
    const char *name;
    const char *mode;           /* as in org.voltd.locks */
    int64_t permits, capacity;  /* mode permits only; capacity 0: not given */
    bool waits;                 /* false: -n */
    bool has_timeout;           /* -w */
    uint64_t timeout_usec;
    uint64_t reconnect_usec;
    int busy_code;
    bool close, no_fork, verbose;
    bool no_autostart;
    const char *shell_text;     /* -c; NULL: argv */
    char **argv;                /* the command; NULL-terminated */
};

/* Parses the options into *o, which is zeroes. Returns LOCK_GO, or the exit code. */
int lock_parse(struct lock_options *o, int argc, char **argv);
/* Gets the lock and runs the command. Returns the exit code. */
int lock_run(const struct lock_options *o);

#endif
