/* Sections with names: [Queue NAME], and [Limits user:NAME] or [Limits group:NAME]. See
 * load.h. */
#include "daemon/config/load.h"
#include "wire/duration.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/* --- queues ------------------------------------------------------------------------- */

#define QUEUE_SECTION "Queue"

void config_default_queues(struct config_queues *ret)
{
    struct queue_config first;

    queue_config_init(&first, QUEUE_DEFAULT);
    *ret = (struct config_queues){.n = 1};
    memcpy(ret->all[0].name, first.name, sizeof(first.name));
    memcpy(ret->all[0].value, first.value, sizeof(first.value));
}

/* Returns the queue of a section [Queue] or [Queue NAME], added if it is new. Returns
 * NULL for other sections, and after an error, with *ret_told set. */
static struct config_queue *queue_of_section(struct load *l, const char *section,
                                             bool *ret_told)
{
    const size_t head = strlen(QUEUE_SECTION);
    const char *name = section + head;
    struct config_queues *all = l->queues;
    struct queue_config fresh;

    *ret_told = false;
    if (strncmp(section, QUEUE_SECTION, head) != 0 || (*name && *name != ' '))
        return NULL;
    name += strspn(name, " ");
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->all[i].name, *name ? name : QUEUE_DEFAULT) == 0)
            return &all->all[i];
    *ret_told = true;
    if (!queue_name_is_valid(name))
        (void)config_fail(
            l, -EINVAL,
            "%s:%u: [%.60s]: the name of a queue has 1 to %d letters, digits, '-', "
            "'_' and '.', and begins with none of '-' and '.'",
            l->path, l->line, section, QUEUE_NAME_BYTES);
    else if (all->n == QUEUES_MOST)
        (void)config_fail(l, -EINVAL, "%s:%u: [%.60s]: more than %d queues", l->path,
                          l->line, section, QUEUES_MOST);
    else
        *ret_told = false;
    if (*ret_told)
        return NULL;
    struct config_queue *q = &all->all[all->n++];
    queue_config_init(&fresh, name);
    memset(q, 0, sizeof(*q));
    memcpy(q->name, fresh.name, sizeof(fresh.name));
    memcpy(q->value, fresh.value, sizeof(fresh.value));
    return q;
}

void section_see(struct load *l, const char *line)
{
    const char *end = strchr(line, ']');
    char section[64];
    bool told;

    if (end && (size_t)(end - line) <= sizeof(section)) {
        (void)snprintf(section, sizeof(section), "%.*s", (int)(end - line - 1), line + 1);
        (void)queue_of_section(l, section, &told);
    }
}

static int set_names(struct load *l, char *ret, const char *name, const char *value)
{
    if (strlen(value) > CONFIG_NAMES)
        return config_fail(l, -EINVAL, "%s:%u: %s= has more than %d bytes", l->path,
                           l->line, name, CONFIG_NAMES);
    (void)snprintf(ret, CONFIG_NAMES + 1, "%s", value);
    return 0;
}

/* Parses the value of a queue's setting. Returns false if it does not fit. */
static bool parse_setting(const struct queue_setting_row *row, const char *text,
                          uint64_t *ret)
{
    bool good = false;

    switch (row->type) {
    case SETTING_NUMBER:
        good = config_number(text, false, ret);
        break;
    case SETTING_TIME:
        good = duration_parse(text, ret) == 0;
        break;
    case SETTING_FLAG:
        good = config_flag(text, ret);
        break;
    }
    return good && *ret >= row->min && *ret <= row->max;
}

/* Says what a value of a queue's setting is, with its bounds. */
static void describe_setting(const struct queue_setting_row *row, char *buf, size_t size)
{
    const unsigned long long day = 86400000000, max = row->max;

    if (row->type == SETTING_FLAG)
        (void)snprintf(buf, size, "yes or no");
    else if (row->type == SETTING_TIME)
        (void)snprintf(buf, size, "a time up to %llud; 0: none", max / day);
    else
        (void)snprintf(buf, size, "a number from %llu to %llu",
                       (unsigned long long)row->min, max);
}

/* Returns 0; -EINVAL with the error reported; -ENOENT: a queue has no such key. */
static int assign_to_queue(struct load *l, struct config_queue *q, const char *name,
                           const char *value)
{
    char form[64];

    if (strcmp(name, "AllowUsers") == 0)
        return set_names(l, q->users, name, value);
    if (strcmp(name, "AllowGroups") == 0)
        return set_names(l, q->groups, name, value);
    for (int s = QUEUE_SLOTS + 1; s < QUEUE_SETTINGS; s++) {
        const struct queue_setting_row *row = &queue_setting_rows[s];
        uint64_t v = row->fallback;

        if (strcmp(row->key, name) != 0)
            continue;
        describe_setting(row, form, sizeof(form));
        if (*value && !parse_setting(row, value, &v))
            return config_fail(l, -EINVAL, "%s:%u: %s=%.60s: it must be %s", l->path,
                               l->line, name, value, form);
        q->value[s] = v;
        return 0;
    }
    return -ENOENT;
}

/* --- limits ------------------------------------------------------------------------- */

#define LIMITS_SECTION "Limits "

/* Returns the limits of a section [Limits user:NAME] or [Limits group:NAME], added if
 * they are new; NULL after an error. */
static struct config_limits *limits_of_section(struct load *l, const char *section)
{
    const char *who = section + strlen(LIMITS_SECTION);
    struct config_queues *all = l->queues;

    who += strspn(who, " ");
    const bool user = strncmp(who, "user:", 5) == 0;
    const char *name = strchr(who, ':');

    if ((!user && strncmp(who, "group:", 6) != 0) || !name[1] ||
        strlen(name + 1) > CONFIG_LIMITS_NAME) {
        (void)config_fail(l, -EINVAL,
                          "%s:%u: [%.60s]: it must be [Limits user:NAME] or "
                          "[Limits group:NAME], with at most %d bytes",
                          l->path, l->line, section, CONFIG_LIMITS_NAME);
        return NULL;
    }
    const enum queue_list of = user ? QUEUE_USERS : QUEUE_GROUPS;
    for (size_t i = 0; i < all->nlimits; i++)
        if (all->limits[i].of == of && strcmp(all->limits[i].name, name + 1) == 0)
            return &all->limits[i];
    if (all->nlimits == CONFIG_LIMITS_MOST) {
        (void)config_fail(l, -EINVAL, "%s:%u: [%.60s]: more than %d such sections",
                          l->path, l->line, section, CONFIG_LIMITS_MOST);
        return NULL;
    }
    struct config_limits *c = &all->limits[all->nlimits++];
    *c = (struct config_limits){.of = of};
    (void)snprintf(c->name, sizeof(c->name), "%s", name + 1);
    for (size_t i = 0; i < JOB_CGROUP_LIMITS; i++)
        *job_cgroup_at(&c->cgroup, i) = CONFIG_NOT_SAID;
    return c;
}

/* Returns as section_assign() does. */
static int assign_to_limits(struct load *l, const char *section, const char *name,
                            const char *value)
{
    const size_t at = offsetof(struct config, cgroup);
    const struct key *k = config_key("Limits", name);
    uint64_t v = CONFIG_NOT_SAID;

    if (strncmp(section, LIMITS_SECTION, strlen(LIMITS_SECTION)) != 0)
        return -ENOENT;
    struct config_limits *c = limits_of_section(l, section);
    if (!c)
        return -EINVAL;
    if (!k || k->offset < at || k->offset >= at + sizeof(c->cgroup))
        return config_fail(l, -EINVAL,
                           "%s:%u: unknown key %s= in [%.60s]; there are MemoryMax=, "
                           "MemoryHigh=, MemorySwapMax=, PidsMax=, CPUQuota=, CPUWeight= "
                           "and IOWeight=",
                           l->path, l->line, name, section);
    if (*value && !config_value(k, value, &v))
        return config_fail(l, -EINVAL, "%s:%u: %s=%.60s: it must be %s", l->path, l->line,
                           name, value, k->help);
    *job_cgroup_at(&c->cgroup, (k->offset - at) / sizeof(v)) = v;
    return 0;
}

/* --- all of them -------------------------------------------------------------------- */

int section_assign(struct load *l, const char *section, const char *name,
                   const char *value)
{
    bool told;
    struct config_queue *q = queue_of_section(l, section, &told);
    int r = q ? assign_to_queue(l, q, name, value) : told ? -EINVAL : -ENOENT;

    if (!q && !told)
        return assign_to_limits(l, section, name, value);
    if (r != -ENOENT || !q || strcmp(section, QUEUE_SECTION) == 0)
        return r;
    if (strcasecmp(name, "Slots") == 0)
        return config_fail(
            l, -EINVAL,
            "%s:%u: Slots= are those of the machine, under [Queue]; Max= of [%s] "
            "is how many of them its jobs have at most",
            l->path, l->line, section);
    return config_fail(
        l, -EINVAL,
        "%s:%u: unknown key %s= in [%s]; voltd.conf(5) lists those of a queue", l->path,
        l->line, name, section);
}
