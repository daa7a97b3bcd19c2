/* volt-lock: a lock of voltd's around any command, with the manners of flock(1). */
#ifndef VOLT_CLIENT_LOCK_H
#define VOLT_CLIENT_LOCK_H

#include "wire/address.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    LOCK_EXIT_BUSY = 1, /* -E says otherwise */
    LOCK_EXIT_VOLT_FAILED = 125,
    LOCK_EXIT_NOT_EXECUTABLE = 126,
    LOCK_EXIT_NOT_FOUND = 127,
    LOCK_GO = -1, /* the options are good */
};

struct lock_options {
    struct address_choice choice;
    const char *name;
    const char *mode;           /* as org.voltd.locks has it */
    int64_t permits, capacity;  /* of mode permits; capacity 0: not said */
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

/* Fills *o, which is zeroes. LOCK_GO, or the code to exit with. */
int lock_parse(struct lock_options *o, int argc, char **argv);
/* Gets the lock and runs the command. Returns the code to exit with. */
int lock_run(const struct lock_options *o);

#endif
