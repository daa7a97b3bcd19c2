/* libvoltclient: submits, awaits, watches and reads jobs of voltd, from C.
 *
 * A struct volt_client is a connection, for one thread at a time. A call that waits
 * occupies its connection: other calls need another one. A watch has a connection of its
 * own. Functions return 0 or a positive result, or a negative errno with the reason in
 * *err, which may be NULL:
 *
 *   -ENOENT      no such job, or it has no output
 *   -EINVAL      voltd refused the arguments; err has its words
 *   -ECONNRESET  the connection was lost: open a new one and ask again. A submission may
 *                have been accepted all the same. If it is submitted again, it becomes a
 *                second job, unless its spec has a `key`
 *   -EPROTO      the peer does not speak voltd's protocol
 *
 * A job is JSON of the type Spec of org.voltd.jobs: {"argv": ["make"], "cwd": "/src"}. */
#ifndef VOLT_CLIENT_H
#define VOLT_CLIENT_H

#include <stdint.h>
#include <volt/error.h>

VOLT_BEGIN_DECLS

#define VOLT_CLIENT_ID_SIZE 64 /* bytes of an id, with its NUL */

struct volt_client;

enum volt_client_stream {
    VOLT_CLIENT_STDOUT = 0,
    VOLT_CLIENT_STDERR, /* only if the job has it separate */
};

/* Connects to the voltd at address, a path or "unix:PATH"; NULL: to that of VOLT_ADDRESS,
 * or the user's, or the system's. *ret is new, for volt_client_close(). */
VOLT_API int volt_client_open(const char *address, struct volt_client **ret,
                              struct volt_error *err);
VOLT_API void volt_client_close(struct volt_client *c); /* NULL is allowed */

/* Submits a job, which is durable when this returns (see Sync= in voltd.conf(5)). id: the
 * id that voltctl shows. */
VOLT_API int volt_client_submit(struct volt_client *c, const char *spec,
                                char id[VOLT_CLIENT_ID_SIZE], struct volt_error *err);
/* Waits until a job, an array or an element has ended. *ret_code: its exit code, as of
 * `volt-submit --wait`. If a job of the same voltd calls this, it lends its slot until it
 * returns. */
VOLT_API int volt_client_wait(struct volt_client *c, const char *id, int *ret_code,
                              struct volt_error *err);
/* Returns a read-only descriptor of a job's output, which the caller closes, or -errno.
 * The output grows while the job runs. */
VOLT_API int volt_client_logs(struct volt_client *c, const char *id,
                              enum volt_client_stream stream, struct volt_error *err);

/* Receives a change of a job, as JSON of the type Event of org.voltd.jobs. If fn was too
 * slow for voltd's memory, {"event": "lagged", "lagged": N} replaces N changes. A value
 * other than 0 ends the watch, which returns it. */
typedef int volt_client_event_fn(void *arg, const char *event);
/* Calls fn for every change of the jobs that match filter, a JSON object of the type
 * Filter; NULL: all jobs of this user. Before that, calls it with each job as it is, of
 * the type Job. Ends when fn ends it, or with an error. Uses a connection of its own to
 * the same address, so fn may make calls on c, and c stays usable. */
VOLT_API int volt_client_watch(struct volt_client *c, const char *filter,
                               volt_client_event_fn *fn, void *arg,
                               struct volt_error *err);

/* Likewise, from a cursor on. *cursor: as an earlier watch left it; -1: begins with the
 * jobs as they are. Afterwards *cursor is that of the last answer whose changes fn has
 * all received: after an error or a restart of voltd, a watch goes on from there. */
VOLT_API int volt_client_watch_from(struct volt_client *c, const char *filter,
                                    int64_t *cursor, volt_client_event_fn *fn, void *arg,
                                    struct volt_error *err);

/* Calls any other method. parameters and *ret_reply are JSON objects. *ret_reply is new,
 * to be freed with free(). */
VOLT_API int volt_client_call(struct volt_client *c, const char *method,
                              const char *parameters, char **ret_reply,
                              struct volt_error *err);

VOLT_END_DECLS

#endif
