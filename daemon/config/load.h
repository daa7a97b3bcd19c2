/* Shared by the files that read a configuration: its keys, and what is being read. */
#ifndef VOLT_DAEMON_CONFIG_LOAD_H
#define VOLT_DAEMON_CONFIG_LOAD_H

#include "daemon/config/config.h"

#include <stdio.h>

enum key_type {
    KEY_COUNT,   /* a whole number */
    KEY_SIZE,    /* bytes, with K, M, G */
    KEY_BYTES,   /* KEY_SIZE or "infinity" */
    KEY_SPAN,    /* a duration with units; a bare number is seconds */
    KEY_LIMIT,   /* KEY_SPAN or "infinity" */
    KEY_SWITCH,  /* on, off */
    KEY_MANY,    /* KEY_COUNT or "infinity" */
    KEY_PERCENT, /* a whole number and %, or "infinity" */
};

struct key {
    const char *section, *name;
    enum key_type type;
    size_t offset;
    uint64_t min, max, fallback;
    const char *help;
    bool needs_restart;
};

/* Receives all mistakes. */
struct report {
    config_tell_fn *tell;
    void *arg;
    int mistakes;
    size_t files;
};

struct load {
    FILE *file;
    const char *path;
    unsigned line; /* line of the assignment that inih handles */
    struct config *cfg;
    struct config_queues *queues;
    struct volt_error *err;
    struct report *report; /* NULL: the first error ends the load */
    int before;            /* mistakes found in earlier files */
    int status;            /* errno of the first error */
    bool over;             /* the rest of the file cannot be read */
    bool lost;             /* below a section header without ']' */
    char unknown[64];      /* an unknown section, which is reported once */
};

/* Reports a mistake. Returns status, or that of an earlier one that ended the load. */
__attribute__((format(printf, 3, 4))) int config_fail(struct load *l, int status,
                                                      const char *format, ...);
/* Returns the key, or NULL. */
const struct key *config_key(const char *section, const char *name);
/* Reads NUMBER. A size may end in B, K, M, G or T, which are powers of 1024. */
bool config_number(const char *text, bool is_size, uint64_t *ret);
/* Reads yes, on, true or 1; no, off, false or 0. */
bool config_flag(const char *text, uint64_t *ret);
/* Reads a value of the key. False: it is none. */
bool config_value(const struct key *k, const char *text, uint64_t *ret);

/* --- sections.c --------------------------------------------------------------------- */

/* Adds the queue of a section header: a section without a key makes a queue as well. */
void section_see(struct load *l, const char *line);
/* Handles an assignment in the section of a queue, or of the limits of a user or a group.
 * Returns 0; -EINVAL with the error reported; -ENOENT: it is another section. */
int section_assign(struct load *l, const char *section, const char *name,
                   const char *value);

#endif
