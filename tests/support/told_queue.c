/* See told_queue.h. */
#include "tests/support/told_queue.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/core/state.h"
#include "daemon/store/reader.h"
#include "tests/support/unwell.h"

struct told_queue told;

static int append(struct store *s, const struct store_fact *facts, size_t n,
                  struct store_commit *commit)
{
    (void)s;
    (void)commit;
    if (told.refuses)
        return -ENOMEM;
    assert_int_equal(n, 1);
    assert_int_equal(facts->type, STORE_QUEUE);
    assert_string_equal(facts->queue.name, told.of);
    told.appends++;
    told.n = facts->queue.n;
    memcpy(told.numbers, facts->queue.numbers, told.n * sizeof(told.numbers[0]));
    return 0;
}

static void kick(struct store *s, bool patient)
{
    (void)s;
    assert_false(patient);
    told.kicks++;
}

static const struct store_log_ops taking = {
    .append = append, .kick = kick, .health = unwell_health};

void told_init(const char *of)
{
    told = (struct told_queue){.store.log = &taking, .of = of};
}

int told_change(struct core *core, struct queue_change *c)
{
    const unsigned kicks = told.kicks;
    struct tx tx;

    tx_init(&tx, core);
    int r = queues_change(&tx, told.of, c, NULL);
    tx_carry_out(&tx);
    assert_true(told.kicks == kicks + 1 || r < 0);
    core->held = (struct quota){0};
    return r;
}

int told_ask(struct core *core, enum queue_verb verb)
{
    return told_change(core, &(struct queue_change){.verb = verb});
}

void told_replay(struct core *core)
{
    const struct store_loaded_queue loaded = {told.of, told.numbers, told.n};

    assert_int_equal(queues_replay(core, &loaded), 0);
}

void told_tidy(struct core *core)
{
    struct tx tx;

    tx_init(&tx, core);
    queues_tidy(&tx);
    core->held = (struct quota){0};
}

int told_take(struct core *core, uid_t uid, gid_t gid, const char *queue,
              struct volt_error *err)
{
    char name[40];
    struct job_spec spec = {.queue = name};
    const struct job_owner owner = {uid, gid};

    (void)snprintf(name, sizeof(name), "%s", queue);
    return queues_take(core, &owner, &spec, err);
}

struct queue_allowed told_allow(const char *names, uid_t uid)
{
    struct queue_allowed a = {.uids = malloc(sizeof(uid)), .nuids = 1};

    assert_non_null(a.uids);
    a.uids[0] = uid;
    (void)snprintf(a.names, sizeof(a.names), "%s", names);
    return a;
}
