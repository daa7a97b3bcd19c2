/* libvoltclient: a synchronous Varlink client of voltd.
 *
 * A struct client is a connection. Calls may be pipelined: several client_send(), then
 * client_receive() for their replies in the same order. Sending never deadlocks with a
 * daemon that answers before it reads on: while the socket takes no bytes, replies are
 * read into memory. Used by a single thread at a time.
 *
 * A message is a JSON object and a NUL byte. */
#ifndef VOLT_CLIENT_CLIENT_H
#define VOLT_CLIENT_CLIENT_H

#include "wire/address.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <volt/error.h>

struct client;

#define CLIENT_FOREVER UINT64_MAX

enum client_flags {
    CLIENT_MORE = 1 << 0, /* a stream of replies */
};

struct client_reply {
    json_t *parameters; /* an object; owned by the reply */
    char *error;        /* "org.voltd.jobs.NoSuchJob", or NULL */
    bool continues;     /* more replies to this call follow */
    int fd;             /* descriptor of the reply, or -1; owned by the reply */
};

#define CLIENT_REPLY_EMPTY ((struct client_reply){.fd = -1})

/* Frees the contents of a reply, and empties it. */
void client_reply_fini(struct client_reply *reply);

/* The result of a search for a daemon: a line for each path tried, with the reason. */
struct client_tried {
    char text[1024];
    bool absent;    /* nothing listens on any path */
    bool forbidden; /* a path exists that this user may not use */
    bool named;     /* an address was given, so only that was tried */
    bool system;    /* only the system's path was tried */
};

/* Connects to the first socket that answers. If the control socket is only for
 * administrators and the user is none, connects to the job socket. Returns 0; -EINVAL or
 * -ENAMETOOLONG for an unusable address; otherwise the -errno of the first path tried. */
int client_open(const struct address_choice *choice, enum address_endpoint which,
                struct client **ret, struct client_tried *tried);
/* Returns whether the reply says that voltd has no place for another connection. */
bool client_is_full(const struct client_reply *reply);
/* Opens another connection to the socket of c, which client_open() made. Returns 0, or
 * negative with the reason. */
int client_open_same(const struct client *c, struct client **ret, struct volt_error *err);
/* Returns a new client that takes fd, a connected stream socket. NULL: no memory, and fd
 * is closed. */
struct client *client_new(int fd);
void client_free(struct client *c); /* NULL is allowed */

/* Makes client_receive() return -EINTR while fd (such as a signalfd) is readable. -1:
 * none. */
void client_set_interrupt_fd(struct client *c, int fd);
/* Makes client_receive() return -EPIPE once fd, a pipe, has no reader. -1: none. */
void client_set_output_fd(struct client *c, int fd);
/* Sets a function that is called when voltd has not answered a call for 5 s, or has sent
 * nothing in a stream for 60 s; the wait goes on. NULL: none. */
void client_set_silence(struct client *c, void (*fn)(unsigned sec));
/* Returns the path of the socket of client_open(); borrowed. */
const char *client_socket(const struct client *c);
/* Returns whether the daemon is this user's own: neither the system's nor another
 * user's. */
bool client_is_own(const struct client *c);
/* Returns whether the connection has ended before voltd read a whole call from it. Then
 * the first call can be sent again on another connection, and is not executed twice. */
bool client_is_unheard(const struct client *c);
/* Returns the descriptor for poll(), borrowed: if readable, client_receive() may have a
 * reply. */
int client_fd(const struct client *c);

/* Sends a call. Takes parameters, also on failure; NULL: none. Returns 0; -ECONNRESET:
 * the daemon is gone; -ENOMEM. */
int client_send(struct client *c, const char *method, json_t *parameters, unsigned flags);
/* Waits up to timeout_usec for the next reply and fills in *ret, which is empty. Returns:
 *   1
 *   0            the time is over
 *   -EINTR       the interrupt descriptor is readable
 *   -EPIPE       the output descriptor has no reader
 *   -ECONNRESET  the daemon is gone
 *   -EPROTO      the peer does not speak Varlink
 *   -ENOMEM */
int client_receive(struct client *c, uint64_t timeout_usec, struct client_reply *ret);
/* Sends a call and receives one reply. Takes parameters. Returns 0, or negative as
 * above. */
int client_call(struct client *c, const char *method, json_t *parameters,
                struct client_reply *ret);
/* Likewise, with a descriptor that goes with the call; borrows it. */
int client_call_fd(struct client *c, const char *method, json_t *parameters, int fd,
                   struct client_reply *ret);

/* A long list of a reply, as text: parsing it takes far longer than reading it. */
struct client_list {
    const char *name; /* the parameter that is an array */
    char *text;       /* its text without brackets, writable, valid until the next use of
                       * the connection; NULL: it is among the parameters, or missing */
    size_t len;
};

/* Receives the reply of a call that was sent: the second half of client_call(). list: is
 * an empty array in the parameters; NULL: no list stays text. A name spelt with escapes
 * is not recognised. */
int client_answer_list(struct client *c, struct client_list *list,
                       struct client_reply *ret);
/* Returns the next value of the list from *at on, NUL-terminated in place, and advances
 * *at. NULL: no more values. */
char *client_list_next(const struct client_list *list, size_t *at);

/* Writes for people what an error reply means. */
void client_error_text(const struct client_reply *reply, char *buf, size_t size);
/* Returns whether the error has that last name ("NoSuchJob"), in any interface. */
bool client_error_is(const struct client_reply *reply, const char *name);

#endif
