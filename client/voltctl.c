/* voltctl: asks voltd, and steers it. One verb per file in client/voltctl/. */
#include "client/say.h"
#include "client/term.h"
#include "wire/suggest.h"
#include "client/voltctl/verbs.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const struct verb *const verbs[] = {
    &verb_list,   &verb_status, &verb_show,   &verb_logs,     &verb_wait,
    &verb_events, &verb_cancel, &verb_clean,  &verb_kill,     &verb_stats,
    &verb_tasks,  &verb_config, &verb_reload, &verb_shutdown, &verb_version,
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
    (void)fputs(
        "\nAn ID is what volt-submit printed; one element of an array is ID_INDEX. Ranges\n"
        "are 12-40 and 17_3-20; @last is the job that you have submitted last, @last_3 an\n"
        "element of it.\n"
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

/* What fingers know from elsewhere, and what does that here. */
static const struct {
    const char *words, *ours;
} foreign[] = {
    {" stop terminate delete del abort qdel scancel atrm bkill condor_rm ",
     "voltctl cancel ID"},
    {" rm remove clear purge prune forget ", "voltctl clean"},
    {" ps ls jobs queue qstat squeue top atq bjobs condor_q ", "voltctl list"},
    {" info inspect describe scontrol qinfo ", "voltctl status ID"},
    {" get dump export ", "voltctl show ID"},
    {" log output tail cat less journal speek ", "voltctl logs ID"},
    {" why reason ", "voltctl status ID"},
    {" follow attach ", "voltctl logs -f ID"},
    {" watch monitor subscribe ", "voltctl events -f"},
    {" signal ", "voltctl kill -s SIGNAL ID"},
    {" run exec add new enqueue push submit start create qsub sbatch srun bsub at batch ts tsp nq "
     "systemd-run ",
     "volt-submit COMMAND"},
    {" sacct history ", "voltctl list --state=done"},
    {" metrics statistics sdiag sinfo ", "voltctl stats"},
    {" quit exit halt poweroff ", "voltctl shutdown"},
    {" daemon-reload reconfigure ", "voltctl reload"},
};

/* What has no verb here, and how far one comes without it. */
static const struct {
    const char *words, *advice;
} missing[] = {
    {" restart rerun retry requeue redo again ",
     "use `voltctl status ID`: it prints the command of the job, to be submitted once more; "
     "`systemctl restart voltd` restarts voltd itself"},
    {" hold pause suspend freeze ",
     "use `voltctl kill -STOP ID`: it stops a job that runs; one that waits cannot be held"},
    {" release resume unhold thaw continue cont unpause ",
     "use `voltctl kill -CONT ID`: it continues a job that was stopped"},
};

static bool is_one_of(const char *words, const char *name)
{
    char word[32];
    int n = snprintf(word, sizeof(word), " %s ", name);

    return n < (int)sizeof(word) && !strpbrk(name, " ") && strstr(words, word);
}

/* Whether it is one of them, and said. */
static bool say_ours(const char *name)
{
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        if (is_one_of(foreign[i].words, name)) {
            say("voltctl has no verb %s; use `%s`", name, foreign[i].ours);
            return true;
        }
    for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
        if (is_one_of(missing[i].words, name)) {
            say("voltctl has no verb %s; %s", name, missing[i].advice);
            return true;
        }
    return false;
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
    if (say_ours(name))
        return NULL;
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
    if (optind >= argc) { /* alone it lists */
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
    ctl_ids_free(&ctl);
    return say_finish(code, CTL_EXIT_FAILED);
}
