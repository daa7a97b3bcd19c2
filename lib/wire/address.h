/* Where the sockets of voltd are: for its clients, and for voltd itself.
 *
 *   system   /run/voltd/{voltd,control}.sock
 *   user     $XDG_RUNTIME_DIR/voltd/..., or /tmp/voltd-<uid>/... without that variable
 *
 * /tmp belongs to everybody, so the directory there is trusted only when it is ours and
 * closed to others (0700): another user that could have made it would receive our jobs.
 *
 * Clients try the user's socket; that of the directory where the user's voltd says it
 * is, if it is another one (wire/user_dirs.h); then the system's. An address names the
 * job socket: "unix:PATH", or just PATH. The control socket is "control.sock" beside it
 * unless named itself. */
#ifndef VOLT_WIRE_ADDRESS_H
#define VOLT_WIRE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <volt/error.h>

#define ADDRESS_PATH_MAX 107 /* bytes of a socket path: sun_path less its NUL */

/* Exit status of a voltd whose directories another voltd uses. */
#define ADDRESS_EXIT_TAKEN 3

/* Sockets that a client may try. */
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

/* What a client was told; NULL members were not given. */
struct address_choice {
    enum address_scope scope;
    const char *jobs;    /* --address or VOLT_ADDRESS */
    const char *control; /* --control-address or VOLT_CONTROL_ADDRESS */
    bool admin;          /* --all-users: everything goes to the control socket */
};

/* Parses "unix:PATH" or "PATH". 0; -EINVAL (empty, another transport); -ENAMETOOLONG. */
int address_parse(const char *text, struct address *ret, struct volt_error *err);

/* Writes the runtime directory of the user's daemon, without looking whether it exists.
 * 0; -ENAMETOOLONG. */
int address_user_dir(char *buf, size_t size);

/* Checks that dir may be trusted: a directory, not a link, owned by this user, and closed
 * to others. 0; -ENOENT and the like of opening it; -EPERM with the reason. */
int address_check_dir(const char *dir, struct volt_error *err);

/* Fills list with the sockets to try, in order, and returns how many, at least 1; -EINVAL
 * or -ENAMETOOLONG with the reason for an address that cannot be used. */
int address_candidates(const struct address_choice *choice, enum address_endpoint which,
                       struct address list[static ADDRESS_CANDIDATES],
                       struct volt_error *err);

/* Whether it is a socket of the system's daemon. */
bool address_is_system(const struct address *address);

/* Connects a blocking, close-on-exec socket, after address_check_dir() where the path
 * lies in the fallback directory below /tmp. Returns the descriptor, or a negative errno
 * with the reason. */
int address_connect(const struct address *address, struct volt_error *err);

#endif
