/* The parts of volt-submit: its options, and their execution. */
#ifndef VOLT_CLIENT_SUBMIT_H
#define VOLT_CLIENT_SUBMIT_H

#include "client/batch.h"
#include "client/word_list.h"
#include "wire/address.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    SUBMIT_GO = -1,           /* no exit yet */
    SUBMIT_EXIT_FAILED = 125, /* volt itself failed: options, no daemon, refused */
    SUBMIT_EXIT_NOT_EXECUTABLE = 126,
    SUBMIT_EXIT_NOT_FOUND = 127,
};

struct submit_options {
    struct address_choice choice;
    json_t *spec;         /* the job; with a file, defaults for its entries */
    json_t *env;          /* -E, in order; for the rest see submit_environment() */
    const char *file;     /* -f, or --each-line: many jobs */
    bool each_line, null; /* null: entries end with a NUL byte */
    const char *import;   /* NULL: none */
    char **argv; /* of this process, or `merged`; the command begins at [operands] */
    int operands;
    struct word_list merged; /* with the options of a script */
    bool truncates, slurm;   /* from the script: script.h */
    unsigned sum_line;       /* likewise */
    char open_mode[16];      /* likewise; "": none */
    char slurm_mem[32];      /* likewise; "": none, or another --mem counts */
    char *script;            /* its text, if it is stored */
    const char *script_name; /* as given on the command line; NULL: no script */
    bool no_env, all_env, no_limits, no_check, no_autostart, has_umask, reads_stdin;
    bool singleton;
    bool passes_env; /* the environment of this process is part of the spec */
    bool wait, follow, raw, json, quiet, dry_run;
    uint64_t reconnect_usec;
    uint64_t count; /* jobs of the spec: 1, or elements of the array */
};

/* Parses the options. Returns SUBMIT_GO, or the exit code after --help or an error
 * message. */
int submit_parse(struct submit_options *o, int argc, char **argv);
/* Completes the spec. Adds the environment of this process, for a daemon of our own or
 * with --all-env, and -E over it. Then checks the command as the job will find it, and
 * its paths. Returns SUBMIT_GO, or the exit code. */
int submit_environment(struct submit_options *o, bool own_daemon);
/* Prints the command line again, with `instead` in place of the command, after
 * `before`. */
void submit_say_instead(const struct submit_options *o, const char *before,
                        const char *instead);
/* Frees what submit_parse() made. */
void submit_options_fini(struct submit_options *o);
/* Reads the batch of -f or --each-line. Returns 0, or negative after an error message. */
int submit_read_batch(const struct submit_options *o, struct batch *b);
/* Return the exit code. */
int submit_dry_run(struct submit_options *o);
int submit_run(struct submit_options *o);

#endif
