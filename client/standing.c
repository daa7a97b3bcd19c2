/* See standing.h. From what voltd tells of queues and of the user's locks. */
#include "client/standing.h"
#include "client/job_view.h"
#include "client/say.h"
#include "client/term.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SAY "dry run: it would "

/* The list of that name in an answer. New; NULL: there is no answer. */
static json_t *ask(struct client *c, const char *method, const char *list)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    json_t *all = NULL;
    if (client_call(c, method, json_object(), &reply) == 0 && !reply.error)
        all = json_incref(json_object_get(reply.parameters, list));
    client_reply_fini(&reply);
    return all;
}

static const json_t *find(const json_t *list, const char *name)
{
    const json_t *one;
    size_t i;
    json_array_foreach(list, i, one)
    {
        if (strcmp(job_view_string(one, "name"), name) == 0)
            return one;
    }
    return NULL;
}

/* What it says itself. */
static bool say_conditions(const json_t *spec, int64_t after)
{
    int64_t at = job_view_int(spec, "at_usec");
    const int64_t delay = job_view_int(spec, "delay_usec");
    const int64_t now = (int64_t)job_view_now();
    char date[64];
    if (job_view_bool(spec, "hold"))
        say(SAY "be held until `voltctl release`");
    if (delay > 0 && at < now + delay)
        at = now + delay;
    if (at > now) {
        job_view_time((uint64_t)at, 0, date, sizeof(date));
        say(SAY "begin at %s", date);
    }
    if (after > 0)
        say(SAY "wait for %" PRId64 " other job%s", after, after == 1 ? "" : "s");
    return job_view_bool(spec, "hold") || at > now || after > 0;
}

/* Those that others of the user's have, or wait for. */
static bool say_locks(struct client *c, const json_t *spec)
{
    const json_t *claims = json_object_get(spec, "claims"), *claim;
    json_t *locks =
        json_array_size(claims) > 0 ? ask(c, "org.voltd.locks.List", "locks") : NULL;
    bool any = false;
    size_t i;
    json_array_foreach(claims, i, claim)
    {
        const json_t *lock = find(locks, job_view_string(claim, "name"));
        const int64_t used = job_view_int(lock, "used"),
                      waiting = job_view_int(lock, "waiting");
        if (used == 0 && waiting == 0)
            continue;
        any = true;
        say(SAY "want %s %s: %" PRId64 " in use, %" PRId64 " wait%s for it",
            job_view_string(lock, "kind"), job_view_string(claim, "name"), used, waiting,
            waiting == 1 ? "s" : "");
    }
    json_decref(locks);
    return any;
}

static int64_t slots_used(const json_t *queues)
{
    const json_t *queue;
    int64_t sum = 0;
    size_t i;
    json_array_foreach(queues, i, queue)
    {
        sum += job_view_int(queue, "used");
    }
    return sum;
}

static bool is_full(const json_t *queues, const json_t *queue)
{
    const json_t *machine = json_object_get(find(queues, "default"), "settings");
    const int64_t max = job_view_int(json_object_get(queue, "settings"), "max");
    return slots_used(queues) >= job_view_int(machine, "slots") ||
           (max > 0 && job_view_int(queue, "used") >= max);
}

/* Where jobs of it wait, of which some may come first, it says nothing of slots that are
 * free. */
static bool say_queue(const json_t *queues, const char *name)
{
    const json_t *queue = find(queues, name);
    const int64_t waiting = job_view_int(queue, "waiting");
    const json_t *machine = json_object_get(find(queues, "default"), "settings");
    if (job_view_bool(queue, "paused"))
        say(SAY "wait: queue %s is paused; %" PRId64 " wait%s there", name, waiting,
            waiting == 1 ? "s" : "");
    else if (is_full(queues, queue))
        say(SAY "wait in queue %s, where %" PRId64 " wait%s%s: %" PRId64 " of %" PRId64
                " slots in use, %" PRId64 " by that queue",
            name, waiting, waiting == 1 ? "s" : "",
            waiting > 0 ? ", those of less priority behind it" : "", slots_used(queues),
            job_view_int(machine, "slots"), job_view_int(queue, "used"));
    else
        return waiting > 0;
    return true;
}

void standing_say(struct client *c, const json_t *spec, const json_t *checked)
{
    const char *name = job_view_string(spec, "queue"),
               *id = job_view_string(checked, "id");
    if (*id) {
        say(SAY "be job %s, which has its key", id);
        return;
    }
    if (job_view_bool(checked, "never_starts")) {
        say(SAY "end at once: what it is to wait for can happen no more");
        return;
    }
    json_t *queues = ask(c, "org.voltd.queues.List", "queues");
    if (!queues)
        return;
    bool waits = say_queue(queues, *name ? name : "default");
    waits |= say_conditions(spec, job_view_int(checked, "waits_for"));
    waits |= say_locks(c, spec);
    if (!waits && term_is_tty(STDERR_FILENO))
        say(SAY "start at once");
    json_decref(queues);
}
