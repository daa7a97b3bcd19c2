/* See sbatch.h. */
#include "client/sbatch.h"
#include "client/id_range.h"
#include "client/say.h"
#include "wire/accounts.h"
#include "wire/buffer.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { PRIORITY_MOST = 1000 }; /* the least is -1000 */

struct known {
    const char *name;
    char letter;
    int (*take)(struct sbatch *s, const char *ours, const char *value,
                struct word_list *to);
    const char *ours;
    bool flag;   /* has no value */
    bool needed; /* without it the job would start too early */
};

static int take_same(struct sbatch *s, const char *ours, const char *value,
                     struct word_list *to)
{
    (void)s;
    return value ? word_list_addf(to, "--%s=%s", ours, value)
                 : word_list_addf(to, "--%s", ours);
}

/* Parses minutes, M:S, H:M:S, D-H, D-H:M or D-H:M:S. */
static bool parse_time(const char *text, uint64_t *ret_seconds)
{
    unsigned long long part[3] = {0}, days = 0;
    int n = 0, end = 0;
    bool with_days = strchr(text, '-');
    if (with_days && (sscanf(text, "%llu-%n", &days, &end) != 1 || end == 0))
        return false;
    text += end;
    for (; n < 3; n++) {
        end = 0;
        if (sscanf(text, "%llu%n", &part[n], &end) != 1 || *text == '-' || *text == '+')
            return false;
        text += end;
        if (*text != ':')
            break;
        text++;
    }
    if (*text || n == 3 || days > 100000 || part[0] > 100000000)
        return false;
    if (with_days || n == 2) /* the first part is hours */
        *ret_seconds = days * 86400 + part[0] * 3600 + part[1] * 60 + part[2];
    else
        *ret_seconds = part[0] * 60 + part[1];
    return true;
}

static int take_time(struct sbatch *s, const char *ours, const char *value,
                     struct word_list *to)
{
    uint64_t seconds;
    (void)s;
    if (strcasecmp(value, "UNLIMITED") == 0 || strcasecmp(value, "INFINITE") == 0)
        return 0;
    if (!parse_time(value, &seconds))
        return -EDOM;
    return word_list_addf(to, "--%s=%" PRIu64 "s", ours, seconds);
}

/* Appends the path with our placeholders. %A.%a and %A-%a are nearly the same here. Sets
 * *ret_part to the first part that has no equivalent; NULL: all of it has. Returns 0 or
 * -ENOMEM. */
static int put_path(const char *ours, const char *value, struct wire_buf *to,
                    const char **ret_part)
{
    char user[64], host[HOST_NAME_MAX + 1] = "localhost";
    const char *const places[][2] = {
        {"%A_%a", "{id}"}, {"%A.%a", "{id}"}, {"%A-%a", "{id}"},
        {"%j", "{id}"},    {"%a", "{i}"},     {"%x", "{name}"},
        {"%u", user},      {"%N", host},      {"%%", "%"}};
    const size_t count = sizeof(places) / sizeof(places[0]);
    int r = 0;
    (void)accounts_user(geteuid(), user, sizeof(user));
    (void)gethostname(host, sizeof(host) - 1);
    host[strcspn(host, ".")] = '\0';
    for (*ret_part = NULL; *value && r == 0;) {
        size_t i = 0;
        while (i < count && strncmp(value, places[i][0], strlen(places[i][0])) != 0)
            i++;
        if (i == 1 || i == 2)
            say("note: --%s: %s is %s here, such as 17_3", ours, places[i][0],
                places[i][1]);
        if (i == count && *value == '%') {
            *ret_part = value;
            break;
        }
        r = i < count ? wire_buf_append(to, places[i][1], strlen(places[i][1]))
                      : wire_buf_append(to, value, 1);
        value += i < count ? strlen(places[i][0]) : 1;
    }
    return r == 0 ? wire_buf_append(to, "", 1) : r;
}

static int take_path(struct sbatch *s, const char *ours, const char *value,
                     struct word_list *to)
{
    const bool is_output = strcmp(ours, "stdin") != 0;
    struct wire_buf path = {0};
    const char *part;
    int r = put_path(ours, value, &path, &part);
    if (r == 0 && part) {
        (void)snprintf(s->hint.text, sizeof(s->hint.text),
                       "is left out, as %.*s in it has no equal here%s",
                       (int)strspn(part + 1, "0123456789") + 2, part,
                       is_output ? "; `voltctl logs ID` prints the output" : "");
        r = -EINVAL;
    }
    if (r == 0)
        r = take_same(s, ours, wire_buf_at(&path), to);
    s->has_path |= r == 0 && is_output;
    wire_buf_fini(&path);
    return r;
}

static int take_open_mode(struct sbatch *s, const char *ours, const char *value,
                          struct word_list *to)
{
    (void)ours;
    (void)to;
    if (strcmp(value, "append") != 0 && strcmp(value, "truncate") != 0)
        return -EDOM;
    (void)snprintf(s->open_mode, sizeof(s->open_mode), "%s", value);
    return 0;
}

/* Takes ALL, NONE, or names and assignments separated by commas. */
static int take_export(struct sbatch *s, const char *ours, const char *value,
                       struct word_list *to)
{
    char *list = strdup(value), *save = NULL;
    int r = list ? 0 : -ENOMEM;
    (void)s;
    for (char *word = list ? strtok_r(list, ",", &save) : NULL; word && r == 0;
         word = strtok_r(NULL, ",", &save)) {
        if (strcmp(word, "ALL") == 0)
            r = word_list_add(to, "--all-env");
        else if (strcmp(word, "NONE") == 0)
            r = word_list_add(to, "--no-env");
        else
            r = word_list_addf(to, "--%s=%s", ours, word);
    }
    free(list);
    return r;
}

/* Takes --nice: a nicer job has a lower priority. */
static int take_nice(struct sbatch *s, const char *ours, const char *value,
                     struct word_list *to)
{
    const char *text = value ? value : "100";
    char *end;
    long nice = strtol(text, &end, 10);
    (void)s;
    if (end == text || *end)
        return -EDOM;
    if (nice < -PRIORITY_MOST || nice > PRIORITY_MOST) {
        nice = nice < 0 ? -PRIORITY_MOST : PRIORITY_MOST;
        say("note: --nice=%s: the priority is %ld, as it goes from -%d to %d", text,
            -nice, PRIORITY_MOST, PRIORITY_MOST);
    }
    return word_list_addf(to, "--%s=%ld", ours, -nice);
}

static int take_requeue(struct sbatch *s, const char *ours, const char *value,
                        struct word_list *to)
{
    (void)value;
    return take_same(s, ours, "retry", to);
}

static int take_no_requeue(struct sbatch *s, const char *ours, const char *value,
                           struct word_list *to)
{
    (void)value;
    return take_same(s, ours, "fail", to);
}

/* Takes "now", "now+1hour", or a date. */
static int take_begin(struct sbatch *s, const char *ours, const char *value,
                      struct word_list *to)
{
    if (strncmp(value, "now", 3) != 0)
        return take_same(s, ours, value, to);
    return value[3] == '+' ? take_same(s, "in", value + 4, to) : 0;
}

static int take_comment(struct sbatch *s, const char *ours, const char *value,
                        struct word_list *to)
{
    (void)s;
    return word_list_addf(to, "--%s=comment=%s", ours, value);
}

/* Returns whether the text is ids separated by commas. */
static bool are_ids(const char *text)
{
    struct id_range range;
    bool good = true;
    for (bool more = true; more && good;) {
        const size_t len = strcspn(text, ",");
        char *word = strndup(text, len);
        good = word && (strcmp(word, "@last") == 0 || id_range_parse(word, &range) == 0);
        more = text[len] == ',';
        text += len + more;
        free(word);
    }
    return good;
}

/* Says what of a dependency has no equivalent, and what to write instead. */
static int no_dependency(const char *word, struct volt_error *why)
{
    static const char *const parts[][2] = {
        {"?", "a job waits for all that it names, so separate them by commas"},
        {"+", "it has no delay, so name the job alone and let the script sleep"},
        {"_",
         "of an array it waits for the whole, or with aftercorr for the element of its "
         "own index"}};
    const size_t n = sizeof(parts) / sizeof(parts[0]);
    size_t i = 0;
    while (i < n && !strstr(word, parts[i][0]))
        i++;
    if (i < n)
        (void)snprintf(why->text, sizeof(why->text), "%s in it: %s", parts[i][0],
                       parts[i][1]);
    else
        (void)snprintf(why->text, sizeof(why->text),
                       "%.*s is none of afterok, afternotok, afterany, after, aftercorr "
                       "with ids, and singleton",
                       (int)strcspn(word, ":"), word);
    return -EINVAL;
}

int sbatch_dependency(const char *value, struct word_list *to, struct volt_error *why)
{
    static const char *const known[][2] = {{"afterok", "after-ok"},
                                           {"afternotok", "after-notok"},
                                           {"afterany", "after-any"},
                                           {"after", "after-start"},
                                           {"aftercorr", "after-ok-each"}};
    const size_t n = sizeof(known) / sizeof(known[0]);
    char *list = strdup(value), *save = NULL;
    int r = list ? 0 : -ENOMEM;
    for (char *word = list ? strtok_r(list, ",", &save) : NULL; word && r == 0;
         word = strtok_r(NULL, ",", &save)) {
        char *ids = strchr(word, ':');
        size_t i = 0, len = ids ? (size_t)(ids - word) : strlen(word);
        while (i < n && (strlen(known[i][0]) != len || strncmp(known[i][0], word, len)))
            i++;
        if (!ids && strcmp(word, "singleton") == 0)
            r = word_list_add(to, "--singleton");
        else if (!ids || i == n || strpbrk(word, "?+_"))
            r = no_dependency(word, why);
        for (char *at = ids; at && r == 0 && (at = strchr(at, ':')); *at = ',')
            ;
        if (r == 0 && ids)
            r = are_ids(ids + 1) ? word_list_addf(to, "--%s=%s", known[i][1], ids + 1)
                                 : -ENOENT;
    }
    free(list);
    return r;
}

static int take_dependency(struct sbatch *s, const char *ours, const char *value,
                           struct word_list *to)
{
    (void)ours;
    return sbatch_dependency(value, to, &s->hint);
}

/* Takes the value for a variable, and notes that this is all. */
static int take_ntasks(struct sbatch *s, const char *ours, const char *value,
                       struct word_list *to)
{
    (void)ours;
    (void)to;
    (void)snprintf(s->ntasks, sizeof(s->ntasks), "%s", value);
    (void)snprintf(s->hint.text, sizeof(s->hint.text),
                   "sets $SLURM_NTASKS here; the script runs once all the same");
    return -EINVAL;
}

static int take_cpus(struct sbatch *s, const char *ours, const char *value,
                     struct word_list *to)
{
    (void)ours;
    (void)to;
    (void)snprintf(s->cpus, sizeof(s->cpus), "%s", value);
    (void)snprintf(s->hint.text, sizeof(s->hint.text),
                   "sets $SLURM_CPUS_PER_TASK here; it claims and limits no CPUs");
    return -EINVAL;
}

/* Notes --mem, in MiB unless it says K, M, G or T; 0 is all that the machine has. It is
 * of a cgroup, so only with the voltd known is it seen whether there can be one. */
static int take_mem(struct sbatch *s, const char *ours, const char *value,
                    struct word_list *to)
{
    char *end;
    (void)ours;
    (void)to;
    errno = 0;
    unsigned long long n = strtoull(value, &end, 10);
    int unit = *end ? toupper((unsigned char)*end++) : 'M';
    if (errno || *value < '0' || *value > '9' || !strchr("KMGT", unit) ||
        (*end && strcasecmp(end, "B") != 0))
        return -EDOM;
    s->mem[0] = '\0';
    if (n > 0)
        (void)snprintf(s->mem, sizeof(s->mem), "%llu%c", n, unit);
    return 0;
}

static const struct known table[] = {
    {"job-name", 'J', take_same, "name", false, false},
    {"array", 'a', take_same, "array", false, false},
    {"time", 't', take_time, "timeout", false, false},
    {"output", 'o', take_path, "output", false, false},
    {"error", 'e', take_path, "error", false, false},
    {"input", 'i', take_path, "stdin", false, false},
    {"chdir", 'D', take_same, "chdir", false, false},
    {"open-mode", 0, take_open_mode, "", false, false},
    {"export", 0, take_export, "env", false, false},
    {"comment", 0, take_comment, "label", false, false},
    {"nice", 0, take_nice, "priority", false, false},
    {"requeue", 0, take_requeue, "on-lost", true, false},
    {"no-requeue", 0, take_no_requeue, "on-lost", true, false},
    {"wait", 'W', take_same, "wait", true, false},
    {"quiet", 'Q', take_same, "quiet", true, false},
    {"parsable", 0, take_same, "quiet", true, false},
    {"dependency", 'd', take_dependency, "after", false, true},
    {"begin", 'b', take_begin, "at", false, false},
    {"deadline", 0, take_same, "start-by", false, false},
    {"hold", 'H', take_same, "hold", true, false},
    {"ntasks", 'n', take_ntasks, "", false, false},
    {"cpus-per-task", 'c', take_cpus, "", false, false},
    {"mem", 0, take_mem, "", false, false},
};
enum { KNOWN = sizeof(table) / sizeof(table[0]) };
static const struct known several; /* stands for: several names begin so */

/* Finds the option of a word: "--name", "--name=value", "-n" or "-nvalue". A long name
 * may be abbreviated as for sbatch, if unique. NULL: another option. */
static const struct known *find(const char *word)
{
    const struct known *found = NULL;
    size_t len = strcspn(word, "=");
    for (size_t i = 0; i < KNOWN; i++) {
        const struct known *k = &table[i];
        if (word[1] != '-') {
            if (k->letter && word[1] == k->letter)
                return k;
            continue;
        }
        if (len <= 2 || strncmp(word + 2, k->name, len - 2) != 0)
            continue;
        if (strlen(k->name) == len - 2)
            return k;
        found = found ? &several : k;
    }
    return found == &several ? NULL : found;
}

/* Returns the value in the word itself, or NULL. */
static const char *value_in(const char *word)
{
    const char *eq = strchr(word, '=');
    if (word[1] == '-')
        return eq ? eq + 1 : NULL;
    return word[1] && word[2] ? word + 2 : NULL;
}

#define NEED_NOT "names what this machine need not have, and is left out; if it has, say "

/* Returns what is said of an option that is left out; NULL: it has no equal. */
static const char *hint_of(const char *word)
{
    static const char *const hints[][2] = {
        {"--partition", NEED_NOT "#VOLT --queue=NAME"},
        {"-p", NEED_NOT "#VOLT --queue=NAME"},
        {"--licenses", NEED_NOT "#VOLT --sem=NAME:TAKE"},
        {"-L", NEED_NOT "#VOLT --sem=NAME:TAKE"},
        {"--exclusive",
         "is a lock here, and is left out; to run alone of those that claim it, "
         "say #VOLT --lock=machine"},
    };
    size_t len = word[1] == '-' ? strcspn(word, "=") : 2;
    for (size_t i = 0; i < sizeof(hints) / sizeof(*hints); i++)
        if (strlen(hints[i][0]) == len && strncmp(hints[i][0], word, len) == 0)
            return hints[i][1];
    return NULL;
}

/* Takes the option at words[0]; *ret_used: the number of its words. */
static int take(struct sbatch *s, char *const *words, struct word_list *to,
                size_t *ret_used)
{
    const struct known *k = words[0][0] == '-' ? find(words[0]) : NULL;
    const char *value = k && k->flag ? NULL : value_in(words[0]);
    bool apart = !value && !(k && k->flag) && words[1] && words[1][0] != '-' &&
                 !(k && strcmp(k->name, "nice") == 0);
    *ret_used = apart ? 2 : 1;
    value = apart ? words[1] : value;
    s->hint.text[0] = '\0';
    bool wants = k && !k->flag && k->take != take_nice;
    int r = k && (value || !wants) ? k->take(s, k->ours, value, to) : -EINVAL;
    if (r == -ENOENT)
        say("%s: line %u: %s%s%s: the id of a job is a number, such as 17", s->path,
            s->line, words[0], apart ? " " : "", apart ? words[1] : "");
    if (r == -EDOM) {
        say("%s: line %u: %s%s%s is no value of this option, for sbatch neither", s->path,
            s->line, words[0], apart ? " " : "", apart ? words[1] : "");
        return -EINVAL;
    }
    if (r != -EINVAL)
        return r;
    if (k && k->needed) {
        say("%s: line %u: %s%s%s of Slurm has no equal here, and without it the job would "
            "start too early%s%s",
            s->path, s->line, words[0], apart ? " " : "", apart ? words[1] : "",
            *s->hint.text ? "; " : "", s->hint.text);
        return -EINVAL;
    }
    const char *hint = *s->hint.text ? s->hint.text : hint_of(words[0]);
    say("note: %s: line %u: %s%s%s of Slurm %s", s->path, s->line, words[0],
        apart ? " " : "", apart ? words[1] : "",
        hint ? hint : "has no equal here, and is left out");
    return 0;
}

int sbatch_line(struct sbatch *s, const char *line, const char *path, unsigned number,
                struct word_list *to)
{
    struct word_list words = {0};
    size_t used;
    int r = word_list_split(&words, line);
    s->path = path;
    s->line = number;
    if (r == -EINVAL)
        say("%s: line %u: a quote is not closed", path, number);
    for (size_t i = 0; r == 0 && i < words.n; i += used)
        r = take(s, &words.at[i], to, &used);
    word_list_fini(&words);
    return r;
}

int sbatch_option(const char *name, const char *value, struct word_list *to)
{
    struct sbatch s = {.has_path = false};
    int r = -EINVAL;

    for (size_t i = 0; i < KNOWN; i++)
        if (strcmp(table[i].name, name) == 0 && !table[i].flag)
            r = table[i].take(&s, table[i].ours, value, to);
    sbatch_fini(&s);
    return r == -ENOMEM || r == 0 ? r : -EINVAL;
}

/* --- variables ---------------------------------------------------------------------- */

static int set(struct word_list *to, const char *name, const char *value)
{
    return word_list_addf(to, "--env=SLURM_%s=%s", name, value);
}

int sbatch_variables(const struct sbatch *s, struct word_list *to)
{
    char directory[PATH_MAX], host[HOST_NAME_MAX + 1] = "localhost", cpus[24];
    if (!getcwd(directory, sizeof(directory))) {
        int r = -errno;
        say("$SLURM_SUBMIT_DIR: %s", strerror(-r));
        return r;
    }
    (void)gethostname(host, sizeof(host) - 1);
    (void)snprintf(cpus, sizeof(cpus), "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    const char *ntasks = *s->ntasks ? s->ntasks : "1";
    const struct {
        const char *name, *value;
    } all[] = {{"SUBMIT_DIR", directory}, {"SUBMIT_HOST", host},  {"JOB_NODELIST", host},
               {"NODELIST", host},        {"JOB_NUM_NODES", "1"}, {"NNODES", "1"},
               {"NTASKS", ntasks},        {"NPROCS", ntasks},     {"CPUS_ON_NODE", cpus},
               {"PROCID", "0"},           {"LOCALID", "0"},       {"NODEID", "0"}};
    int r = *s->cpus ? set(to, "CPUS_PER_TASK", s->cpus) : 0;
    for (size_t i = 0; r == 0 && i < sizeof(all) / sizeof(*all); i++)
        r = set(to, all[i].name, all[i].value);
    return r;
}

void sbatch_fini(struct sbatch *s)
{
    word_list_fini(&s->noted);
}
