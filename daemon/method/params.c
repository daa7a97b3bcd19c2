/* See params.h. */
#include "daemon/method/params.h"

#include "daemon/method/job_json.h"
#include "daemon/submit/submit.h"
#include "wire/json.h"
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum volt_poll params_refuse(struct call *call, const struct field_error *err)
{
    if (err->code == -ENOMEM)
        return call_abort(call);
    return call_invalid_parameter(call, err->path, err->reason);
}

int params_borrow(struct call *call, const struct field *table, void *out)
{
    struct field_error err;
    int r = fields_read(table, call_parameters(call), 0, out, &err);

    if (r < 0)
        (void)params_refuse(call, &err);
    return r;
}

int params_read(struct call *call, const struct field *table, void *out)
{
    int r = params_borrow(call, table, out);

    call_parameters_read(call);
    return r;
}

/* The nearest replacement for each limit where jobs have no cgroup. */
static const char *const without_cgroup[] = {
    "`ulimit -v` before volt-submit limits the memory of each process",
    "`ulimit -v` before volt-submit limits the memory of each process",
    "nothing limits swap",
    "`ulimit -u` before volt-submit limits the processes of the user",
    "`taskset -c 0 COMMAND` runs on one CPU",
    "`nice COMMAND` runs behind others",
    "`ionice -c 3 COMMAND` uses disks that are idle"};

_Static_assert(sizeof(without_cgroup) / sizeof(without_cgroup[0]) == JOB_CGROUP_LIMITS,
               "a text each, in the order of SPEC_CGROUP");

/* Refuses limits where no keeper could have a cgroup for them. */
static int check_limits(const struct call *call, const struct job_spec *spec,
                        struct field_error *err)
{
    const uint32_t given = job_cgroup_given(&spec->cgroup);
    char field[32];

    if (!given || !job_kinds[spec->kind].is_process ||
        jobs_may_be_limited(call_service(call)->core))
        return 0;
    const int limit = __builtin_ctz(given);
    (void)snprintf(field, sizeof(field), "limits.%s", job_cgroup_names[limit]);
    return field_fail(
        err, field,
        "needs a cgroup for the job, which a voltd has only where systemd starts it: as "
        "the service of the system, or by `systemctl --user start voltd`. Without one %s",
        without_cgroup[limit]);
}

int check_rights(const struct call *call, const struct job_spec *spec,
                 struct field_error *err)
{
    const int r = check_limits(call, spec, err);

    if (r < 0)
        return r;
    if (spec->priority <= 0 || call_service(call)->user_mode ||
        auth_has(call_asker(call), AUTH_PRIORITY))
        return 0;
    return field_fail(
        err, "priority",
        "must be 0 or less: one above goes before the jobs of others, and only root, and "
        "administrators through control.sock, may give it");
}

static int parse_job_id(const char *text, struct job_key *key, struct field_error *err)
{
    if (job_key_parse(text, key) < 0 || key->attempt != 0)
        return field_fail(err, "", "must be a job, such as \"17\" or \"17_3\"");
    return 0;
}

int read_job_id(json_t *value, void *member, struct field_error *err)
{
    const char *text = field_string(value, "", err);

    return text ? parse_job_id(text, member, err) : -EINVAL;
}

static bool key_list_has(const struct key_list *list, uint64_t id, int64_t index)
{
    struct job_key key = {.id = id, .index = index};

    return bsearch(&key, list->keys, list->n, sizeof(key), job_key_compare) != NULL;
}

static void drop_repeated(struct key_list *list)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->n; i++)
        if (kept == 0 || job_key_compare(&list->keys[i], &list->keys[kept - 1]) != 0)
            list->keys[kept++] = list->keys[i];
    list->n = kept;
}

void key_list_sort(void *arg)
{
    struct key_list *list = arg;

    if (list->n > 1)
        qsort(list->keys, list->n, sizeof(*list->keys), job_key_compare);
    drop_repeated(list);
}

static bool in_order(const struct key_list *list)
{
    for (size_t i = 1; i < list->n; i++)
        if (job_key_compare(&list->keys[i - 1], &list->keys[i]) > 0)
            return false;
    return true;
}

static int read_job_ids(json_t *value, void *member, struct field_error *err)
{
    struct key_list *list = member;
    json_t *item;
    size_t i;

    if (!json_is_array(value))
        return field_fail(err, "", "must be an array of jobs");
    list->keys = calloc(json_array_size(value) + 1, sizeof(*list->keys));
    if (!list->keys)
        return field_no_memory(err);
    json_array_foreach(value, i, item)
    {
        char path[32];

        if (read_job_id(item, &list->keys[i], err) == 0)
            continue;
        (void)snprintf(path, sizeof(path), "[%zu]", i);
        field_prefix(err, path);
        return -EINVAL;
    }
    list->n = json_array_size(value);
    if (!in_order(list)) /* mostly in order: ids given one after the other */
        qsort(list->keys, list->n, sizeof(*list->keys), job_key_compare);
    drop_repeated(list);
    return 0;
}

int expect_job_ids(json_t *value, void *member, struct field_error *err)
{
    *(bool *)member = true;
    return json_is_array(value) ? 0 : field_fail(err, "", "must be an array of jobs");
}

static void refuse_id(struct call *call, size_t i, struct field_error *err)
{
    char path[32];

    (void)snprintf(path, sizeof(path), "ids[%zu]", i);
    field_prefix(err, path);
    (void)params_refuse(call, err);
}

/* Takes the next id. 1; 0: no more; negative: the call has been answered, or closed if
 * the list is not JSON, like any such message. */
static int next_id(struct call *call, struct key_list *list)
{
    char word[JOB_KEY_TEXT_MAX];
    struct field_error err;
    json_t *item;
    int n = 1, r;

    if (call_list_next_word(call, word, sizeof(word))) {
        r = parse_job_id(word, &list->keys[list->n], &err);
    } else {
        n = call_list_next(call, &item);
        if (n == -EINVAL || n == -ENOMEM)
            (void)call_abort(call);
        if (n == 0 || n == -EINVAL || n == -ENOMEM)
            return n;
        r = n < 0 ? field_fail(&err, "",
                               "needs more memory to be parsed than "
                               "MaxParseMemory=")
                  : read_job_id(item, &list->keys[list->n], &err);
        if (n > 0)
            json_decref(item);
    }
    if (r < 0)
        refuse_id(call, list->n, &err);
    return r < 0 ? r : n;
}

enum volt_poll ids_poll(struct volt_cx *cx, struct call *call, struct ids_reader *r,
                        int *ret)
{
    struct key_list *list = &r->list;

    if (!list->keys) {
        list->keys = calloc(call_list_size(call) + 1, sizeof(*list->keys));
        if (!list->keys) {
            (void)call_abort(call);
            *ret = -ENOMEM;
            return VOLT_READY;
        }
        r->held = call_list_size(call) * sizeof(*list->keys);
        call_holds(call, r->held);
    }
    while (call_turn_poll(cx, call) == VOLT_READY) {
        int n = *ret = next_id(call, list);

        if (n == 0 && r->unsorted && !r->as_given)
            volt_block_in_place(cx, key_list_sort, list);
        if (n == 0) {
            drop_repeated(list);
            call_parameters_read(call);
        }
        if (n <= 0)
            return VOLT_READY;
        list->n++;
        r->unsorted |= list->n > 1 && job_key_compare(&list->keys[list->n - 2],
                                                      &list->keys[list->n - 1]) > 0;
    }
    return VOLT_PENDING;
}

void ids_fini(struct call *call, struct ids_reader *r)
{
    free(r->list.keys);
    call_gives_back(call, r->held);
    *r = (struct ids_reader){.held = 0};
}

/* --- submissions -------------------------------------------------------------------- */

enum volt_poll submission_poll(struct volt_cx *cx, struct call *call,
                               struct jobs_submit *leaf)
{
    if (call_turn_poll(cx, call) == VOLT_PENDING)
        return VOLT_PENDING;
    leaf->quota = call_quota(call);
    return jobs_submit_poll(cx, leaf);
}

uint64_t job_wish_fields(const struct job_wish *w)
{
    return w->names ? w->fields : JOB_ALL_FIELDS;
}

uint64_t job_wish_spec(const struct job_wish *w)
{
    return w->names_spec ? w->spec_fields : w->with_spec ? SPEC_ALL_FIELDS : 0;
}

/* Long fields of a spec are rarely asked for. */
enum query_specs job_wish_walk(uint64_t spec)
{
    return spec & (UINT64_C(1) << SPEC_FIELD_env | UINT64_C(1) << SPEC_FIELD_input |
                   UINT64_C(1) << SPEC_FIELD_script | UINT64_C(1) << SPEC_FIELD_limits)
               ? QUERY_SPECS_WHOLE
               : QUERY_SPECS_BRIEF;
}

/* --- filters ------------------------------------------------------------------------ */

#define GLOB_MAX 255 /* bytes, like a name */

const char *const filter_result_names[] = {
    "success", "exit",         "signal",  "timeout",    "exec_failed", "cancelled",
    "lost",    "output_limit", "expired", "dependency", "oom",         "failed",
    NULL};
_Static_assert(sizeof(filter_result_names) / sizeof(char *) == JOB_RESULT_COUNT + 1,
               "all of them, and failed");
#define FAILED_BIT (UINT32_C(1) << (JOB_RESULT_COUNT - 1))

static int more_labels(struct filter *f, size_t n, struct field_error *err)
{
    struct job_label *grown =
        reallocarray(f->labels, f->nlabels + n + 1, sizeof(*f->labels));

    if (!grown)
        return field_no_memory(err);
    f->labels = grown;
    return 0;
}

/* Adds a label, for which there is room; value NULL: any. */
static int add_label(struct filter *f, const char *name, const char *value,
                     struct field_error *err)
{
    struct job_label *l = &f->labels[f->nlabels++];

    *l = (struct job_label){.name = strdup(name), .value = value ? strdup(value) : NULL};
    return l->name && (l->value || !value) ? 0 : field_no_memory(err);
}

static int read_labels(json_t *value, void *member, struct field_error *err)
{
    struct filter *f =
        (struct filter *)((char *)member - offsetof(struct filter, labels));
    const char *name;
    json_t *item;
    int r;

    if (!json_is_object(value))
        return field_fail(err, "", "must be an object of strings");
    r = more_labels(f, json_object_size(value), err);
    json_object_foreach(value, name, item)
    {
        const char *text = r < 0 ? NULL : field_string(item, name, err);

        if (!text)
            return -EINVAL;
        r = add_label(f, name, text, err);
    }
    return r;
}

static int read_label_names(json_t *value, void *member, struct field_error *err)
{
    struct filter *f =
        (struct filter *)((char *)member - offsetof(struct filter, labels));
    json_t *item;
    size_t i;
    int r;

    if (!json_is_array(value))
        return field_fail(err, "", "must be an array of strings");
    r = more_labels(f, json_array_size(value), err);
    json_array_foreach(value, i, item)
    {
        const char *name = r < 0 ? NULL : field_string(item, "", err);

        if (!name)
            return -EINVAL;
        r = add_label(f, name, NULL, err);
    }
    return r;
}

static int read_glob(json_t *value, void *member, struct field_error *err)
{
    const char *text = field_string(value, "", err);

    if (!text)
        return -EINVAL;
    if (strlen(text) > GLOB_MAX)
        return field_fail(err, "", "must be at most 255 bytes long");
    *(char **)member = strdup(text);
    return *(char **)member ? 0 : field_no_memory(err);
}

const struct field filter_fields[] = {
    FIELD(struct filter, ids, FIELD_CUSTOM, .read = read_job_ids),
    FIELD(struct filter, states, FIELD_SET, .names = job_state_names,
          .present = FIELD_PRESENT(struct filter, has_states)),
    /* Starts at the second result: the first is "none yet". */
    FIELD(struct filter, results, FIELD_SET, .names = filter_result_names,
          .present = FIELD_PRESENT(struct filter, has_results)),
    FIELD(struct filter, user, FIELD_STRDUP),
    FIELD(struct filter, name, FIELD_STRDUP),
    FIELD(struct filter, name_glob, FIELD_CUSTOM, .read = read_glob),
    FIELD(struct filter, queue, FIELD_STRDUP),
    FIELD(struct filter, labels, FIELD_CUSTOM, .read = read_labels),
    FIELD_AS(struct filter, labels, "has_labels", FIELD_CUSTOM, .read = read_label_names),
    FIELD(struct filter, submitted_since_usec, FIELD_INT, .min = 1, .max = INT64_MAX),
    FIELD(struct filter, submitted_until_usec, FIELD_INT, .min = 1, .max = INT64_MAX),
    FIELD(struct filter, orphans, FIELD_BOOL),
    FIELD(struct filter, elements, FIELD_BOOL),
    {.name = NULL},
};

void filter_fini(struct filter *f)
{
    free(f->ids.keys);
    for (size_t i = 0; i < f->nlabels; i++) {
        free(f->labels[i].name);
        free(f->labels[i].value);
    }
    free(f->labels);
    free(f->user);
    free(f->name);
    free(f->name_glob);
    free(f->queue);
    *f = (struct filter){.states = 0};
}

static size_t text_size(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

size_t filter_size(const struct filter *f)
{
    size_t n = f->ids.n * sizeof(*f->ids.keys) + f->nlabels * sizeof(*f->labels);

    for (size_t i = 0; i < f->nlabels; i++)
        n += text_size(f->labels[i].name) + text_size(f->labels[i].value);
    return n + text_size(f->user) + text_size(f->name) + text_size(f->name_glob) +
           text_size(f->queue);
}

/* Replaces an empty set that was given by an unused bit: 0 would match all. */
static uint32_t set_bits(bool given, uint32_t set)
{
    return given && !set ? UINT32_C(1) << 31 : set;
}

static uint32_t with_groups(uint32_t results)
{
    uint32_t each = FAILED_BIT - 1;

    return results & FAILED_BIT ? (results & each) | JOB_FAILED_RESULTS >> 1 : results;
}

/* Look-up of a user, which may ask another machine. */
struct user_question {
    const char *name;
    uid_t uid;
    int error;
};

static void ask_for_user(void *arg)
{
    struct user_question *q = arg;
    char memory[16384];
    struct passwd entry, *found = NULL;

    q->error = -getpwnam_r(q->name, &entry, memory, sizeof(memory), &found);
    if (found)
        q->uid = found->pw_uid;
    else if (q->error == 0)
        q->error = -ENOENT;
}

int user_resolve(struct volt_cx *cx, struct call *call, const char *parameter,
                 const char *user, uid_t *ret)
{
    struct user_question q = {.name = user};
    const size_t digits = strspn(user, "0123456789");

    if (digits > 0 && digits <= 10 && !user[digits] &&
        strtoull(user, NULL, 10) < (uid_t)-1) {
        *ret = (uid_t)strtoull(user, NULL, 10);
        return 0;
    }
    volt_block_in_place(cx, ask_for_user, &q);
    *ret = q.uid;
    if (q.error == 0)
        return 0;
    (void)call_invalid_parameter(call, parameter,
                                 "must be a uid, or the name of a user of this machine");
    return -EINVAL;
}

int filter_resolve(struct volt_cx *cx, struct call *call, struct filter *f, bool elements)
{
    if (f->elements && !elements) {
        (void)call_invalid_parameter(call, "filter.elements",
                                     "is for List: other methods take arrays as a whole, "
                                     "or the ids of elements");
        return -EINVAL;
    }
    f->of_user = f->user != NULL;
    return f->user ? user_resolve(cx, call, "filter.user", f->user, &f->uid) : 0;
}

struct job_filter filter_for_query(const struct filter *f)
{
    return (struct job_filter){
        .states = set_bits(f->has_states, (uint32_t)f->states),
        .results = set_bits(f->has_results, with_groups((uint32_t)f->results) << 1),
        .of_user = f->of_user,
        .uid = f->uid,
        .name = f->name,
        .name_glob = f->name_glob,
        .queue = f->queue,
        .labels = f->labels,
        .nlabels = f->nlabels,
        .keys = f->ids.keys,
        .nkeys = f->ids.n,
        .since_usec = f->submitted_since_usec,
        .until_usec = f->submitted_until_usec,
        .orphans = f->orphans,
        .elements = f->elements,
    };
}

/* Returns whether the ids have the key, or that of its array. */
static bool wants_key(const struct filter *f, const struct job_key *key)
{
    return !f->ids.keys || key_list_has(&f->ids, key->id, JOB_NO_INDEX) ||
           key_list_has(&f->ids, key->id, key->index);
}

bool filter_needs_job(const struct filter *f)
{
    return f->orphans || f->name || f->name_glob || f->queue || f->nlabels ||
           f->submitted_since_usec || f->submitted_until_usec;
}

int filter_wants(const struct filter *f, struct call *call, const struct job_news *ev)
{
    const struct job_filter rest = filter_for_query(f);
    struct core *core = call_service(call)->core;

    if (!wants_key(f, &ev->key))
        return 0;
    if (rest.states && !(rest.states & UINT32_C(1) << ev->state))
        return 0;
    if (rest.results && !(rest.results & UINT32_C(1) << ev->end.result))
        return 0;
    if (rest.of_user && rest.uid != ev->owner)
        return 0;
    if (!filter_needs_job(f))
        return 1;
    bool ahead = query_log_ahead(core); /* asked first: the job may enter in between */
    int r = query_wants(core, call_asker(call), &ev->key, &rest, call_quota(call));
    return r == -ENOENT && ahead ? -EAGAIN : r;
}

/* --- errors ------------------------------------------------------------------------- */

enum volt_poll no_such_job(struct call *call, const char *error,
                           const struct job_key *key)
{
    return call_error(call, error,
                      json_pack("{s:o}", "id", job_id_to_json(key->id, key->index)));
}

enum volt_poll shutting_down(struct call *call)
{
    return call_error(call, "org.voltd.jobs.ShuttingDown",
                      json_pack("{s:s}", "reason", "voltd is shutting down"));
}

enum volt_poll no_answer(struct call *call, int error, const struct job_key *key)
{
    const char *why =
        error == -EBADMSG
            ? "the store is damaged: voltd --check-store, run as voltd is, says where"
            : "the disk of the store cannot be read";

    if (error == -ENOENT)
        return no_such_job(call, "org.voltd.jobs.NoSuchJob", key);
    if (error == -ENOMEM)
        return call_abort(call);
    return call_error(call, "org.voltd.jobs.StoreUnavailable",
                      json_pack("{s:s}", "reason", why));
}

int look_or_refuse(struct volt_cx *cx, struct call *call, const struct job_key *key,
                   struct job_view *ret)
{
    int r = query_look(cx, call_service(call)->core, call_asker(call), key->id,
                       key->index, ret);

    call_did(call, 1, r < 0 ? 0 : ret->unpacked);
    if (r < 0)
        (void)no_answer(call, r, key);
    return r;
}
