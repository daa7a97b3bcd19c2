/* See journal.h. */
#include "daemon/journal.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>

#include "daemon/auth/auth.h"
#include "daemon/job/queue.h"
#include "daemon/job/spec.h"
#include "daemon/log/event_log.h"
#include "daemon/observe/log.h"
#include "daemon/query/query.h"
#include "daemon/sysd/sysd.h"

#define EVENTS 32 /* read per poll */
/* As in systemd/voltd.catalog: an end without success, and one for want of memory. */
#define MESSAGE_ID     "MESSAGE_ID=d38e74233a424525a048ac1679ee5237"
#define MESSAGE_ID_OOM "MESSAGE_ID=d53eb06f4bf7457bb12bbef65d9f2ad4"

struct journal {
    struct core *core;
    uint64_t cursor; /* number in the event log */
    struct subscriber subscriber;
    struct subscription of_log;
    uint64_t interval_began, left_out;
    unsigned told; /* entries of this interval */
};

/* --- one entry ---------------------------------------------------------------------- */

enum { MESSAGE, ID, PRIORITY, JOB, USER, RESULT, CODE, QUEUE, NAME, FIELDS };

struct entry {
    const struct job_news *end;
    const struct job_spec *spec; /* NULL: not known, as the job was purged */
    char text[FIELDS][320];
};

/* Writes the result, with the status or the signal that it came of: "exit 3". */
static void word_of(const struct job_end *end, char *buf, size_t size)
{
    const char *result = job_result_name((enum job_result)end->result);

    if (end->result == JOB_RESULT_OOM)
        (void)snprintf(buf, size, "%s, the kernel killed it for want of memory", result);
    else if ((end->result == JOB_RESULT_EXIT && end->code_is == JOB_CODE_STATUS) ||
             (end->result == JOB_RESULT_SIGNAL && end->code_is == JOB_CODE_SIGNAL))
        (void)snprintf(buf, size, "%s %d", result, (int)end->code);
    else
        (void)snprintf(buf, size, "%s", result);
}

static void fill(struct entry *e)
{
    const struct job_end *end = &e->end->end;
    const char *result = job_result_name((enum job_result)end->result);
    char id[JOB_KEY_TEXT_MAX], word[64], memory[4096];
    struct passwd entry, *user = NULL;

    (void)job_key_format_job(&e->end->key, id);
    word_of(end, word, sizeof(word));
    (void)getpwuid_r(e->end->owner, &entry, memory, sizeof(memory), &user);
#define FILL(field, ...)                                                                 \
    (void)snprintf(e->text[field], sizeof(e->text[field]), __VA_ARGS__)
    FILL(ID, "%s", end->result == JOB_RESULT_OOM ? MESSAGE_ID_OOM : MESSAGE_ID);
    FILL(PRIORITY, "PRIORITY=%d", LOG_LEVEL_NOTICE);
    FILL(JOB, "VOLT_JOB_ID=%s", id);
    FILL(RESULT, "VOLT_RESULT=%s", result);
    FILL(CODE, "VOLT_EXIT_CODE=%u", end->exit_code);
    if (user)
        FILL(USER, "VOLT_USER=%s", user->pw_name);
    else
        FILL(USER, "VOLT_USER=%u", (unsigned)e->end->owner);
    FILL(MESSAGE, "MESSAGE=job %s of %s ended: %s", id,
         e->text[USER] + sizeof("VOLT_USER=") - 1, word);
    if (e->spec)
        FILL(QUEUE, "VOLT_QUEUE=%s", e->spec->queue ? e->spec->queue : QUEUE_DEFAULT);
    if (e->spec && e->spec->name)
        FILL(NAME, "VOLT_NAME=%s", e->spec->name);
#undef FILL
}

/* Sends an entry; for volt_block_in_place(), as user lookup and journal may block. */
static void send_entry(void *arg)
{
    struct entry *e = arg;
    const char *fields[FIELDS];
    size_t n = 0;

    fill(e);
    for (int i = 0; i < FIELDS; i++)
        if (*e->text[i])
            fields[n++] = e->text[i];
    (void)sysd_journal_send(fields, n);
}

/* Returns a new reference to the spec, which only the store has after the job has left
 * memory. NULL: none. Of an element the store reads no other ones. */
static struct job_spec *spec_of(struct volt_cx *cx, struct core *core,
                                const struct job_key *key)
{
    const struct asker all = auth_voltd();
    struct job_spec *spec;
    struct job_view v;

    if (query_brief_spec(core, key->id, &spec, NULL) == 0)
        return spec;
    return query_look(cx, core, &all, key->id, key->index, &v) == 0 ? v.spec : NULL;
}

static void tell(struct volt_cx *cx, struct journal *j, const struct job_news *end)
{
    struct job_spec *spec = spec_of(cx, j->core, &end->key);
    struct entry e = {.end = end, .spec = spec};

    volt_block_in_place(cx, send_entry, &e);
    job_spec_unref(spec);
}

/* --- the task ----------------------------------------------------------------------- */

static bool may_tell(struct journal *j)
{
    const uint64_t now = volt_now_usec();

    if (now - j->interval_began >= JOURNAL_INTERVAL_USEC) {
        if (j->left_out)
            log_notice(
                "%llu ends without success are not in the journal: too many at a time",
                (unsigned long long)j->left_out);
        j->interval_began = now;
        j->told = 0;
        j->left_out = 0;
    }
    if (j->told == JOURNAL_BURST) {
        j->left_out++;
        return false;
    }
    j->told++;
    return true;
}

/* Returns whether there may be more events. */
static bool read_on(struct volt_cx *cx, struct journal *j)
{
    const struct asker all = auth_voltd();
    const uint64_t before = j->cursor;
    struct job_news events[EVENTS];
    uint64_t lost;
    const size_t n = event_log_read(query_log(j->core), &all, j->cursor, events, EVENTS,
                                    EVENTS, &j->cursor, &lost);

    j->left_out += lost;
    for (size_t i = 0; i < n; i++)
        if (events[i].state == JOB_DONE && events[i].end.result != JOB_RESULT_SUCCESS &&
            may_tell(j))
            tell(cx, j, &events[i]);
    return j->cursor != before;
}

static enum volt_poll journal_poll(struct volt_cx *cx, void *state)
{
    struct journal *j = state;

    if (!j->subscriber.table) {
        subscriber_init(cx, &j->subscriber, event_log_subscriptions(query_log(j->core)));
        subscription_add(&j->subscriber, &j->of_log, 0);
    }
    while (subscriber_arm(&j->subscriber)) {
        if (read_on(cx, j)) { /* let other tasks run */
            subscriber_disarm(&j->subscriber);
            volt_cx_wake(cx);
            return VOLT_PENDING;
        }
    }
    return VOLT_PENDING;
}

static void journal_drop(void *state)
{
    struct journal *j = state;

    if (j->subscriber.table)
        subscription_remove(&j->subscriber, &j->of_log, 0);
    subscriber_fini(&j->subscriber);
}

static const struct volt_task_type journal_type = {"journal", sizeof(struct journal),
                                                   journal_poll, journal_drop, NULL};

int journal_start(struct volt_runtime *rt, struct core *core)
{
    struct journal *j;

    if (!log_is_journal())
        return 0;
    j = volt_task_new(rt, &journal_type);
    if (!j)
        return -ENOMEM;
    j->core = core;
    j->cursor = event_log_newest(query_log(core));
    return volt_task_spawn(j, NULL);
}
