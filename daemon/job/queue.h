/* Settings of queues, and their lists of users. Plain values.
 *
 * Slots are the machine's, and set on the queue "default"; any queue has the other
 * settings. admit/job_queue.h says what they mean to waiting jobs. */
#ifndef VOLTD_JOB_QUEUE_H
#define VOLTD_JOB_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/job/owner.h"

#define QUEUE_DEFAULT     "default" /* queue of a job that names none */
#define QUEUE_NAME_BYTES  32
#define QUEUE_SLOTS_MOST  100000
#define QUEUE_WEIGHT_MOST 1000
#define QUEUE_TIME_MOST   UINT64_C(31536000000000) /* us: a year */
#define QUEUES_MOST       64
#define QUEUE_NAMES_BYTES 160 /* of a list of users or groups */

/* Stores have these numbers: none is reused. */
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

/* Valid: 1 to QUEUE_NAME_BYTES letters, digits, '-', '_' and '.'; not '-' or '.'
 * first. */
bool queue_name_is_valid(const char *name);

/* RESET: to the configuration; CREATE, DELETE: of a queue that the configuration
 * lacks. */
enum queue_verb {
    QUEUE_DO_SET,
    QUEUE_DO_PAUSE,
    QUEUE_DO_DRAIN,
    QUEUE_DO_RESUME,
    QUEUE_DO_RESET,
    QUEUE_DO_CREATE,
    QUEUE_DO_DELETE,
};

/* Lists of who may submit to a queue: users, and groups with their members. Stores have
 * the numbers. */
enum queue_list { QUEUE_USERS, QUEUE_GROUPS, QUEUE_LISTS };
extern const char *const queue_list_names[QUEUE_LISTS]; /* in JSON */

/* A list. Zeroes: no users. If both lists are empty, all users may submit. */
struct queue_allowed {
    char names[QUEUE_NAMES_BYTES + 1]; /* separated by blanks, commas or tabs */
    uid_t *uids;                       /* of the named users or groups; for free() */
    size_t nuids;
    gid_t *gids; /* of a user itself; for free() */
    size_t ngids;
};
/* Returns whether it names anything. */
bool queue_allowed_any(const struct queue_allowed *a);
/* Returns whether the owner is among the users, or of one of the groups. */
bool queue_allowed_has(const struct queue_allowed *a, const struct job_owner *owner);
/* Frees the list and sets it to zeroes. */
void queue_allowed_fini(struct queue_allowed *a);

struct queue_change {
    enum queue_verb verb;
    bool given[QUEUE_SETTINGS]; /* SET, CREATE: which settings */
    uint64_t value[QUEUE_SETTINGS];
    bool given_list[QUEUE_LISTS]; /* likewise */
    struct queue_allowed allowed[QUEUE_LISTS];
};

/* A queue in the configuration. */
struct queue_config {
    char name[QUEUE_NAME_BYTES + 1];
    uint64_t value[QUEUE_SETTINGS];
    struct queue_allowed allowed[QUEUE_LISTS];
};
/* Sets the fallback of each setting. */
void queue_config_init(struct queue_config *ret, const char *name);

#endif
