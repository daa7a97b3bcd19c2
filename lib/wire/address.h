/* Paths of voltd's sockets, for clients and for voltd.
 *
 *   system   /run/voltd/{voltd,control}.sock
 *   user     $XDG_RUNTIME_DIR/voltd/..., or /tmp/voltd-<uid>/... without that variable
 *
 * Everyone can write in /tmp. So the directory there is trusted only if it is ours and
 * closed to others (0700): another user who made it first would receive our jobs.
 *
 * Clients try the user's socket, then the one in the directory that the user's voltd has
 * linked, if it differs (wire/user_dirs.h), then the system's. An address, "unix:PATH" or
 * PATH, names the job socket. The control socket is "control.sock" beside it, unless it
 * has an address of its own. */
#ifndef VOLT_WIRE_ADDRESS_H
#define VOLT_WIRE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <volt/error.h>

#define ADDRESS_PATH_MAX 107 /* bytes of a socket path: sun_path less its NUL */

/* Exit status of a voltd whose directories another voltd uses. */
#define ADDRESS_EXIT_TAKEN 3

/* Most sockets that a client tries. */
#define ADDRESS_CANDIDATES 3

enum address_scope {
    ADDRESS_ANY = 0, /* the user's, then the system's */
    ADDRESS_USER,
    ADDRESS_SYSTEM,
};

enum address_endpoint {
    ADDRESS_JOBS = 0, /* voltd.sock */
    ADDRESS_CONTROL,  /* control.sock */
};

struct address {
    char path[ADDRESS_PATH_MAX + 1];
};

/* Options and environment of a client; NULL: not given. */
struct address_choice {
    enum address_scope scope;
    const char *jobs;    /* --address or VOLT_ADDRESS */
    const char *control; /* --control-address or VOLT_CONTROL_ADDRESS */
    bool admin;          /* --all-users: all calls go to the control socket */
};

/* Parses "unix:PATH" or "PATH". Returns 0; -EINVAL (empty, or another transport);
 * -ENAMETOOLONG. */
int address_parse(const char *text, struct address *ret, struct volt_error *err);

/* Writes the runtime directory of the user's voltd, which need not exist. Returns 0 or
 * -ENAMETOOLONG. */
int address_user_dir(char *buf, size_t size);

/* Checks that dir can be trusted: a directory, not a link, owned by this user, closed to
 * others. Returns 0; -EPERM with the reason; -errno of opening it. */
int address_check_dir(const char *dir, struct volt_error *err);

/* Fills list with the sockets to try, in order. Returns their number, at least 1; -EINVAL
 * or -ENAMETOOLONG with the reason for an unusable address. */
int address_candidates(const struct address_choice *choice, enum address_endpoint which,
                       struct address list[static ADDRESS_CANDIDATES],
                       struct volt_error *err);

/* Returns whether it is a socket of the system's voltd. */
bool address_is_system(const struct address *address);

/* Connects a blocking, close-on-exec socket, after address_check_dir() for a path in the
 * fallback directory below /tmp. Returns the descriptor, or -errno with the reason. */
int address_connect(const struct address *address, struct volt_error *err);

#endif
