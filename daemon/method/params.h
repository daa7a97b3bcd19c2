/* Parameters that several methods share: reading them, ids, filters, common errors. */
#ifndef VOLTD_METHOD_PARAMS_H
#define VOLTD_METHOD_PARAMS_H

#include "daemon/method/job_json.h"
#include "daemon/method/spec_json.h"
#include "daemon/call/method.h"
#include "daemon/submit/submit.h"
#include "wire/fields.h"

/* Reads the parameters into *out by a table whose fields borrow nothing: the parsed call
 * is freed. 0; negative: the call has been answered, and poll returns VOLT_READY. */
int params_read(struct call *call, const struct field *table, void *out);
/* Like params_read(), but *out may borrow from the parameters. The caller frees them by
 * call_parameters_read() when *out no longer borrows. */
int params_borrow(struct call *call, const struct field *table, void *out);
/* Answers an error that was found elsewhere; returns VOLT_READY. */
enum volt_poll params_refuse(struct call *call, const struct field_error *err);

/* Checks that the peer may submit the spec: positive priorities need AUTH_PRIORITY where
 * voltd serves several users. 0; -EINVAL with *err set. */
int check_rights(const struct call *call, const struct job_spec *spec,
                 struct field_error *err);

/* Polls jobs_submit_poll() within the turn. */
enum volt_poll submission_poll(struct volt_cx *cx, struct call *call,
                               struct jobs_submit *leaf);

/* Reads a job or element: a struct job_key, attempt 0. */
int read_job_id(json_t *value, void *member, struct field_error *err);

/* Finds a user by name, or by uid in decimal. 0; -EINVAL, and the call is answered. */
int user_resolve(struct volt_cx *cx, struct call *call, const char *parameter,
                 const char *user, uid_t *ret);

struct key_list {
    struct job_key *keys; /* sorted by id and index, without repetitions; for free() */
    size_t n;
};
/* Sorts and removes repetitions; large lists within volt_block_in_place(). */
void key_list_sort(void *list);

/* Reads the parameter `ids` of a method, a portion per turn. The table has it with
 * expect_job_ids, a bool for whether it was given; ids_poll() takes the ids after
 * params_borrow(). READY: *ret is 0, and the parsed call is freed; or negative, and the
 * call has been answered. */
struct ids_reader { /* zero-initialised */
    struct key_list list;
    size_t held;   /* bytes booked on the call */
    bool as_given; /* keep the order given */
    bool unsorted;
};
int expect_job_ids(json_t *value, void *member, struct field_error *err);
enum volt_poll ids_poll(struct volt_cx *cx, struct call *call, struct ids_reader *r,
                        int *ret);
/* Frees the list. */
void ids_fini(struct call *call, struct ids_reader *r);

/* Parameters fields, with_spec and spec_fields of methods that show jobs. */
struct job_wish {
    bool with_spec, names_spec, names; /* fields was given; names_spec: spec_fields was */
    uint64_t fields, spec_fields;
};
#define JOB_WISH_FIELDS(type_, member_)                                                  \
    FIELD_AS(type_, member_.fields, "fields", FIELD_SET, .names = job_field_names,       \
             .present = FIELD_PRESENT(type_, member_.names)),                            \
        FIELD_AS(type_, member_.with_spec, "with_spec", FIELD_BOOL),                     \
        FIELD_AS(type_, member_.spec_fields, "spec_fields", FIELD_SET,                   \
                 .names = spec_field_names,                                              \
                 .present = FIELD_PRESENT(type_, member_.names_spec))
/* Return the sets for job_write(). */
uint64_t job_wish_fields(const struct job_wish *w);
uint64_t job_wish_spec(const struct job_wish *w);
/* Returns what a walk that shows these fields of specs needs. */
enum query_specs job_wish_walk(uint64_t spec);

struct filter {
    struct key_list ids;
    struct job_label *labels;
    size_t nlabels;
    uint64_t states, results;     /* results: bit 0 is the first real result */
    bool has_states, has_results; /* given, maybe empty */
    bool of_user;                 /* uid is set: by filter_resolve() */
    uid_t uid;
    char *user, *name, *name_glob, *queue;
    uint64_t submitted_since_usec, submitted_until_usec;
    bool orphans, elements;
};
extern const struct field filter_fields[];
/* Results that a filter may name: all of job_result_names, and groups. */
extern const char *const filter_result_names[];
/* Resolves the user name, after reading. elements: the filter may ask for elements. 0;
 * -EINVAL, and the call is answered. */
int filter_resolve(struct volt_cx *cx, struct call *call, struct filter *f,
                   bool elements);
void filter_fini(struct filter *f);
/* Returns the bytes allocated. */
size_t filter_size(const struct filter *f);
/* Returns the filter in core's form; borrows from f. */
struct job_filter filter_for_query(const struct filter *f);
/* Returns whether an event alone does not say that the filter wants its job. */
bool filter_needs_job(const struct filter *f);
/* Returns whether the filter wants the job of an event:
 *   1: yes
 *   0: no
 *   -ENOENT: memory no longer has the job
 *   -EAGAIN: memory does not have it yet */
int filter_wants(const struct filter *f, struct call *call, const struct job_news *ev);

/* Answers error NoSuchJob of an interface. */
enum volt_poll no_such_job(struct call *call, const char *error,
                           const struct job_key *key);
/* Answers error ShuttingDown: voltd is about to end, and nothing was taken. */
enum volt_poll shutting_down(struct call *call);
/* Answers a failure of query_look() or query_walk_step(). */
enum volt_poll no_answer(struct call *call, int error, const struct job_key *key);
/* Looks at one of many jobs, within the turn. 0, and the caller owns the view; negative:
 * the call is answered. */
int look_or_refuse(struct volt_cx *cx, struct call *call, const struct job_key *key,
                   struct job_view *ret);

#endif
