/* See foreign.h. */
#include "client/voltctl/foreign.h"
#include "client/say.h"
#include "client/slurm_advice.h"
#include "client/word_list.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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
    {" run exec add new push submit qsub sbatch srun bsub at batch ts tsp nq "
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
     "`voltctl queue set default slots=N` says how many jobs run at a time, `voltctl queue set "
     "QUEUE max=N` how many of one queue"},
    {" create ",
     "use `volt-submit COMMAND` for a job, `voltctl queue create NAME` for a queue"},
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

/* --- lines with their operands ------------------------------------------------------ */

enum { LINE = 512 };

static bool is_number(const char *text)
{
    return text && *text && !text[strspn(text, "0123456789")];
}

/* Returns the value of an operand as jobid=6, whose name may be abbreviated to `least`
 * letters; NULL: another operand. */
static const char *value_of(const char *word, const char *name, size_t least)
{
    const char *equals = word ? strchr(word, '=') : NULL;
    const size_t len = equals ? (size_t)(equals - word) : 0;

    return len >= least && len <= strlen(name) && strncasecmp(word, name, len) == 0
               ? equals + 1
               : NULL;
}

/* Returns the value of an option of one letter or in full, in one word or two; NULL: it
 * is not given. */
static const char *option_of(char *const *argv, char letter, const char *name)
{
    const size_t len = strlen(name);

    for (; *argv; argv++) {
        const char *word = *argv;

        if (word[0] != '-')
            continue;
        if (word[1] == letter)
            return word[2] ? word + 2 : argv[1];
        if (word[1] == '-' && strncmp(word + 2, name, len) == 0 &&
            (!word[2 + len] || word[2 + len] == '='))
            return word[2 + len] ? word + 3 + len : argv[1];
    }
    return NULL;
}

/* Appends a word and a blank before it. */
static void add(char line[LINE], const char *word)
{
    const size_t len = strlen(line);

    (void)snprintf(line + len, LINE - len, "%s%s", len ? " " : "", word);
}

static void add_all(char line[LINE], char *const *words)
{
    for (; *words; words++)
        add(line, *words);
}

/* --- pueue -------------------------------------------------------------------------- */

/* parallel 2 --group gpu */
static bool parallel(char *const *argv, char line[LINE])
{
    const char *group = option_of(argv, 'g', "group"), *n = "N";
    char word[64];

    for (char *const *at = argv; *at; at++)
        if (is_number(*at))
            n = *at;
    if (!group)
        return false;
    (void)snprintf(word, sizeof(word), "max=%s", n);
    add(line, "voltctl queue set");
    add(line, group);
    add(line, word);
    return true;
}

/* group add gpu --parallel 2; group remove gpu */
static bool group(char *const *argv, char line[LINE])
{
    const bool adds = argv[0] && strcmp(argv[0], "add") == 0;
    const char *most = option_of(argv, 'p', "parallel");
    char word[64];

    if (!argv[0] || !argv[1] || argv[1][0] == '-' ||
        (!adds && strcmp(argv[0], "remove") != 0))
        return false;
    add(line, adds ? "voltctl queue create" : "voltctl queue delete");
    add(line, argv[1]);
    (void)snprintf(word, sizeof(word), "max=%s", most ? most : "");
    if (adds && most)
        add(line, word);
    return true;
}

/* --- scontrol ----------------------------------------------------------------------- */

/* top 6 */
static bool top(char *const *argv, char line[LINE])
{
    if (!argv[0] || (*argv[0] != '@' && !isdigit((unsigned char)*argv[0])))
        return false;
    add(line, "voltctl first");
    add_all(line, argv);
    return true;
}

/* create gpu; create partition=gpu */
static bool create(char *const *argv, char line[LINE])
{
    const char *name = value_of(argv[0], "partitionname", 4);

    if (!name && (!argv[0] || argv[1] || strpbrk(argv[0], "/= ")))
        return false;
    add(line, "voltctl queue create");
    add(line, name ? name : argv[0]);
    return true;
}

/* update partition=gpu state=down */
static bool update_queue(char *const *argv, char line[LINE])
{
    static const char *const states[][2] = {
        {"up", "resume"}, {"down", "pause"}, {"inactive", "pause"}, {"drain", "drain"}};
    const char *name = value_of(argv[0], "partitionname", 4), *verb = NULL;
    const char *state = name ? value_of(argv[1], "state", 2) : NULL;

    for (size_t i = 0; state && i < sizeof(states) / sizeof(states[0]); i++)
        if (strcasecmp(state, states[i][0]) == 0)
            verb = states[i][1];
    if (!name)
        return false;
    add(line, "voltctl queue");
    add(line, verb ? verb : "set");
    add(line, name);
    if (!verb)
        add(line, "SETTING=VALUE");
    return true;
}

/* update jobid=6 starttime=22:00 priority=5 */
static bool update(char *const *argv, char line[LINE])
{
    const char *id = value_of(argv[0], "jobid", 3);
    struct word_list words = {0};
    int r = id && argv[1] ? 0 : -1;

    if (update_queue(argv, line))
        return true;
    for (char *const *at = argv + 1; r == 0 && *at; at++)
        r = slurm_advice_update(*at, &words);
    if (r == 0 && words.n == 1 && strcmp(words.at[0], "hold") == 0) {
        add(line, "voltctl hold");
        add(line, id);
    } else if (r == 0) {
        add(line, "voltctl edit");
        add(line, id);
        add_all(line, words.at);
    }
    word_list_fini(&words);
    return r == 0;
}

static bool scontrol(char *const *argv, char line[LINE])
{
    static const char *const verbs[][2] = {
        {"hold", "hold"},        {"uhold", "hold"},     {"release", "release"},
        {"suspend", "pause"},    {"resume", "resume"},  {"requeue", "retry"},
        {"wait_job", "wait"},    {"top", "first"},      {"show job", "status"},
        {"show jobs", "status"}, {"write", "show --script"}};
    const char *ours = NULL;
    char word[64];

    if (!argv[0] || !argv[1])
        return false;
    if (strcmp(argv[0], "update") == 0)
        return update(argv + 1, line);
    if (strcmp(argv[0], "create") == 0)
        return create(argv + 1, line);
    const bool two = strcmp(argv[0], "show") == 0 || strcmp(argv[0], "write") == 0;
    if (two && !argv[2])
        return false;
    (void)snprintf(word, sizeof(word), "%s%s%s", argv[0],
                   strcmp(argv[0], "show") == 0 ? " " : "",
                   strcmp(argv[0], "show") == 0 ? argv[1] : "");
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (strcmp(verbs[i][0], word) == 0)
            ours = verbs[i][1];
    if (!ours)
        return false;
    (void)snprintf(word, sizeof(word), "voltctl %s", ours);
    add(line, word);
    for (argv += two ? 2 : 1; *argv; argv++)
        add(line, value_of(*argv, "jobid", 3) ? value_of(*argv, "jobid", 3) : *argv);
    return true;
}

/* Makes the line that does the same, of what is typed. Returns false if that does not
 * say. */
static bool line_of(char *const *argv, char line[LINE])
{
    static const struct {
        const char *verb;
        bool (*line)(char *const *argv, char line[LINE]);
    } known[] = {{"parallel", parallel}, {"group", group},   {"top", top},
                 {"scontrol", scontrol}, {"create", create}, {"update", update}};

    *line = '\0';
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(argv[0], known[i].verb) == 0)
            return known[i].line(argv + 1, line);
    return false;
}

/* --- what is said ------------------------------------------------------------------- */

static bool is_one_of(const char *words, const char *name)
{
    char word[32];
    int n = snprintf(word, sizeof(word), " %s ", name);

    return n < (int)sizeof(word) && !strpbrk(name, " ") && strstr(words, word);
}

/* Returns whether it would change how many elements of an array run at once. */
static bool is_throttle(char *const *argv)
{
    const bool updates = strcmp(argv[0], "update") == 0 ||
                         (strcmp(argv[0], "scontrol") == 0 && argv[1] &&
                          strcmp(argv[1], "update") == 0);

    while (updates && *argv && !value_of(*argv, "ArrayTaskThrottle", 5))
        argv++;
    return updates && *argv;
}

bool foreign_say(char *const *argv)
{
    const char *name = argv[0];
    char line[LINE];

    if (is_throttle(argv)) {
        say("voltctl has no verb %s; the %%8 of an array stays as it was submitted: a "
            "semaphore can be changed, `volt-submit --sem=NAME:1/8` and `voltctl locks "
            "resize NAME N`",
            name);
        return true;
    }
    if (line_of(argv, line)) {
        say("voltctl has no verb %s; use `%s`", name, line);
        return true;
    }
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
