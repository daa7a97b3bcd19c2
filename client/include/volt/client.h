/* libvoltclient: jobs of voltd from C: to submit, to wait for, to watch, to read.
 *
 * One struct volt_client is one connection, for one thread at a time. A call that waits
 * holds its connection: what else is asked meanwhile needs another one. A watch has a
 * connection of its own. Functions return 0 or a positive result, or a negative errno
 * with the reason in *err, which may be NULL:
 *
 *   -ENOENT      no such job, or it has no output
 *   -EINVAL      voltd refused what it was given; err has its words
 *   -ECONNRESET  the connection has ended: open a new one and ask again. A submission may
 *                have been accepted all the same; submitted again, it becomes a second
 *                job, unless its spec has a `key`
 *   -EPROTO      the other end does not speak voltd's protocol
 *
 * A job is JSON, the type Spec of org.voltd.jobs: {"argv": ["make"], "cwd": "/src"}. */
#ifndef VOLT_CLIENT_H
#define VOLT_CLIENT_H

#include <stdint.h>
#include <volt/error.h>

VOLT_BEGIN_DECLS

#define VOLT_CLIENT_ID_SIZE 64 /* bytes of an id, its NUL included */

struct volt_client;

enum volt_client_stream {
    VOLT_CLIENT_STDOUT = 0,
    VOLT_CLIENT_STDERR, /* of a job that keeps it apart */
};

/* Connects to the voltd at address, a path or "unix:PATH"; NULL: to that of VOLT_ADDRESS,
 * or the user's, or the system's. Returns new in *ret. */
VOLT_API int volt_client_open(const char *address, struct volt_client **ret,
                              struct volt_error *err);
VOLT_API void volt_client_close(struct volt_client *c); /* NULL allowed */

/* Submits one job. It is kept when this returns, and id is what voltctl calls it. */
VOLT_API int volt_client_submit(struct volt_client *c, const char *spec,
                                char id[VOLT_CLIENT_ID_SIZE], struct volt_error *err);
/* Waits until a job, an array or an element has ended. *ret_code: its exit code, as
 * `volt-submit --wait` has it. A job of the same voltd that does so lends its slot
 * meanwhile. */
VOLT_API int volt_client_wait(struct volt_client *c, const char *id, int *ret_code,
                              struct volt_error *err);
/* A read-only descriptor of what a job has printed so far, or -errno. It grows while the
 * job runs. The caller's to close. */
VOLT_API int volt_client_logs(struct volt_client *c, const char *id,
                              enum volt_client_stream stream, struct volt_error *err);

/* Takes one change of a job, as JSON: the type Event of org.voltd.jobs. Where fn was too
 * slow for voltd to keep what it had to tell, {"event": "lagged", "lagged": N} stands in
 * the place of N changes. Another number than 0 ends the watch, which returns it. */
typedef int volt_client_event_fn(void *arg, const char *event);
/* Calls fn for every change of the jobs that filter names, a JSON object of the type
 * Filter, or NULL: all of this user. First it is called with each job as it is, of the
 * type Job. Goes on until fn ends it, or an error. It opens a connection of its own to
 * the same address: fn may make calls on c, and c is as usable after it as before. */
VOLT_API int volt_client_watch(struct volt_client *c, const char *filter,
                               volt_client_event_fn *fn, void *arg,
                               struct volt_error *err);

/* The same, from a cursor on: *cursor as an earlier watch has left it; -1: from the jobs
 * as they are. It is that behind the last answer whose changes fn has taken all: after an
 * error, or a restart of voltd, the watch goes on there. */
VOLT_API int volt_client_watch_from(struct volt_client *c, const char *filter,
                                    int64_t *cursor, volt_client_event_fn *fn, void *arg,
                                    struct volt_error *err);

/* Any other method: parameters and *ret_reply are JSON objects. *ret_reply is new, for
 * free(). */
VOLT_API int volt_client_call(struct volt_client *c, const char *method,
                              const char *parameters, char **ret_reply,
                              struct volt_error *err);

VOLT_END_DECLS

#endif
