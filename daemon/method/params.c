/* See params.h. */
#include "daemon/method/params.h"

#include "daemon/method/job_json.h"
#include "daemon/method/signal_name.h"
#include "wire/json.h"
#include <errno.h>
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

int check_rights(const struct call *call, const struct job_spec *spec,
                 struct field_error *err)
{
    if (spec->priority <= 0 || call_service(call)->user_mode || call_is_admin(call))
        return 0;
    return field_fail(
        err, "priority",
        "must be 0 or less: one above goes before the jobs of others, and in "
        "system mode only root may give it");
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

int read_signal_name(json_t *value, void *member, struct field_error *err)
{
    const char *text = field_string(value, "", err);
    int n = text ? signal_from_name(text) : 0;

    if (!text)
        return -EINVAL;
    if (n < 0)
        return field_fail(err, "", "must be a signal, such as \"TERM\"");
    *(int *)member = n;
    return 0;
}

bool key_list_has(const struct key_list *list, uint64_t id, int64_t index)
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

static bool in_order(const struct key_list *list)
{
    for (size_t i = 1; i < list->n; i++)
        if (job_key_compare(&list->keys[i - 1], &list->keys[i]) > 0)
            return false;
    return true;
}

int read_job_ids(json_t *value, void *member, struct field_error *err)
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
    if (!in_order(list)) /* they mostly are: ids that were given one after the other */
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

/* The next id: 1; 0: there is none; negative: the call has been answered. As with any
 * message that is not JSON, a list that is not gets no answer. */
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

static void sort_keys(void *arg)
{
    struct key_list *list = arg;

    qsort(list->keys, list->n, sizeof(*list->keys), job_key_compare);
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

        if (n == 0 && r->unsorted)
            volt_block_in_place(cx, sort_keys, list);
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

/* --- filters ------------------------------------------------------------------------ */

static int read_labels(json_t *value, void *member, struct field_error *err)
{
    struct filter *f =
        (struct filter *)((char *)member - offsetof(struct filter, labels));
    const char *name;
    json_t *item;

    if (!json_is_object(value))
        return field_fail(err, "", "must be an object of strings");
    f->labels = calloc(json_object_size(value) + 1, sizeof(*f->labels));
    if (!f->labels)
        return field_no_memory(err);
    json_object_foreach(value, name, item)
    {
        const char *text = field_string(item, name, err);
        struct job_label *l = &f->labels[f->nlabels];

        if (!text)
            return -EINVAL;
        f->nlabels++;
        l->name = strdup(name);
        l->value = strdup(text);
        if (!l->name || !l->value)
            return field_no_memory(err);
    }
    return 0;
}

const struct field filter_fields[] = {
    FIELD(struct filter, ids, FIELD_CUSTOM, .read = read_job_ids),
    FIELD(struct filter, states, FIELD_SET, .names = job_state_names,
          .present = FIELD_PRESENT(struct filter, has_states)),
    /* From the second on: the first is "none yet". */
    FIELD(struct filter, results, FIELD_SET, .names = job_result_names + 1,
          .present = FIELD_PRESENT(struct filter, has_results)),
    FIELD(struct filter, name, FIELD_STRDUP),
    FIELD(struct filter, queue, FIELD_STRDUP),
    FIELD(struct filter, labels, FIELD_CUSTOM, .read = read_labels),
    FIELD(struct filter, submitted_since_usec, FIELD_INT, .min = 1, .max = INT64_MAX),
    FIELD(struct filter, submitted_until_usec, FIELD_INT, .min = 1, .max = INT64_MAX),
    FIELD(struct filter, orphans, FIELD_BOOL),
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
    free(f->name);
    free(f->queue);
    *f = (struct filter){.states = 0};
}

size_t filter_size(const struct filter *f)
{
    size_t n = f->ids.n * sizeof(*f->ids.keys) + f->nlabels * sizeof(*f->labels);

    for (size_t i = 0; i < f->nlabels; i++)
        n += strlen(f->labels[i].name) + strlen(f->labels[i].value) + 2;
    n += f->name ? strlen(f->name) + 1 : 0;
    return n + (f->queue ? strlen(f->queue) + 1 : 0);
}

/* An empty set becomes a bit that nothing has: 0 is everything. */
static uint32_t set_bits(bool given, uint32_t set)
{
    return given && !set ? UINT32_C(1) << 31 : set;
}

struct manager_filter filter_for_manager(const struct filter *f)
{
    return (struct manager_filter){
        .states = set_bits(f->has_states, f->states),
        .results = set_bits(f->has_results, f->results << 1),
        .name = f->name,
        .queue = f->queue,
        .labels = f->labels,
        .nlabels = f->nlabels,
        .keys = f->ids.keys,
        .nkeys = f->ids.n,
        .since_usec = f->submitted_since_usec,
        .until_usec = f->submitted_until_usec,
        .orphans = f->orphans,
    };
}

/* An array's own id stands for each of its elements. */
static bool wants_key(const struct filter *f, const struct job_key *key)
{
    return !f->ids.keys || key_list_has(&f->ids, key->id, JOB_NO_INDEX) ||
           key_list_has(&f->ids, key->id, key->index);
}

int filter_wants(const struct filter *f, struct manager *m, const struct job_owner *asker,
                 const struct job_news *ev)
{
    struct manager_filter rest = filter_for_manager(f);
    struct job_view view;
    bool wanted, ahead;

    if (!wants_key(f, &ev->key))
        return 0;
    if (rest.states && !(rest.states & UINT32_C(1) << ev->state))
        return 0;
    if (rest.results && !(rest.results & UINT32_C(1) << ev->result))
        return 0;
    if (!f->orphans && !f->name && !f->queue && !f->nlabels && !rest.since_usec &&
        !rest.until_usec)
        return 1;
    ahead = manager_log_ahead(m); /* asked first: it may enter in between */
    if (manager_get(m, asker, ev->key.id, ev->key.index, &view) < 0)
        return ahead ? -EAGAIN : 0;
    rest.states = rest.results = 0; /* those of the event count, not those of now */
    rest.orphans = f->orphans || view.orphan;
    wanted = manager_matches(&view, &rest);
    job_view_fini(&view);
    return wanted;
}

/* --- errors ------------------------------------------------------------------------- */

enum volt_poll no_such_job(struct call *call, const char *error,
                           const struct job_key *key)
{
    return call_error(call, error,
                      json_pack("{s:o}", "id", job_id_to_json(key->id, key->index)));
}

enum volt_poll no_answer(struct call *call, int error, const struct job_key *key)
{
    const char *why = error == -EBADMSG
                          ? "the store is damaged: voltd --check-store says where"
                          : "the disk of the store cannot be read";

    if (error == -ENOENT)
        return no_such_job(call, "org.voltd.jobs.NoSuchJob", key);
    if (error == -ENOMEM)
        return call_abort(call);
    return call_error(call, "org.voltd.jobs.StoreUnavailable",
                      json_pack("{s:s}", "reason", why));
}
