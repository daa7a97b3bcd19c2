/* Parameters that several methods share: reading them, ids, filters, the usual errors. */
#ifndef VOLTD_METHOD_PARAMS_H
#define VOLTD_METHOD_PARAMS_H

#include "daemon/method/job_json.h"
#include "daemon/method/spec_json.h"
#include "daemon/call/method.h"
#include "daemon/submit/submit.h"
#include "wire/fields.h"

/* Fills *out by the table, whose fields borrow nothing: the parsed call is freed. 0;
 * negative: the call has been answered, and the poll function returns VOLT_READY. */
int params_read(struct call *call, const struct field *table, void *out);
/* The same where *out borrows; call_parameters_read() when it does no more. */
int params_borrow(struct call *call, const struct field *table, void *out);
/* The same for an error that was found elsewhere; returns VOLT_READY. */
enum volt_poll params_refuse(struct call *call, const struct field_error *err);

/* Whether the peer may submit it: a positive priority goes before the jobs of everybody
 * else (AUTH_PRIORITY) where voltd serves many. 0; -EINVAL with *err set. */
int check_rights(const struct call *call, const struct job_spec *spec,
                 struct field_error *err);

/* jobs_submit_poll(), counted in the turn. */
enum volt_poll submission_poll(struct volt_cx *cx, struct call *call,
                               struct jobs_submit *leaf);

/* One job or element: a struct job_key, attempt 0. */
int read_job_id(json_t *value, void *member, struct field_error *err);

/* A user by name, or by uid in decimal. 0; -EINVAL, and the call is answered. */
int user_resolve(struct volt_cx *cx, struct call *call, const char *parameter,
                 const char *user, uid_t *ret);

struct key_list {
    struct job_key *keys; /* in order of id and index, each once; for free() */
    size_t n;
};
/* In order, each once. Where there are many: within volt_block_in_place(). */
void key_list_sort(void *list);

/* The parameter `ids` of a method, a portion a turn: it is in the table with
 * expect_job_ids, of a bool that says that it is there, and taken from ids_poll() after
 * params_borrow(). READY with *ret: 0, and the parsed call is freed; or negative, and the
 * call has been answered. */
struct ids_reader { /* zero-initialised */
    struct key_list list;
    size_t held;   /* bytes that the call holds with it */
    bool as_given; /* the list stays in the order in which it came */
    bool unsorted;
};
int expect_job_ids(json_t *value, void *member, struct field_error *err);
enum volt_poll ids_poll(struct volt_cx *cx, struct call *call, struct ids_reader *r,
                        int *ret);
/* Frees the list. */
void ids_fini(struct call *call, struct ids_reader *r);

/* fields, with_spec and spec_fields of methods that tell jobs. */
struct job_wish {
    bool with_spec, names_spec,
        names; /* names: fields is given; names_spec: spec_fields */
    uint64_t fields, spec_fields;
};
#define JOB_WISH_FIELDS(type_, member_)                                                  \
    FIELD_AS(type_, member_.fields, "fields", FIELD_SET, .names = job_field_names,       \
             .present = FIELD_PRESENT(type_, member_.names)),                            \
        FIELD_AS(type_, member_.with_spec, "with_spec", FIELD_BOOL),                     \
        FIELD_AS(type_, member_.spec_fields, "spec_fields", FIELD_SET,                   \
                 .names = spec_field_names,                                              \
                 .present = FIELD_PRESENT(type_, member_.names_spec))
/* As job_write() takes them. */
uint64_t job_wish_fields(const struct job_wish *w);
uint64_t job_wish_spec(const struct job_wish *w);
/* What a walk needs that tells these fields of specs. */
enum query_specs job_wish_walk(uint64_t spec);

struct filter {
    struct key_list ids;
    struct job_label *labels;
    size_t nlabels;
    uint64_t states, results;     /* results: bit 0 is the first real one */
    bool has_states, has_results; /* an empty set was given, too */
    bool of_user;                 /* uid is there: filter_resolve() */
    uid_t uid;
    char *user, *name, *name_glob, *queue;
    uint64_t submitted_since_usec, submitted_until_usec;
    bool orphans, elements;
};
extern const struct field filter_fields[];
/* The results that a filter may ask for: all of job_result_names, and groups. */
extern const char *const filter_result_names[];
/* After it was read: the user by name. elements: it may ask for these. 0; -EINVAL, and
 * the call is answered. */
int filter_resolve(struct volt_cx *cx, struct call *call, struct filter *f,
                   bool elements);
void filter_fini(struct filter *f);
/* Bytes that it takes. */
size_t filter_size(const struct filter *f);
/* The same as core has it; borrows from f. */
struct job_filter filter_for_query(const struct filter *f);
/* 1: the event is of a job that the filter wants; 0: it is not, or of one that the
 * memory does not know any more; -EAGAIN: of one that it does not know yet. *ret_bytes:
 * of a spec that was unpacked for it. */
int filter_wants(const struct filter *f, struct core *core, const struct asker *asker,
                 const struct job_news *ev, size_t *ret_bytes);

/* error NoSuchJob of an interface. */
enum volt_poll no_such_job(struct call *call, const char *error,
                           const struct job_key *key);
/* The answer to a question that query_look() or query_walk_step() could not
 * answer. */
enum volt_poll no_answer(struct call *call, int error, const struct job_key *key);
/* One look of many, counted in the turn. 0, and the view is the caller's; negative: the
 * call is answered. */
int look_or_refuse(struct volt_cx *cx, struct call *call, const struct job_key *key,
                   struct job_view *ret);

#endif
