/* See options.h. */
#include "client/options.h"
#include "client/term.h"
#include "client/say.h"
#include "wire/suggest.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 96 };

const struct option_entry options_connection[] = {
    {"user", OPTION_USER, NULL, "talk to the voltd of this user only"},
    {"system", OPTION_SYSTEM, NULL, "talk to the voltd of the system only"},
    {"address", OPTION_ADDRESS, "ADDRESS",
     "the job socket: unix:PATH or a path (VOLT_ADDRESS)"},
    {"control-address", OPTION_CONTROL_ADDRESS, "ADDRESS",
     "the control socket, where it is not control.sock beside "
     "the job socket (VOLT_CONTROL_ADDRESS)"},
    {NULL, 0, NULL, NULL},
};

const struct option_entry options_admin[] = {
    {"all-users", OPTION_ALL_USERS, NULL,
     "as an administrator, through the control socket: what is everybody's"},
    {NULL, 0, NULL, NULL},
};

bool options_connection_take(struct address_choice *choice, int key, const char *arg)
{
    switch (key) {
    case OPTION_USER:
        choice->scope = ADDRESS_USER;
        return true;
    case OPTION_SYSTEM:
        choice->scope = ADDRESS_SYSTEM;
        return true;
    case OPTION_ADDRESS:
        choice->jobs = arg;
        return true;
    case OPTION_CONTROL_ADDRESS:
        choice->control = arg;
        return true;
    case OPTION_ALL_USERS:
        choice->admin = true;
        return true;
    default:
        return false;
    }
}

static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

void options_connection_finish(struct address_choice *choice)
{
    /* --user or --system overrides addresses of the environment. */
    bool told = choice->scope != ADDRESS_ANY || choice->jobs;
    if (!told)
        choice->jobs = environment("VOLT_ADDRESS");
    if (!told && !choice->control)
        choice->control = environment("VOLT_CONTROL_ADDRESS");
}

struct getopt_tables {
    struct option longs[MOST + 1];
    const char *names[MOST + 1];
    char shorts[3 * MOST + 3];
};

static void build(const struct options *o, struct getopt_tables *t)
{
    size_t n = 0, s = 0;
    t->shorts[s++] = o->stop_at_operand ? '+' : ':';
    if (o->stop_at_operand)
        t->shorts[s++] = ':';
    for (const struct option_entry *const *table = o->tables; *table; table++)
        for (const struct option_entry *e = *table; e->help && n < MOST; e++) {
            int has = !e->arg            ? no_argument
                      : e->arg[0] == '[' ? optional_argument
                                         : required_argument;
            t->longs[n] = (struct option){e->name, has, NULL, e->key};
            t->names[n++] = e->name;
            if (e->key < OPTION_LONG) {
                t->shorts[s++] = (char)e->key;
                if (has == required_argument)
                    t->shorts[s++] = ':';
            }
        }
    t->longs[n] = (struct option){NULL, 0, NULL, 0};
    t->names[n] = NULL;
    t->shorts[s] = '\0';
}

const struct option_entry *options_find(const struct options *o, int key)
{
    for (const struct option_entry *const *table = o->tables; *table; table++)
        for (const struct option_entry *e = *table; e->help; e++)
            if (e->key == key)
                return e;
    return NULL;
}

/* Writes the option that failed: a known one by its long name, others as written. */
static void written(const struct options *o, char *buf, size_t size)
{
    const struct option_entry *known = optopt ? options_find(o, optopt) : NULL;
    const char *word = o->argv[optind > 0 ? optind - 1 : 0];
    if (known)
        (void)snprintf(buf, size, "--%s", known->name);
    else if (optopt)
        (void)snprintf(buf, size, "-%c", optopt);
    else
        (void)snprintf(buf, size, "%.*s", (int)strcspn(word, "="), word);
}

/* Returns the value of an unknown option: after "=", or the next word; NULL: none. */
static const char *value_of_unknown(const struct options *o)
{
    const char *equals = strchr(o->argv[optind > 0 ? optind - 1 : 0], '=');
    return equals ? equals + 1 : optind < o->argc ? o->argv[optind] : NULL;
}

/* Returns the name here of an option of other programs; NULL: unknown. */
static const char *called_here(const struct options *o, const char *word)
{
    char padded[72];
    (void)snprintf(padded, sizeof(padded), " %s ", word);
    for (const struct option_elsewhere *e = o->elsewhere; e && e->words; e++)
        if (strstr(e->words, padded))
            return e->ours;
    return NULL;
}

/* Returns the words before that name. */
static const char *use_of(const char *ours)
{
    const bool leave = strncmp(ours, OPTION_LEAVE_OUT, strlen(OPTION_LEAVE_OUT)) == 0;
    return leave ? "" : "use ";
}

static int complain(const struct options *o, const struct getopt_tables *t, int got)
{
    char word[64];
    written(o, word, sizeof(word));
    if (got != ':' && o->explain && o->explain(word, value_of_unknown(o)))
        return OPTION_BAD;
    const char *near = NULL, *ours = called_here(o, word);
    if (word[0] == '-' && word[1] == '-')
        near = suggest(word + 2, t->names);
    if (got == ':')
        say("option %s needs a value; try --help", word);
    else if (near && strcmp(near, word + 2) == 0)
        say("option %s takes no value; %s%s", word, ours ? use_of(ours) : "try ",
            ours ? ours : "--help");
    else if (ours)
        say("unknown option %s; %s%s", word, use_of(ours), ours);
    else if (near)
        say("unknown option %s; did you mean --%s?", word, near);
    else
        say("unknown option %s; try --help", word);
    return OPTION_BAD;
}

/* Refuses an abbreviated long option: a later option may begin in the same way, and
 * --time of other programs is minutes, not --timeout. Returns whether it did. */
static bool is_abbreviated(const struct options *o, const char *name)
{
    const char *word = o->argv[optind - 1];
    char written[64];
    if (optarg == word)
        word = o->argv[optind - 2];
    (void)snprintf(written, sizeof(written), "%.*s", (int)strcspn(word, "="), word);
    if (strcmp(written + 2, name) == 0)
        return false;
    const char *ours = called_here(o, written);
    if (ours)
        say("unknown option %s; %s%s", written, use_of(ours), ours);
    else
        say("unknown option %s; did you mean --%s?", written, name);
    return true;
}

/* Returns whether the value is the "--" that ends the options; not that of --name=--. */
static bool is_forgotten(const struct options *o)
{
    return strcmp(optarg, "--") == 0 && optarg == o->argv[optind - 1];
}

int options_next(struct options *o)
{
    struct getopt_tables t;
    build(o, &t);
    if (!o->started) {
        optind = 0; /* glibc: resets all state of an earlier argv */
        o->started = true;
    }
    opterr = 0;
    int at = -1; /* index of the long option */
    int got = getopt_long(o->argc, o->argv, t.shorts, t.longs, &at);
    o->arg = optarg;
    if (got == -1)
        return OPTION_END;
    if (got == '?' || got == ':')
        return complain(o, &t, got);
    if (at >= 0 && is_abbreviated(o, t.names[at]))
        return OPTION_BAD;
    if (optarg && (!*optarg || is_forgotten(o))) {
        /* Mostly an empty variable of a script, or a forgotten value. */
        say("--%s: a value is needed%s%s", options_find(o, got)->name,
            *optarg ? ", and not " : "", optarg);
        return OPTION_BAD;
    }
    return got;
}

enum { WIDTH = 79, HELP_AT = 30 };

/* Prints text in lines from column HELP_AT on; the first line begins at the present
 * column. */
static void print_wrapped(const char *text)
{
    const size_t room = WIDTH - HELP_AT;
    while (strlen(text) > room) {
        size_t len = room;
        while (len > 0 && text[len] != ' ')
            len--;
        if (len == 0) /* a word that is too long */
            len = strcspn(text, " ");
        term_print("%.*s\n%*s", (int)len, text, HELP_AT, "");
        text += len + (text[len] == ' ');
    }
    term_print("%s\n", text);
}

void options_print(const struct option_entry *table)
{
    for (const struct option_entry *e = table; e->help; e++) {
        char left[64];
        const char *sep = !e->arg ? "" : e->arg[0] == '[' ? "" : "=";
        int n = 0;
        if (e->key < OPTION_LONG)
            n = snprintf(left, sizeof(left), "-%c, ", e->key);
        else
            n = snprintf(left, sizeof(left), "    ");
        if (e->arg && e->arg[0] == '[')
            (void)snprintf(left + n, sizeof(left) - (size_t)n, "--%s[=%.*s]", e->name,
                           (int)strlen(e->arg) - 2, e->arg + 1);
        else
            (void)snprintf(left + n, sizeof(left) - (size_t)n, "--%s%s%s", e->name, sep,
                           e->arg ? e->arg : "");
        term_print("  %-28s", left);
        if (strlen(left) >= HELP_AT - 2)
            term_print("\n%*s", HELP_AT, "");
        print_wrapped(e->help);
    }
}
