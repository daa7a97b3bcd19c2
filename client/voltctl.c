/* voltctl: queries and steers voltd. Each verb is a file in client/voltctl/. */
#include "client/say.h"
#include "client/term.h"
#include "wire/suggest.h"
#include "client/voltctl/foreign.h"
#include "client/voltctl/verbs.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const struct verb *const verbs[] = {
    &verb_list,   &verb_status,   &verb_why,     &verb_graph, &verb_show,    &verb_logs,
    &verb_wait,   &verb_events,   &verb_cancel,  &verb_hold,  &verb_release, &verb_pause,
    &verb_resume, &verb_edit,     &verb_first,   &verb_retry, &verb_clean,   &verb_kill,
    &verb_queues, &verb_queue,    &verb_locks,   &verb_stats, &verb_tasks,   &verb_config,
    &verb_reload, &verb_shutdown, &verb_version,
};
enum { VERBS = sizeof(verbs) / sizeof(verbs[0]), OPT_VERSION = OPTION_LONG };

static const struct option_entry own_options[] = {
    {"help", 'h', NULL, "this text; after a verb, the text of that verb"},
    {"version", OPT_VERSION, NULL, "the version of voltctl"},
    {NULL, 0, NULL, NULL},
};

static void help(void)
{
    (void)fputs(
        "Usage: voltctl [OPTIONS] [VERB [OPTIONS] [ID...]]\n"
        "Look at the jobs of voltd, and steer them and it. Without a verb: list.\n"
        "\nVerbs:\n",
        stdout);
    for (size_t i = 0; i < VERBS; i++) {
        char left[64];
        (void)snprintf(left, sizeof(left), "%s %s", verbs[i]->name, verbs[i]->operands);
        term_print("  %-20s %s\n", left, verbs[i]->summary);
    }
    (void)puts("  help [VERB]          Show the help of a verb");
    (void)puts("\nOptions (`voltctl VERB --help` shows those of a verb):");
    options_print(own_options);
    options_print(options_connection);
    options_print(options_admin);
    (void)fputs(
        "\nAn ID is what volt-submit printed; one element of an array is ID_INDEX. Ranges\n"
        "are 12-40 and 17_3-20, and 17_[1-3,7,9-20:2] is a list of elements; @last is\n"
        "what you have submitted last, a job or all jobs of a list; @last_3 an element\n"
        "of an array. A name, or name:NAME, is your newest job of that name, key:KEY the\n"
        "one with that key. Between several are blanks or commas.\n"
        "\nExamples:\n"
        "  voltctl list                       what waits and runs\n"
        "  voltctl status 12                  one job, with its last output\n"
        "  voltctl logs -f 12                 its output, while it is written\n"
        "  voltctl list --result=failed       what failed\n"
        "  voltctl cancel --name=nightly      end all jobs of a name\n"
        "\nExit codes: 0 done, 1 failed, 2 usage, 3 no voltd, 4 no such job.\n"
        "`voltctl wait` ends with the code of the jobs, as `volt-submit --wait`.\n",
        stdout);
}

/* Options of other programs (task-spooler) that are verbs here. */
static const struct option_elsewhere verbs_elsewhere[] = {
    {" -a --all ", "`voltctl list --all`"},
    {" -u ", "`voltctl list --owner=USER`; for a job that is urgent, `voltctl first ID`"},
    {" --owner --uid ", "`voltctl list --owner=USER`"},
    {" --failed ", "`voltctl list --failed`"},
    {" --state --result --name --label --queue --since --until --sort ",
     "`voltctl list`, and the option behind it"},
    {" -n --newest ", "`voltctl list --newest -n N`"},
    {" --json -o ", "`voltctl list --json`"},
    {" -f --follow ", "`voltctl logs -f ID`"},
    {" -l ", "`voltctl list`"},
    {" -c -t ", "`voltctl logs ID`, with -f to follow"},
    {" -k ", "`voltctl kill ID`"},
    {" -r ", "`voltctl cancel ID`"},
    {" -C ", "`voltctl clean --all`"},
    {" -K ", "`voltctl shutdown --cancel`"},
    {" -i ", "`voltctl status ID`"},
    {" -s ", "`voltctl list -o state ID`"},
    {" -p ", "`voltctl list -o pid ID`"},
    {" -w ", "`voltctl wait ID`"},
    {" -S ", "`voltctl queue set default slots=N`"},
    {" -V ", "--version"},
    {NULL, NULL},
};

/* Finds the verb at argv[0]. NULL: after a message. */
static const struct verb *find(char *const *argv)
{
    const char *name = argv[0];
    for (size_t i = 0; i < VERBS; i++)
        if (strcmp(verbs[i]->name, name) == 0)
            return verbs[i];
    const char *names[VERBS + 2];
    for (size_t i = 0; i < VERBS; i++)
        names[i] = verbs[i]->name;
    names[VERBS] = "help";
    names[VERBS + 1] = NULL;
    const char *near = suggest(name, names);
    if (foreign_say(argv))
        return NULL;
    if (*name == '@' || (*name >= '0' && *name <= '9')) {
        say("%s is no verb; use `voltctl status %s`", name, name);
        return NULL;
    }
    if (near)
        say("unknown verb %s; did you mean %s?", name, near);
    else
        say("unknown verb %s; try --help", name);
    return NULL;
}

/* Prints the help of the verb at argv[0]; of voltctl where there is none. */
static int run_help(char *const *argv)
{
    if (*argv && (strcmp(*argv, "help") == 0 || strcmp(*argv, "--help") == 0))
        argv++; /* help of help */
    const struct verb *verb = *argv ? find(argv) : NULL;
    if (*argv && !verb)
        return CTL_EXIT_USAGE;
    if (verb)
        ctl_help(verb);
    else
        help();
    return CTL_EXIT_OK;
}

static int run(struct ctl *ctl, int argc, char **argv)
{
    const struct option_entry *const tables[] = {own_options, options_connection,
                                                 options_admin, NULL};
    struct options o = {.tables = tables,
                        .argc = argc,
                        .argv = argv,
                        .elsewhere = verbs_elsewhere,
                        .stop_at_operand = true};
    int key;
    while ((key = options_next(&o)) != OPTION_END) {
        if (key == 'h')
            return run_help(argv + argc);
        if (key == OPT_VERSION) {
            (void)puts("voltctl " VOLT_VERSION);
            return CTL_EXIT_OK;
        }
        if (key == OPTION_BAD)
            return CTL_EXIT_USAGE;
        (void)options_connection_take(&ctl->choice, key, o.arg);
    }
    if (optind >= argc) { /* without a verb: list */
        static char *list[] = {(char *)"list", NULL};
        ctl->verb = &verb_list;
        ctl->argc = 1;
        ctl->argv = list;
        return ctl->verb->run(ctl);
    }
    if (!*argv[optind]) {
        say("a verb is needed, such as list or status; try --help");
        return CTL_EXIT_USAGE;
    }
    if (strcmp(argv[optind], "help") == 0)
        return run_help(argv + optind + 1);
    ctl->verb = find(argv + optind);
    if (!ctl->verb)
        return CTL_EXIT_USAGE;
    ctl->argc = argc - optind;
    ctl->argv = argv + optind;
    return ctl->verb->run(ctl);
}

int main(int argc, char **argv)
{
    struct ctl ctl = {0};
    say_init();
    int code = run(&ctl, argc, argv);
    client_free(ctl.client);
    json_decref(ctl.call.parameters);
    ctl_ids_free(&ctl);
    return say_finish(code, CTL_EXIT_FAILED);
}
