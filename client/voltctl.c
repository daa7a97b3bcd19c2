/* voltctl: asks voltd, and steers it. One verb per file in client/voltctl/. */
#include "client/say.h"
#include "client/suggest.h"
#include "client/voltctl/verbs.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const struct verb *const verbs[] = {
    &verb_list,   &verb_status, &verb_show,     &verb_logs,    &verb_wait,
    &verb_events, &verb_cancel, &verb_clean,    &verb_kill,    &verb_stats,
    &verb_config, &verb_reload, &verb_shutdown, &verb_version,
};
enum { VERBS = sizeof(verbs) / sizeof(verbs[0]), OPT_VERSION = OPTION_LONG };

static const struct option_entry own_options[] = {
    {"help", 'h', NULL, "this text; after a verb, the text of that verb"},
    {"version", OPT_VERSION, NULL, "the version of voltctl"},
    {NULL, 0, NULL, NULL},
};

static void help(void)
{
    (void)fputs("Usage: voltctl [OPTIONS] VERB [OPTIONS] [ID...]\n"
                "Look at the jobs of voltd, and steer them and it.\n\nVerbs:\n",
                stdout);
    for (size_t i = 0; i < VERBS; i++) {
        char left[64];
        (void)snprintf(left, sizeof(left), "%s %s", verbs[i]->name, verbs[i]->operands);
        (void)printf("  %-20s %s\n", left, verbs[i]->summary);
    }
    (void)puts("  help [VERB]          Show the help of a verb");
    (void)puts("\nOptions (`voltctl VERB --help` shows those of a verb):");
    options_print(own_options);
    options_print(options_connection);
    (void)fputs(
        "\nAn ID is what volt-submit printed; one element of an array is ID_INDEX.\n"
        "\nExamples:\n"
        "  voltctl list                       what waits and runs\n"
        "  voltctl status 12                  one job, with its last output\n"
        "  voltctl logs -f 12                 its output, while it is written\n"
        "  voltctl list --result=exit,signal  what failed\n"
        "  voltctl cancel --name=nightly      end all jobs of a name\n"
        "\nExit codes: 0 done, 1 failed, 2 usage, 3 no voltd, 4 no such job.\n"
        "`voltctl wait` ends with the code of the jobs, as `volt-submit --wait`.\n",
        stdout);
}

static const struct verb *find(const char *name)
{
    for (size_t i = 0; i < VERBS; i++)
        if (strcmp(verbs[i]->name, name) == 0)
            return verbs[i];
    const char *names[VERBS + 2];
    for (size_t i = 0; i < VERBS; i++)
        names[i] = verbs[i]->name;
    names[VERBS] = "help";
    names[VERBS + 1] = NULL;
    const char *near = suggest(name, names);
    if (near)
        say("unknown verb %s; did you mean %s?", name, near);
    else
        say("unknown verb %s; try --help", name);
    return NULL;
}

static int run_help(const char *name)
{
    const struct verb *verb = name ? find(name) : NULL;
    if (name && !verb)
        return CTL_EXIT_USAGE;
    if (verb)
        ctl_help(verb);
    else
        help();
    return CTL_EXIT_OK;
}

static int run(struct ctl *ctl, int argc, char **argv)
{
    const struct option_entry *const tables[] = {own_options, options_connection, NULL};
    struct options o = {
        .tables = tables, .argc = argc, .argv = argv, .stop_at_operand = true};
    int key;
    while ((key = options_next(&o)) != OPTION_END) {
        if (key == 'h')
            return run_help(NULL);
        if (key == OPT_VERSION) {
            (void)puts("voltctl " VOLT_VERSION);
            return CTL_EXIT_OK;
        }
        if (key == OPTION_BAD)
            return CTL_EXIT_USAGE;
        (void)options_connection_take(&ctl->choice, key, o.arg);
    }
    if (optind >= argc || !*argv[optind]) {
        say("a verb is needed, such as list or status; try --help");
        return CTL_EXIT_USAGE;
    }
    if (strcmp(argv[optind], "help") == 0)
        return run_help(optind + 1 < argc ? argv[optind + 1] : NULL);
    ctl->verb = find(argv[optind]);
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
    return say_finish(code, CTL_EXIT_FAILED);
}
