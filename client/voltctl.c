/* voltctl: queries and steers voltd. Each verb is a file in client/voltctl/. */
#include "client/say.h"
#include "client/term.h"
#include "wire/suggest.h"
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
        "of an array. Between several are blanks or commas.\n"
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

/* Verbs of other programs, and their equivalents. */
static const struct {
    const char *words, *ours;
} foreign[] = {
    {" terminate delete del abort qdel atrm bkill condor_rm ", "voltctl cancel ID"},
    {" qhold ", "voltctl hold ID"},
    {" qrls unhold ", "voltctl release ID"},
    {" suspend freeze bstop qsusp ", "voltctl pause ID"},
    {" continue cont thaw unpause unsuspend bresume ", "voltctl resume ID"},
    {" fg ", "voltctl logs -f ID"},
    {" bg ", "voltctl resume ID"},
    {" reset-failed ", "voltctl clean --result=failed"},
    {" killall kill-all cancel-all ", "voltctl cancel --all"},
    {" rm remove purge forget ", "voltctl clean ID"},
    {" clear prune ", "voltctl clean --all"},
    {" reset ", "voltctl cancel --all`, then `voltctl clean --all"},
    {" ps ls jobs qstat top atq bjobs condor_q list-units list-jobs fq ", "voltctl list"},
    {" info inspect describe qinfo ", "voltctl status ID"},
    {" get dump export ", "voltctl show ID"},
    {" log output tail cat less speek peek bpeek head stdout ", "voltctl logs ID"},
    {" reason explain ", "voltctl why ID"},
    {" follow attach nqtail ", "voltctl logs -f ID"},
    {" watch monitor subscribe ", "voltctl events -f"},
    {" modify alter change update qalter bmod condor_qedit ", "voltctl edit ID"},
    {" move-to-queue qmove bswitch ", "voltctl edit -q QUEUE ID"},
    {" prio priority sprio renice nice ", "voltctl edit -p N ID"},
    {" switch swap top btop urgent ", "voltctl first ID"},
    {" signal ", "voltctl kill -s SIGNAL ID"},
    {" run exec add new push submit create qsub sbatch srun bsub at batch ts tsp nq "
     "systemd-run salloc ",
     "volt-submit COMMAND"},
    {" resize ", "voltctl locks resize"},
    {" pools licenses semaphores ", "voltctl locks"},
    {" trace ", "voltctl events"},
    {" sacct history ", "voltctl list --state=done"},
    {" metrics statistics sdiag ", "voltctl stats"},
    {" sinfo ", "voltctl queues"},
    {" quit exit halt poweroff ", "voltctl shutdown"},
    {" daemon-reload reconfigure reload-or-restart ", "voltctl reload"},
};

/* Verbs of other programs without an equivalent, with advice. */
static const struct {
    const char *words, *advice;
} missing[] = {
    {" restart rerun requeue redo again ",
     "use `voltctl retry ID`: it submits a job that has ended once more, as a new one; "
     "`systemctl restart voltd` restarts voltd itself"},
    {" stop ",
     "use `voltctl cancel ID`; `voltctl shutdown` or `systemctl stop voltd` ends voltd "
     "itself"},
    {" is-active is-failed ping health ",
     "use `voltctl version`: exit code 3 says that no voltd answers; `voltctl status ID` "
     "shows a job"},
    {" journal journalctl ",
     "use `voltctl logs ID` for a job; what voltd says is in `journalctl -u voltd`, or in "
     "voltd.log beside the socket of one that volt-submit has started"},
    {" limits set conf settings ",
     "`voltctl config` prints all settings, which are those of voltd.conf(5); `voltctl "
     "queue set NAME SETTING=VALUE` changes a queue"},
    {" scancel ", "use `voltctl cancel ID`; `voltctl kill -s SIGNAL ID` sends a signal"},
    {" squeue ",
     "use `voltctl list`; `voltctl why ID` says what a job waits for, and when it may start"},
    {" scontrol ",
     "use `voltctl status ID` for show job; `voltctl hold ID`, `voltctl release ID`; "
     "`voltctl pause ID` for suspend, `voltctl resume ID`; `voltctl edit ID` for update, `voltctl "
     "first ID` for top; `voltctl retry ID` for requeue; `voltctl queue` for partitions"},
    {" start enqueue ",
     "use `voltctl release ID` for a job that is held, `voltctl resume ID` for one that is "
     "paused, `voltctl queue resume QUEUE` for a queue; `volt-submit COMMAND` submits one, "
     "and starts voltd for its user; `systemctl start voltd` starts that of the system"},
    {" stash ", "use `voltctl hold ID`: it keeps a job that waits from starting"},
    {" parallel slots limit ",
     "`voltctl queue set default slots=N` says how many jobs run at a time"},
    {" enable disable mask unmask is-enabled ",
     "`systemctl enable voltd.socket` starts voltd when it is needed, with --user that of this "
     "user"},
    {" list-timers timers cron crontab ",
     "there are no calendars; `volt-submit --at TIME` begins a job later, and --import crontab "
     "prints what cron has"},
    {" drain undrain ",
     "use `voltctl queue drain default`: it takes no more jobs; `voltctl queue resume default` "
     "is the end of that"},
    {" group groups partition partitions ",
     "use `voltctl queues`; `voltctl queue create NAME` makes one, `voltctl queue delete NAME` "
     "takes it away"},
};

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

static bool is_one_of(const char *words, const char *name)
{
    char word[32];
    int n = snprintf(word, sizeof(word), " %s ", name);

    return n < (int)sizeof(word) && !strpbrk(name, " ") && strstr(words, word);
}

/* Returns whether the verb is one of these, after a message. */
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
            return run_help(NULL);
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
    json_decref(ctl.call.parameters);
    ctl_ids_free(&ctl);
    return say_finish(code, CTL_EXIT_FAILED);
}
