/* The parts of volt-submit: its options, and what it does with them. */
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
    json_t *spec;     /* the job; with a file, what its entries do not say themselves */
    json_t *env;      /* -E, in order; what else is passed on: submit_environment() */
    const char *file; /* -f, or --each-line: many jobs */
    bool each_line, null; /* null: whose entries end with a NUL byte */
    const char *import;   /* NULL: none */
    char **argv; /* of this process, or `merged`; the command begins at [operands] */
    int operands;
    struct word_list merged; /* with the options of a script */
    bool truncates, slurm;   /* as the script has it: script.h */
    char *script;            /* its text, if it is stored */
    const char *script_name; /* as it was given */
    bool by_path;
    bool no_env, all_env, no_limits, no_check, no_autostart, has_umask, reads_stdin;
    bool singleton;
    bool passes_env; /* the environment of this process is part of the spec */
    bool wait, follow, raw, json, quiet, dry_run;
    uint64_t reconnect_usec;
    uint64_t count; /* jobs of one spec: 1, or elements of the array */
};

/* SUBMIT_GO, or the code to exit with: after --help, or with the error said. */
int submit_parse(struct submit_options *o, int argc, char **argv);
/* The option that fills a member of the spec; NULL: none. */
const char *submit_option_of(const char *member, size_t len);
/* Completes the spec: puts the environment in, that of this process for a daemon of our
 * own or with --all-env, and over it what -E says; then looks for the command as the job
 * will, and for its paths as the account that it runs as. SUBMIT_GO, or the code to exit
 * with. */
int submit_environment(struct submit_options *o, bool own_daemon, uid_t account);
/* Says the command line again, with `instead` in the place of the command, behind what is
 * to stand before it. */
void submit_say_instead(const struct submit_options *o, const char *before,
                        const char *instead);
/* Frees what parsing made. */
void submit_options_fini(struct submit_options *o);
/* Opens and reads the batch of -f or --each-line. 0; negative with the error said. */
int submit_read_batch(const struct submit_options *o, struct batch *b);
/* Each returns the exit code. */
int submit_dry_run(struct submit_options *o);
int submit_run(struct submit_options *o);

#endif
