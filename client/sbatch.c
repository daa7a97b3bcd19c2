/* See sbatch.h. */
#include "client/sbatch.h"
#include "client/say.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PRIORITY_MOST = 1000 }; /* and -1000 the least */

struct known {
    const char *name;
    char letter;
    /* NULL: it may not be left out. */
    int (*take)(struct sbatch *s, const char *ours, const char *value,
                struct word_list *to);
    const char *ours;
    bool flag; /* has no value */
};

static int take_same(struct sbatch *s, const char *ours, const char *value,
                     struct word_list *to)
{
    (void)s;
    return value ? word_list_addf(to, "--%s=%s", ours, value)
                 : word_list_addf(to, "--%s", ours);
}

/* Minutes, M:S, H:M:S, D-H, D-H:M or D-H:M:S. */
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
    if (with_days || n == 2) /* the first one is hours */
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
        return -EINVAL;
    return word_list_addf(to, "--%s=%" PRIu64 "s", ours, seconds);
}

/* %j, %A_%a, %a and %x have equals; %N and others have none. */
static int take_path(struct sbatch *s, const char *ours, const char *value,
                     struct word_list *to)
{
    static const char *const places[][2] = {
        {"%A_%a", "{id}"}, {"%j", "{id}"}, {"%a", "{i}"}, {"%x", "{name}"}, {"%%", "%"}};
    const size_t count = sizeof(places) / sizeof(places[0]);
    size_t len = 0, room = 3 * strlen(value) + 1; /* %x becomes {name} */
    char *path = malloc(room);
    int r = path ? 0 : -ENOMEM;
    while (r == 0 && *value) {
        size_t i = 0;
        while (i < count && strncmp(value, places[i][0], strlen(places[i][0])) != 0)
            i++;
        if (i < count) {
            len += (size_t)snprintf(path + len, room - len, "%s", places[i][1]);
            value += strlen(places[i][0]);
        } else if (*value == '%') {
            r = -EINVAL;
        } else {
            path[len++] = *value++;
        }
    }
    if (r == 0) {
        path[len] = '\0';
        r = take_same(s, ours, path, to);
    }
    s->has_path |= r == 0 && strcmp(ours, "stdin") != 0;
    free(path);
    return r;
}

/* ALL, NONE, or names and assignments with commas between them. */
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

/* What follows % in a list of indexes limits how many run at a time. */
static int take_array(struct sbatch *s, const char *ours, const char *value,
                      struct word_list *to)
{
    (void)s;
    if (strchr(value, '%'))
        say("note: --array=%s: all that have a slot run, as no array has a limit of its own",
            value);
    return word_list_addf(to, "--%s=%.*s", ours, (int)strcspn(value, "%"), value);
}

/* A nicer job is less urgent. */
static int take_nice(struct sbatch *s, const char *ours, const char *value,
                     struct word_list *to)
{
    const char *text = value ? value : "100";
    char *end;
    long nice = strtol(text, &end, 10);
    (void)s;
    if (end == text || *end)
        return -EINVAL;
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

static int take_comment(struct sbatch *s, const char *ours, const char *value,
                        struct word_list *to)
{
    (void)s;
    return word_list_addf(to, "--%s=comment=%s", ours, value);
}

static const struct known table[] = {
    {"job-name", 'J', take_same, "name", false},
    {"array", 'a', take_array, "array", false},
    {"time", 't', take_time, "timeout", false},
    {"output", 'o', take_path, "output", false},
    {"error", 'e', take_path, "error", false},
    {"input", 'i', take_path, "stdin", false},
    {"chdir", 'D', take_same, "chdir", false},
    {"open-mode", 0, take_same, "open-mode", false},
    {"export", 0, take_export, "env", false},
    {"comment", 0, take_comment, "label", false},
    {"nice", 0, take_nice, "priority", false},
    {"requeue", 0, take_requeue, "on-lost", true},
    {"no-requeue", 0, take_no_requeue, "on-lost", true},
    {"wait", 'W', take_same, "wait", true},
    {"quiet", 'Q', take_same, "quiet", true},
    {"parsable", 0, take_same, "quiet", true},
    {"dependency", 'd', NULL, NULL, false},
    {"begin", 'b', NULL, NULL, false},
    {"hold", 'H', NULL, NULL, true},
};
enum { KNOWN = sizeof(table) / sizeof(table[0]) };
static const struct known several; /* begin so */

/* The option of a word, "--name", "--name=value", "-n" or "-nvalue"; a long one may be
 * abbreviated, as sbatch allows it, where no other begins so. NULL: another. */
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

/* The value in the word itself, or NULL. */
static const char *value_in(const char *word)
{
    const char *eq = strchr(word, '=');
    if (word[1] == '-')
        return eq ? eq + 1 : NULL;
    return word[1] && word[2] ? word + 2 : NULL;
}

struct place {
    const char *path;
    unsigned line;
};

/* One option, at words[0]; *ret_used: words that belong to it. */
static int take(struct sbatch *s, char *const *words, const struct place *at,
                struct word_list *to, size_t *ret_used)
{
    const struct known *k = words[0][0] == '-' ? find(words[0]) : NULL;
    const char *value = k && k->flag ? NULL : value_in(words[0]);
    bool apart = !value && !(k && k->flag) && words[1] && words[1][0] != '-' &&
                 !(k && strcmp(k->name, "nice") == 0);
    *ret_used = apart ? 2 : 1;
    value = apart ? words[1] : value;
    if (k && !k->take) {
        say("%s: line %u: %s of Slurm has no equal here, and without it the job would start "
            "too early",
            at->path, at->line, words[0]);
        return -EINVAL;
    }
    bool wants = k && !k->flag && k->take != take_nice;
    int r = k && (value || !wants) ? k->take(s, k->ours, value, to) : -EINVAL;
    if (r != -EINVAL)
        return r;
    say("note: %s: line %u: %s%s%s of Slurm has no equal here, and is left out", at->path,
        at->line, words[0], apart ? " " : "", apart ? words[1] : "");
    return 0;
}

int sbatch_line(struct sbatch *s, const char *line, const char *path, unsigned number,
                struct word_list *to)
{
    const struct place at = {path, number};
    struct word_list words = {0};
    size_t used;
    int r = word_list_split(&words, line);
    if (r == -EINVAL)
        say("%s: line %u: a quote is not closed", path, number);
    for (size_t i = 0; r == 0 && i < words.n; i += used)
        r = take(s, &words.at[i], &at, to, &used);
    word_list_fini(&words);
    return r;
}
