/* See queue.h. */
#include "daemon/job/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct queue_setting_row queue_setting_rows[QUEUE_SETTINGS] = {
#define SETTING(name, json, key, word, fallback, least, most, type)                      \
    [QUEUE_##name] = {json, key, fallback, least, most, SETTING_##type},
#include "daemon/job/queue_settings.def"
};

const char *const queue_list_names[QUEUE_LISTS] = {"users", "groups"};

bool queue_allowed_any(const struct queue_allowed *a)
{
    return a->names[strspn(a->names, " ,\t")] != '\0';
}

static bool is_one_of(uint32_t id, const uint32_t *ids, size_t n)
{
    while (n > 0 && ids[n - 1] != id)
        n--;
    return n > 0;
}

bool queue_allowed_has(const struct queue_allowed *a, const struct job_owner *owner)
{
    return is_one_of(owner->uid, a->uids, a->nuids) ||
           is_one_of(owner->gid, a->gids, a->ngids);
}

void queue_allowed_fini(struct queue_allowed *a)
{
    free(a->uids);
    free(a->gids);
    *a = (struct queue_allowed){.names = ""};
}

bool queue_name_is_valid(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_-.";
    const size_t n = strlen(name);

    return n > 0 && n <= QUEUE_NAME_BYTES && strspn(name, letters) == n && *name != '-' &&
           *name != '.';
}

void queue_config_init(struct queue_config *ret, const char *name)
{
    *ret = (struct queue_config){.name = ""};
    (void)snprintf(ret->name, sizeof(ret->name), "%s", name);
    for (int s = 0; s < QUEUE_SETTINGS; s++)
        ret->value[s] = queue_setting_rows[s].fallback;
}
