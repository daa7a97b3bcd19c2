/* Many specs from one input: NDJSON (an object per line), or a JSON array of objects.
 *
 * The whole input is read and checked before the first submission, so a mistake in the
 * last line leaves no half batch. Entries are then sent in messages below the limits of
 * one. A message is sent when voltd has taken the one before: where voltd meets a limit,
 * the first entries are taken, and none behind. With local names all go in one message,
 * as the names are valid only within it. */
#ifndef VOLT_CLIENT_BATCH_H
#define VOLT_CLIENT_BATCH_H

#include "client/client.h"

#include <stdio.h>

struct batch_entry {
    size_t offset, len; /* in the input */
    unsigned line;      /* first line of the entry, from 1 */
};

struct batch {
    char *text;
    size_t len;
    struct batch_entry *entries;
    size_t count, room;
    bool is_array; /* the input is a JSON array */
    bool named; /* an entry has or uses a local name: all entries go in one message, all
                 * or none */
    bool tries; /* an entry has retries */
    bool keyed; /* an entry has a key */
};

/* Reads the input and splits it into entries; ignores a byte order mark. Returns:
 *   0
 *   -EINVAL  "line N: reason"; err has one line
 *   -EFBIG, -ENOMEM, or an errno of reading */
int batch_read(struct batch *b, FILE *in, struct volt_error *err);
void batch_fini(struct batch *b);

/* Returns entry i as an object, new reference. Members that it lacks come from
 * `defaults`; env is merged by variable. NULL: err has the reason. */
json_t *batch_spec(const struct batch *b, size_t i, const json_t *defaults,
                   struct volt_error *err);

struct batch_sink {
    /* Called for each accepted entry; id is borrowed. */
    void (*accepted)(void *arg, const char *id);
    void (*rejected)(void *arg, unsigned line, const char *parameter, const char *reason);
    void (*durable)(void *arg, bool durable);
    /* Called for the entry that voltd did not take for now, nor any behind it. Its own
     * refusal is reported before, unless that is *error of batch_submit(). */
    void (*stopped)(void *arg, size_t entry);
    void *arg;
};

/* Submits all entries. With local names, sink->rejected is called for the entries at
 * fault. Returns:
 *   0
 *   1        *error is an error reply about the whole call: nothing more was sent
 *   -EFBIG   it has local names, and does not fit into one message
 *   other    as client_call() */
int batch_submit(const struct batch *b, const json_t *defaults, struct client *c,
                 const struct batch_sink *sink, struct client_reply *error);

#endif
