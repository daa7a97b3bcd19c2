/* What can be set of a queue, and asked of it. Values.
 *
 * Slots are the machine's, and set of the queue "default"; all other settings are of any
 * queue. What they mean to those that wait is in admit/job_queue.h. */
#ifndef VOLTD_JOB_QUEUE_H
#define VOLTD_JOB_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define QUEUE_DEFAULT     "default" /* what a job is in that names none */
#define QUEUE_NAME_BYTES  32
#define QUEUE_SLOTS_MOST  100000
#define QUEUE_WEIGHT_MOST 1000
#define QUEUE_TIME_MOST   UINT64_C(31536000000000) /* us: a year */
#define QUEUES_MOST       64
#define QUEUE_NAMES_BYTES 160 /* of a list of users or groups */

/* Numbers are kept in stores: none is used again. */
enum queue_setting {
#define SETTING(name, json, key, word, fallback, least, most, type) QUEUE_##name,
#include "daemon/job/queue_settings.def"
    QUEUE_SETTINGS,
};

struct queue_setting_row {
    const char *name; /* in JSON */
    const char *key;  /* in the configuration */
    uint64_t fallback, min, max;
    enum queue_setting_type { SETTING_NUMBER, SETTING_FLAG, SETTING_TIME } type;
};
extern const struct queue_setting_row queue_setting_rows[QUEUE_SETTINGS];

/* 1 to QUEUE_NAME_BYTES letters, digits, '-', '_' and '.', and none of '-' and '.'
 * first. */
bool queue_name_is_valid(const char *name);

/* reset: to what the configuration says; create, delete: of one that it does not have. */
enum queue_verb {
    QUEUE_DO_SET,
    QUEUE_DO_PAUSE,
    QUEUE_DO_DRAIN,
    QUEUE_DO_RESUME,
    QUEUE_DO_RESET,
    QUEUE_DO_CREATE,
    QUEUE_DO_DELETE,
};

/* The lists of those that may submit to a queue: users, and groups with their members.
 * Numbers are kept in stores. */
enum queue_list { QUEUE_USERS, QUEUE_GROUPS, QUEUE_LISTS };
extern const char *const queue_list_names[QUEUE_LISTS]; /* in JSON */

/* One of them. Zeroes: nobody; if both are so, all may. */
struct queue_allowed {
    char names[QUEUE_NAMES_BYTES + 1]; /* with blanks, commas or tabs between them */
    uid_t *uids;                       /* what they mean; for free() */
    size_t nuids;
    gid_t *gids; /* of a user itself; for free() */
    size_t ngids;
};
/* Whether it names anything. */
bool queue_allowed_any(const struct queue_allowed *a);
/* To zeroes. */
void queue_allowed_fini(struct queue_allowed *a);

struct queue_change {
    enum queue_verb verb;
    bool given[QUEUE_SETTINGS]; /* SET, CREATE: which */
    uint64_t value[QUEUE_SETTINGS];
    bool given_list[QUEUE_LISTS]; /* likewise */
    struct queue_allowed allowed[QUEUE_LISTS];
};

/* A queue as the configuration has it. */
struct queue_config {
    char name[QUEUE_NAME_BYTES + 1];
    uint64_t value[QUEUE_SETTINGS];
    struct queue_allowed allowed[QUEUE_LISTS];
};
/* With the fallback of each setting. */
void queue_config_init(struct queue_config *ret, const char *name);

#endif
