/* libvoltclient: a synchronous Varlink client of voltd.
 *
 * One struct client is one connection. Calls may be pipelined: client_send() several,
 * then client_receive() their replies in the same order. Sending never deadlocks against
 * a daemon that answers before it reads on: while the socket takes no more bytes, replies
 * are read into memory. One thread at a time.
 *
 * A message is one JSON object and one NUL byte. */
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
    int fd;             /* came with the reply, or -1; owned by the reply */
};

#define CLIENT_REPLY_EMPTY ((struct client_reply){.fd = -1})

/* Releases what a reply holds and empties it. */
void client_reply_fini(struct client_reply *reply);

/* What became of looking for a daemon: every path tried, and why not, a line each. */
struct client_tried {
    char text[1024];
    bool absent;    /* nothing listens on any of them */
    bool forbidden; /* one of them is there, and not for this user */
    bool named;     /* an address was given: there is no other */
    bool system;    /* only that of the system was looked for */
};

/* Connects to the first socket that answers; to the job socket where the control socket
 * is for administrators, and the user is none. 0; -EINVAL or -ENAMETOOLONG for an
 * unusable address; otherwise the errno of the first one tried. */
int client_open(const struct address_choice *choice, enum address_endpoint which,
                struct client **ret, struct client_tried *tried);
/* Whether this is the answer of a voltd that has as many connections as it may have. */
bool client_is_full(const struct client_reply *reply);
/* Another connection to the socket of c, which client_open() opened. 0; negative with the
 * reason. */
int client_open_same(const struct client *c, struct client **ret, struct volt_error *err);
/* Takes fd, a connected stream socket. Returns NULL when out of memory (fd is closed). */
struct client *client_new(int fd);
void client_free(struct client *c); /* NULL allowed */

/* While fd is readable client_receive() returns -EINTR (a signalfd, say). -1: none. */
void client_set_interrupt_fd(struct client *c, int fd);
/* While nobody reads fd any more (a pipe), client_receive() returns -EPIPE. -1: none. */
void client_set_output_fd(struct client *c, int fd);
/* Called when a call has had no answer for 5 s; it is waited for all the same.
 * NULL: none. */
void client_set_silence(struct client *c, void (*fn)(void));
/* The path of the socket that client_open() found; borrowed. */
const char *client_socket(const struct client *c);
/* Whether the daemon runs for this user alone: neither the system's nor that of another
 * user. */
bool client_is_own(const struct client *c);
/* The account that the daemon runs as, as far as can be seen. */
uid_t client_account(const struct client *c);
/* Whether the connection has ended without a whole call of ours having been read: the
 * first one may be made again on another connection, and is not made twice by that. */
bool client_is_unheard(const struct client *c);
/* For poll(): readable means that client_receive() may have something. Borrowed. */
int client_fd(const struct client *c);

/* Sends one call; takes parameters, also on failure (NULL: none). 0; -ECONNRESET when the
 * daemon is gone; -ENOMEM. */
int client_send(struct client *c, const char *method, json_t *parameters, unsigned flags);
/* Waits up to timeout_usec for the next reply and fills the empty *ret. 1; 0: time is up;
 * -EINTR, -EPIPE: see above; -ECONNRESET: the daemon is gone; -EPROTO: no Varlink;
 * -ENOMEM. */
int client_receive(struct client *c, uint64_t timeout_usec, struct client_reply *ret);
/* Send and receive one reply. 0, or negative as above. */
int client_call(struct client *c, const char *method, json_t *parameters,
                struct client_reply *ret);
/* The same with a descriptor that goes with the call; borrows it. */
int client_call_fd(struct client *c, const char *method, json_t *parameters, int fd,
                   struct client_reply *ret);
/* The second half of client_call(). */
int client_answer(struct client *c, struct client_reply *ret);

/* A long list of a reply, as text: parsing it takes far longer than reading it. */
struct client_list {
    const char *name; /* the parameter that is an array */
    char *text;       /* its inside, which may be written to, until the connection is used
                       * again; NULL: it is among the parameters, or is not there */
    size_t len;
};

/* client_answer(); the parameters of the reply have an empty array in place of the list,
 * where its name is spelt without escapes. */
int client_answer_list(struct client *c, struct client_list *list,
                       struct client_reply *ret);
/* The next value in such a text, from *at on, which moves on behind it: cut off with a
 * NUL. NULL: there is no more. */
char *client_list_next(const struct client_list *list, size_t *at);

/* Says what an error reply means, for people. */
void client_error_text(const struct client_reply *reply, char *buf, size_t size);
/* True for an error of that last name ("NoSuchJob"), whatever its interface. */
bool client_error_is(const struct client_reply *reply, const char *name);

#endif
