/* voltctl queues and voltctl queue: print and change the queues. */
#include "client/job_view.h"
#include "client/voltctl/table.h"
#include "client/voltctl/verbs.h"
#include "wire/duration.h"
#include "wire/suggest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- queues ------------------------------------------------------------------------- */

enum {
    NAME,
    STATE,
    SLOTS,
    NOMINAL,
    MAX,
    WEIGHT,
    USED,
    WAITING,
    USERS,
    GROUPS,
    SET,
    COLUMNS
};

static const struct option_entry list_options[] = {CTL_JSON_OPTION, CTL_OPTIONS_END};

static const struct table_column columns[COLUMNS] = {
    [NAME] = {.title = "NAME"}, /* whole, as it is to be typed */
    [STATE] = {.title = "STATE"},
    [SLOTS] = {.title = "SLOTS", .align = TABLE_RIGHT},
    [NOMINAL] = {.title = "NOMINAL", .align = TABLE_RIGHT, .optional = true, .rank = 2},
    [MAX] = {.title = "MAX", .align = TABLE_RIGHT, .optional = true, .rank = 1},
    [WEIGHT] = {.title = "WEIGHT", .align = TABLE_RIGHT, .rank = 3},
    [USED] = {.title = "USED", .align = TABLE_RIGHT},
    [WAITING] = {.title = "WAITING", .align = TABLE_RIGHT},
    [USERS] = {.title = "USERS", .optional = true, .flexible = true},
    [GROUPS] = {.title = "GROUPS", .optional = true, .flexible = true},
    [SET] = {.title = "SET (CONFIGURED)", .optional = true, .flexible = true},
};

/* Settings: as typed, and as in JSON. */
static const struct setting {
    const char *word, *name;
    enum { NUMBER, FLAG, TIME, NAMES } type;
} settings[] = {
#define SETTING(name, json, key, word, fallback, least, most, type) {word, json, type},
#include "daemon/job/queue_settings.def"
    {"users", "users", NAMES},
    {"groups", "groups", NAMES},
};
enum { SETTINGS = sizeof(settings) / sizeof(settings[0]), NAMES_BYTES = 161 };

static const char *state_of(const json_t *queue, char *buf, size_t size)
{
    static const char *const words[] = {"gone", "paused", "drained"};
    size_t at = 0;

    (void)snprintf(buf, size, "open");
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (job_view_bool(queue, words[i]))
            at += (size_t)snprintf(buf + at, size - at, "%s%s", at ? ", " : "", words[i]);
    return buf;
}

static const char *number_of(const json_t *object, const char *name, char buf[24])
{
    (void)snprintf(buf, 24, "%" PRId64, job_view_int(object, name));
    return buf;
}

/* Returns the number as text; "-" for none. */
static const char *some_of(const json_t *object, const char *name, char buf[24])
{
    return job_view_int(object, name) ? number_of(object, name, buf) : "-";
}

/* Writes "ada,bob". */
static void names_text(const json_t *names, char *buf, size_t size)
{
    size_t at = 0, i;
    const json_t *name;

    *buf = '\0';
    json_array_foreach(names, i, name)
    {
        int n = snprintf(buf + at, size - at, "%s%s", i ? "," : "",
                         json_string_value(name) ? json_string_value(name) : "");
        at += n > 0 && (size_t)n < size - at ? (size_t)n : 0;
    }
}

static const char *names_of(const json_t *set, const char *name, char buf[NAMES_BYTES])
{
    names_text(json_object_get(set, name), buf, NAMES_BYTES);
    return *buf ? buf : "-";
}

static void value_text(const struct setting *s, const json_t *value, char *buf,
                       size_t size)
{
    if (s->type == NAMES)
        names_text(value, buf, size);
    else if (s->type == FLAG)
        (void)snprintf(buf, size, "%s", json_is_true(value) ? "yes" : "no");
    else if (s->type == TIME && json_integer_value(value))
        duration_format((uint64_t)json_integer_value(value), buf, size);
    else
        (void)snprintf(buf, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
}

/* Writes settings made by hand, with the values that they override: "slots=8 (2)". */
static const char *set_of(const json_t *queue, char *buf, size_t size)
{
    const json_t *overridden = json_object_get(queue, "overridden");
    const json_t *settled = json_object_get(queue, "settings"), *set;
    size_t at = 0;

    (void)snprintf(buf, size, "-");
    for (size_t i = 0; i < SETTINGS; i++) {
        const json_t *value = json_object_get(overridden, settings[i].name);
        char now[NAMES_BYTES], text[NAMES_BYTES];

        if (!value)
            continue;
        set = json_object_get(settled, settings[i].name);
        value_text(&settings[i], set, now, sizeof(now));
        value_text(&settings[i], value, text, sizeof(text));
        int n = snprintf(buf + at, size - at, "%s%s=%s (%s)", at ? ", " : "",
                         settings[i].word, now, *text ? text : "-");
        at += n > 0 && (size_t)n < size - at ? (size_t)n : 0;
    }
    return buf;
}

static int add_row(struct table *t, const json_t *queue)
{
    const json_t *set = json_object_get(queue, "settings");
    char slots[24], nominal[24], max[24], weight[24], used[24], waiting[24], state[64],
        users[NAMES_BYTES], groups[NAMES_BYTES], by_hand[512 + 4 * NAMES_BYTES];
    const char *cells[COLUMNS] = {
        [NAME] = job_view_string(queue, "name"),
        [STATE] = state_of(queue, state, sizeof(state)),
        [SLOTS] = some_of(set, "slots", slots),
        [NOMINAL] = some_of(set, "nominal", nominal),
        [MAX] = some_of(set, "max", max),
        [WEIGHT] = number_of(set, "weight", weight),
        [USED] = number_of(queue, "used", used),
        [WAITING] = number_of(queue, "waiting", waiting),
        [USERS] = names_of(set, "users", users),
        [GROUPS] = names_of(set, "groups", groups),
        [SET] = set_of(queue, by_hand, sizeof(by_hand)),
    };

    return table_add(t, cells, TERM_PLAIN);
}

static int print(const json_t *queues)
{
    return table_print(columns, COLUMNS, queues, add_row) < 0 ? CTL_EXIT_FAILED
                                                              : CTL_EXIT_OK;
}

static int run_queues(struct ctl *ctl)
{
    return ctl_ask(ctl, ADDRESS_JOBS, "org.voltd.queues.List", "queues", print);
}

const struct verb verb_queues = {
    .name = "queues",
    .operands = "",
    .summary = "List the queues that jobs wait in",
    .text =
        "STATE: open; paused, it starts nothing; drained, it takes no jobs. SLOTS: so\n"
        "many commands run at a time. USED: so many slots its jobs have, of all users.\n"
        "WAITING: so many jobs wait for their turn; an array counts as one. SET: what\n"
        "`voltctl queue set` has said, and in brackets what is configured instead.\n"
        "USERS, GROUPS: those that may submit to it, where that is not everybody; told to\n"
        "administrators, and root.\n",
    .options = list_options,
    .run = run_queues,
};

/* --- queue -------------------------------------------------------------------------- */

static const struct option_entry options[] = {CTL_OPTIONS_END};

/* Finds a setting. NULL: there is none, after an error message. */
static const struct setting *find_setting(const struct ctl *ctl, const char *word)
{
    const char *words[SETTINGS + 1] = {NULL};

    for (size_t i = 0; i < SETTINGS; i++) {
        if (strcmp(settings[i].word, word) == 0)
            return &settings[i];
        words[i] = settings[i].word;
    }
    const char *near = suggest(word, words);
    if (near) {
        (void)ctl_usage(ctl, "%s: there is no such setting; did you mean %s?", word,
                        near);
        return NULL;
    }
    char all[160] = "";
    for (size_t i = 0, n = 0; i < SETTINGS && n < sizeof(all); i++)
        n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s", i ? ", " : "",
                              settings[i].word);
    (void)ctl_usage(ctl, "%s: there is no such setting; there are %s", word, all);
    return NULL;
}

/* Splits "ada,bob". NULL: not valid UTF-8, or no memory. */
static json_t *split(const char *text)
{
    json_t *names = json_array();

    for (size_t n; names && *text; text += n + (text[n] == ',')) {
        n = strcspn(text, ",");
        if (n && json_array_append_new(names, json_stringn(text, n)) < 0) {
            json_decref(names);
            return NULL;
        }
    }
    return names;
}

/* Parses a value. NULL: after an error message. */
static json_t *value_of(const struct ctl *ctl, const struct setting *s, const char *text)
{
    uint64_t value = 0;

    json_t *names = s->type == NAMES ? split(text) : NULL;
    if (names)
        return names;
    if (s->type == FLAG && (strcmp(text, "yes") == 0 || strcmp(text, "no") == 0))
        return json_boolean(*text == 'y');
    if (s->type == NUMBER)
        return ctl_number(s->word, text, &value) ? json_integer((json_int_t)value) : NULL;
    if (s->type == TIME && duration_parse(text, &value) == 0 && value <= INT64_MAX)
        return json_integer((json_int_t)value);
    (void)ctl_usage(ctl, "%s=%s: expected is %s", s->word, text,
                    s->type == FLAG    ? "yes or no"
                    : s->type == NAMES ? "names with commas between them"
                                       : "a time, as 30min");
    return NULL;
}

/* Adds `slots=4` to the parameters. Returns false after an error message. */
static bool take_setting(const struct ctl *ctl, const char *word, json_t *parameters)
{
    const char *end = strchr(word, '=');
    char name[32];

    if (!end || (size_t)(end - word) >= sizeof(name)) {
        (void)ctl_usage(ctl, "%s: expected is SETTING=VALUE, as slots=4", word);
        return false;
    }
    (void)snprintf(name, sizeof(name), "%.*s", (int)(end - word), word);
    const struct setting *s = find_setting(ctl, name);
    json_t *value = s ? value_of(ctl, s, end + 1) : NULL;
    if (value)
        (void)json_object_set_new(parameters, s->name, value);
    return value;
}

static int change(struct ctl *ctl, const char *method, json_t *parameters)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int code = ctl_open(ctl, ADDRESS_CONTROL);

    if (code == CTL_EXIT_OK)
        code = ctl_call(ctl, method, json_incref(parameters), &reply);
    client_reply_fini(&reply);
    return code;
}

static int run(struct ctl *ctl)
{
    static const struct {
        const char *word, *method;
    } changes[] = {
        {"set", "org.voltd.queues.Set"},       {"pause", "org.voltd.queues.Pause"},
        {"resume", "org.voltd.queues.Resume"}, {"drain", "org.voltd.queues.Drain"},
        {"reset", "org.voltd.queues.Reset"},   {"create", "org.voltd.queues.Create"},
        {"delete", "org.voltd.queues.Delete"},
    };
    enum { CHANGES = sizeof(changes) / sizeof(changes[0]) };
    size_t i = 0;

    if (ctl_option(ctl) != OPTION_END)
        return ctl->code;
    char **words = ctl->argv + optind;
    const int n = ctl->argc - optind;
    while (n > 0 && i < CHANGES && strcmp(words[0], changes[i].word) != 0)
        i++;
    if (n == 0 || i == CHANGES)
        return ctl_usage(ctl,
                         "%s%sexpected is set, pause, resume, drain, reset, create or "
                         "delete; `voltctl queues` lists them",
                         n > 0 ? words[0] : "", n > 0 ? ": " : "");
    const bool sets = i == 0, creates = strcmp(words[0], "create") == 0;
    if (sets ? n < 3 : creates ? n < 2 : n != 2)
        return ctl_usage(ctl, "%s: expected %s", words[0],
                         sets ? "are NAME and SETTING=VALUE" : "is NAME");
    json_t *parameters = json_pack("{s:s}", "name", words[1]);
    bool good = true;
    for (int at = 2; at < n && good; at++)
        good = take_setting(ctl, words[at], parameters);
    int code = good ? change(ctl, changes[i].method, parameters) : CTL_EXIT_USAGE;
    json_decref(parameters);
    return code;
}

const struct verb verb_queue = {
    .name = "queue",
    .operands = "CHANGE NAME",
    .summary = "Set, pause, drain, create or delete a queue",
    .text =
        "All of it is kept over restarts of voltd. NAME is default, or a queue that\n"
        "voltd.conf(5) or create makes.\n"
        "\n"
        "set default slots=N: so many commands run at a time; 0: one per CPU that voltd\n"
        "may use, at least 2.\n"
        "Commands beyond that which run go on.\n"
        "set NAME SETTING=VALUE...: also nominal, max, max-per-user, weight, lend (yes or\n"
        "no), default-timeout and max-timeout (times, 0: none), users and groups (names\n"
        "with commas between them), as in voltd.conf(5). They win over what stands there\n"
        "until that is changed, or reset.\n"
        "pause NAME: it starts nothing. What runs goes on, and jobs may be submitted.\n"
        "drain NAME: it takes no jobs, and runs those that it has.\n"
        "resume NAME: the end of pause and drain.\n"
        "reset NAME: all that was set, paused and drained is as the configuration says.\n"
        "create NAME [SETTING=VALUE...]: a queue that need not stand there.\n"
        "delete NAME: one that was created goes; not while it has jobs.\n"
        "\nExamples:\n"
        "  voltctl queue set default slots=4\n"
        "  voltctl queue set night nominal=1 weight=3\n"
        "  voltctl queue set night users=ada,bob groups=\n"
        "  voltctl queue pause default\n",
    .options = options,
    .run = run,
};
