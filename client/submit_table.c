/* See submit_table.h. */
#include "client/submit_table.h"

#include <stdio.h>

static const struct option_entry job_options[] = {
    {"name", 'n', "NAME", "a name to show and to filter by"},
    {"label", OPT_LABEL, "KEY=VALUE", "a label to filter by; may be given many times"},
    {"queue", 'q', "QUEUE", "the queue (default: default); `voltctl queues` lists them"},
    {"priority", 'p', "N",
     "-1000 to 1000; higher starts first (default 0); in system mode one above 0 is for administrators and root"},
    {"hold", OPT_HOLD, NULL, "it does not start before `voltctl release ID`"},
    {"in", OPT_IN, "TIME", "it does not start before TIME has passed: 30s, 5m, 1h30m"},
    {"at", OPT_AT, "TIME",
     "it does not start before this date: \"2026-11-20 10:00\", 22:00 or 10pm (of today, or of "
     "tomorrow where that is past), \"tomorrow 06:00\", \"Mon 10:00\", +2h; systemd.time(7)"},
    {"start-by", OPT_START_BY, "TIME",
     "if it has not started by this date (as for --at) it ends as expired; exit code 125"},
    {"after", OPT_AFTER, "ID",
     "it does not start before this job has ended as success, and ends as dependency if "
     "that ends otherwise (Slurm's afterok; Slurm's plain after is --after-start). ID is "
     "17, 12-40, @last, name:NAME (your newest job of that name), key:KEY (the one with that "
     "--key), the id of an array, or several with commas or blanks between; may be given "
     "many times, and all are waited for, at most 256 jobs"},
    {"after-ok", OPT_AFTER_OK, "ID", "the same as --after"},
    {"after-notok", OPT_AFTER_NOTOK, "ID", "before this job has ended otherwise"},
    {"after-any", OPT_AFTER_ANY, "ID", "before this job has ended"},
    {"after-start", OPT_AFTER_START, "ID",
     "before this job, or an element of this array, has started"},
    {"after-ok-each", OPT_AFTER_OK_EACH, "ID",
     "element to element, of an array after one with as many elements: each does not start "
     "before that at its place in the other one has ended as success, and ends as "
     "dependency by itself (Slurm's aftercorr)"},
    {"after-notok-each", OPT_AFTER_NOTOK_EACH, "ID",
     "... before that has ended otherwise"},
    {"after-any-each", OPT_AFTER_ANY_EACH, "ID", "... before that has ended"},
    {"after-start-each", OPT_AFTER_START_EACH, "ID", "... before that has started"},
    {"array", OPT_ARRAY, "INDEXES",
     "one job per index: 1-1000, 1-9:2 (each second), 3,7,10-20; "
     "with %4 behind them at most 4 run at once; "
     "{i} in arguments without blanks, NAME and paths and VOLT_ARRAY_INDEX are the index; "
     "{i} keeps the width of 001-200"},
    {"each-line", OPT_EACH_LINE, "FILE",
     "one job per line that is not empty; {} in COMMAND, TEXT, "
     "NAME and KEY is the line, which otherwise becomes the "
     "last argument; - is standard input"},
    {"null", '0', NULL,
     "with --each-line: a NUL byte ends each entry, as of find -print0, and no line end"},
    {"by-path", OPT_BY_PATH, NULL,
     "run the file of a script as it is when the job starts; a script with #VOLT or "
     "#SBATCH lines is otherwise stored with the job, and runs as it was submitted"},
    {"shell", OPT_SHELL, "TEXT", "run TEXT with /bin/sh -c instead of COMMAND"},
    {"key", OPT_KEY, "KEY",
     "submit once: the same job with this key again prints "
     "the id of the first one and submits nothing"},
    {"if-exists", OPT_IF_EXISTS, "WHAT",
     "what to do when a job with the key is there: same (default), as said for --key; "
     "reject; coalesce, print its id while it is not done; replace, cancel it and start "
     "when it has ended"},
#define KIND(constant, name, ...) " " #name
    {"kind", OPT_KIND, "KIND", "what it is (default: exec); one of:"
#include "daemon/job/kinds.def"
    },
    {"duration", OPT_DURATION, "TIME", "how long a job of kind sleep takes"},
    {NULL, 0, NULL, NULL},
};

static const struct option_entry claim_options[] = {
    {"lock", OPT_LOCK, "NAME", "your lock NAME, alone; may be given many times"},
    {"lock-shared", OPT_LOCK_SHARED, "NAME",
     "your lock NAME, together with others that share it; may be given many times"},
    {"sem", OPT_SEM, "NAME[:TAKE][/CAPACITY]",
     "permits of your semaphore NAME: TAKE (default 1) of CAPACITY (default: as many as "
     "it has, or 1); may be given many times"},
    {"rate", OPT_RATE, "NAME=N/UNIT[,burst=B]",
     "start not more often than your rate NAME allows: N in each s, min, h or d; B "
     "(default 1) at once after a rest; may be given many times"},
    {"singleton", OPT_SINGLETON, NULL,
     "the lock of the job's own name: one such job runs at a time"},
    {NULL, 0, NULL, NULL},
};

static const struct option_entry run_options[] = {
    {"chdir", 'd', "DIR", "the directory it runs in (default: this one)"},
    {"same-dir", OPT_SAME_DIR, NULL, "run it in this directory (the default)"},
    {"env", 'E', "VAR[=VALUE]",
     "set a variable, or pass on this one; may be given many times"},
    {"no-env", OPT_NO_ENV, NULL,
     "pass on no variables but those of -E; it has HOME, PATH and a few more "
     "of its account (the default with the voltd of the system or of another "
     "user)"},
    {"all-env", OPT_ALL_ENV, NULL,
     "pass on all variables (the default with a voltd of your own)"},
    {"no-limits", OPT_NO_LIMITS, NULL,
     "do not pass on the resource limits of this shell "
     "(ulimit): the job has those of voltd"},
    {"umask", OPT_UMASK, "MODE", "octal file mode mask (default: this one)"},
    {"stdin", OPT_STDIN, "FILE",
     "standard input (default: /dev/null); with - volt-submit "
     "reads its own and keeps it with the job"},
    {"output", OPT_OUTPUT, "WHERE",
     "where standard output goes: file (default; `voltctl "
     "logs` prints it), null, or a PATH; {id}, {i} and {name} "
     "in it are those of the job"},
    {"error", OPT_ERROR, "WHERE",
     "where standard error goes (default: to standard output): "
     "file (`voltctl logs --stderr` prints it), null or a PATH"},
    {"open-mode", OPT_OPEN_MODE, "MODE",
     "how a file at PATH is opened: append (default) keeps "
     "what is in it, truncate empties it"},
    {NULL, 0, NULL, NULL},
};

static const struct option_entry end_options[] = {
    {"timeout", OPT_TIMEOUT, "TIME", "stop it after TIME of running; exit code 124"},
    {"kill-after", OPT_KILL_AFTER, "TIME",
     "time between the stop signal and SIGKILL (default: KillAfterSec= of voltd, 10s)"},
    {"output-limit", OPT_OUTPUT_LIMIT, "SIZE",
     "kill it when it has printed more; exit code 125 "
     "(default: OutputLimit= of voltd, none)"},
    {"mem", OPT_MEM, "SIZE",
     "kill it when all its processes together need more memory, such as 500M or 4G; it "
     "ends as oom, exit code 137. This option and the next six are limits of the job's "
     "cgroup, which it has where systemd starts voltd"},
    {"mem-high", OPT_MEM_HIGH, "SIZE",
     "slow it down while they use more memory, which the kernel takes back"},
    {"swap", OPT_SWAP, "SIZE", "so much of its memory may be swapped out; 0: none of it"},
    {"pids-max", OPT_PIDS_MAX, "N", "it may have so many processes and threads"},
    {"cpu-max", OPT_CPU_MAX, "PERCENT%",
     "it gets so much CPU time at most: 50% is half of one CPU, 250% two and a half"},
    {"cpu-weight", OPT_CPU_WEIGHT, "N",
     "its share of the CPUs beside your other jobs, 1 to 10000 (normal: 100)"},
    {"io-weight", OPT_IO_WEIGHT, "N",
     "its share of the disks beside your other jobs, 1 to 10000 (normal: 100)"},
    {"stop-signal", OPT_STOP_SIGNAL, "SIGNAL",
     "signal sent to ask it to stop (default TERM)"},
    {"kill-mode", OPT_KILL_MODE, "MODE",
     "which processes signals reach: tree (default), all of the job, and what is left of "
     "them when the first one has ended is killed; main, the first one"},
    {"success", OPT_SUCCESS, "CODES",
     "exit codes that are success, such as 0,3 or 0-2 (default: 0 alone)"},
    {"retry", OPT_RETRY, "N",
     "run it again when it fails, up to N times; its end is that of the last attempt"},
    {"backoff", OPT_BACKOFF, "TIME[..MOST]",
     "the time before it runs again, doubled each time up to MOST (default 1s..1m; a TIME "
     "alone stays the same); up to a quarter is added"},
    {"retry-on", OPT_RETRY_ON, "RESULTS",
     "after which results it runs again, of exit, signal, timeout (default: these three), "
     "exec_failed and oom; exit:75,100-110 is with these exit codes alone"},
    {"max-total", OPT_MAX_TOTAL, "TIME",
     "it does not begin again later than TIME after its first start"},
    {"on-lost", OPT_ON_LOST, "WHAT",
     "what to do when its exit status is not known (the "
     "machine restarted): fail (default), or retry it"},
    {NULL, 0, NULL, NULL},
};

static const struct option_entry submit_options_table[] = {
    {"file", 'f', "FILE",
     "many jobs: NDJSON (one spec a line) or a JSON array of "
     "specs; - is standard input. Other options are defaults "
     "for what a spec does not say. With \"local\": \"a\" in one "
     "and \"after\": [{\"local\": \"a\"}] in others these wait for "
     "it, and all are taken or none"},
    {"import", OPT_IMPORT, "TOOL",
     "print your jobs of crontab, at or tsp as specs for -f; "
     "nothing is submitted"},
    {"wait", 'w', NULL, "wait for the end, and exit as the job does"},
    {"follow", 'F', NULL,
     "print the output while it runs, then exit as --wait; "
     "of several jobs each line begins with the id of its job. "
     "A file of --output=PATH is followed too"},
    {"raw", OPT_RAW, NULL, "with --follow on a terminal: print every byte unchanged"},
    {"reconnect", OPT_RECONNECT, "TIME",
     "how long a waiting client retries a lost connection, and a submission one that "
     "voltd has no place for (default 30s)"},
    {"json", OPT_JSON, NULL, "events as JSON, one a line, on standard output"},
    {"quiet", OPT_QUIET, NULL, "no progress and no remarks, errors only"},
    {"no-check", OPT_NO_CHECK, NULL,
     "submit also a job whose command, directory or files are missing"},
    {"no-autostart", OPT_NO_AUTOSTART, NULL,
     "where no voltd runs, do not start one for this user"},
    {"dry-run", OPT_DRY_RUN, NULL,
     "print the specs and submit nothing; say what the job would wait for, or why it "
     "would be refused (125), as far as a voltd answers; not with -f"},
    {"help", 'h', NULL, "this text"},
    {"version", OPT_VERSION, NULL, "the version"},
    {NULL, 0, NULL, NULL},
};

const struct option_entry *const submit_tables[] = {
    job_options,          claim_options,      run_options, end_options,
    submit_options_table, options_connection, NULL,
};

const struct option_elsewhere submit_elsewhere[] = {
    {" -J --job-name ", "--name=NAME"},
    {" -o --stdout --output-file ", "--output=PATH"},
    {" -e --stderr --error-file ", "--error=PATH"},
    {" --time-limit --walltime ", "--timeout=TIME"},
    {" -a ", "--array=INDEXES; where it is the job to wait for: --after=ID"},
    {" --on-active --delay ", "--in=TIME"},
    {" --on-calendar ", "--at=TIME: it begins once, as there are no calendars"},
    {" --begin -b ", "--at=TIME, or --in=TIME"},
    {" --deadline ", "--start-by=TIME"},
    {" --after-fail --after-failed --after-failure --after-error --afternotok ",
     "--after-notok=ID"},
    {" --after-done --after-end --after-finish --after-all --afterany ",
     "--after-any=ID"},
    {" --after-success --after-succeeded --afterok ", "--after-ok=ID"},
    {" --dependency --depend --depends --depends-on --depend-on ",
     "--after=ID, or --after-any=ID"},
    {" -W ", "--wait; where it is the job to wait for: --after=ID"},
    {" --after-corr --aftercorr ", "--after-ok-each=ID"},
    {" -t --time ",
     "--timeout=TIME, as 10m or 2h: a number alone is seconds, not minutes"},
    {" --memory --memory-max --mem-max --mem-limit --memory-limit ", "--mem=SIZE"},
    {" --semaphore --permits ", "--sem=NAME[:TAKE][/CAPACITY]"},
    {" --mutex ", "--lock=NAME"},
    {" --rate-limit --throttle ", "--rate=NAME=N/UNIT"},
    {" --memory-high ", "--mem-high=SIZE"},
    {" --memory-swap-max --memory-swap ", "--swap=SIZE"},
    {" --pids --pids-limit --tasks-max ", "--pids-max=N"},
    {" --cpu-quota --cpus ", "--cpu-max=PERCENT%, where 100% is one CPU"},
    {" --cpu-shares ", "--cpu-weight=N"},
    {" --no-block --parsable --background --print-task-id --no-requeue --get-user-env "
     "--propagate --kill-on-invalid-dep ",
     OPTION_LEAVE_OUT ": it is the default"},
    {" --requeue ",
     "--on-lost=retry, where the machine fails; --retry=N, where the job does"},
    {" --comment --wckey ", "--label=KEY=VALUE"},
    {" --qos ", "--priority=N"},
    {" --immediate --start-immediately ", "--priority=N: a higher one starts first"},
    {" --signal ", "--stop-signal=SIGNAL"},
    {" --bar --eta --progress --verbose -v ", "--wait: it tells how far the jobs are"},
    {" --resume-failed --retry-failed ", "`voltctl retry --all --failed`"},
    {" -I --replace --arg-file ", "--each-line=FILE, where {} is the line"},
    {" --joblog ", "`voltctl list --all -o id,exit,started,runtime,command`"},
    {" --retries --max-retries --restart-steps ",
     "--retry=N: so many attempts more than the first one"},
    {" --retry-delay --restart-sec --delay-between-retries ",
     "--backoff=TIME, or TIME..MOST"},
    {" --retry-max-time --start-limit ", "--max-total=TIME"},
    {" --retry-all-errors --restart ",
     "--retry=N: it runs again after each end that is no success; --retry-on=RESULTS"},
    {" --success-exit-status ",
     "--success=CODES, with 0 among them where that is success"},
    {" --property ", "--timeout, --mem, --cpu-max, --umask and others by name"},
    {" --slice --scope ", OPTION_LEAVE_OUT
     ": a job has a cgroup of its own where systemd starts voltd, and --mem, "
     "--cpu-max and others limit it"},
    {" --machine -M --host --clusters --nodelist --nodes ",
     OPTION_LEAVE_OUT ": jobs run on this machine"},
    {" -G -g --group --account -A ", "--queue=QUEUE, or --label=KEY=VALUE to find it by"},
    {" -N -c --ntasks --cpus-per-task --gres --gpus --licenses --license ",
     "--sem=NAME:TAKE/CAPACITY: so many of what you count at a time"},
    {" --exclusive ", "--lock=NAME: alone with that lock"},
    {" --mail-type --mail-user -m ", "`voltctl wait ID; mail ...`: voltd sends no mail"},
    {" -l --list ", "`voltctl list`"},
    {" -C ", "--chdir=DIR; where all jobs that have ended are to be forgotten: "
             "`voltctl clean --all`"},
    {" -r ", "`voltctl cancel ID`"},
    {" -s ", "`voltctl status ID`"},
    {" -k ", "`voltctl kill ID`"},
    {" -K ", "`voltctl shutdown --cancel`"},
    {" -u ", "--priority=N: a higher one starts first"},
    {" --test-only ", "--dry-run"},
    {" --stashed -H ", "--hold"},
    {" -Q ", "--quiet"},
    {" -V ", "--version"},
    {" --partition ", "--queue=QUEUE"},
    {" --description ", "--name=NAME"},
    {" --wrap --command ", "--shell='TEXT'"},
    {" --setenv --export ", "--env=VAR=VALUE"},
    {" --unit -L --title ", "--name=NAME"},
    {" --pipe --pty --tail ", "--follow: it prints the output of the job"},
    {" -P ",
     "--follow: it prints the output of the job; where it is how many run at a time: "
     "`voltctl queue set default slots=N`"},
    {" --nice ", "--priority=N, where a higher one starts first"},
    {" --uid --gid --user ", "the voltd of that user: jobs run as its account"},
    {" -D ", "--chdir=DIR; where it is the job to wait for: --after=ID"},
    {" --workdir --working-directory --working-dir --cwd ", "--chdir=DIR"},
    {" -i --input ", "--stdin=FILE"},
    {" -S -j --jobs --parallel --slots ",
     "`voltctl queue set default slots=N`: so many jobs run at a time"},
    {NULL, NULL},
};

void submit_help(void)
{
    (void)fputs(
        "Usage: volt-submit [OPTIONS] [--] COMMAND [ARG...]\n"
        "       volt-submit [OPTIONS] [--] script.sh [ARG...]\n"
        "       volt-submit [OPTIONS] - [ARG...] < script.sh\n"
        "       volt-submit [OPTIONS] --shell 'TEXT'\n"
        "       volt-submit [OPTIONS] -f jobs.ndjson\n"
        "       volt-submit [OPTIONS] --each-line FILE [--] COMMAND [ARG...]\n"
        "Hand a command to voltd, which runs it when its turn comes.\n"
        "The id of the job is printed; `voltctl status ID` says what became of it.\n",
        stdout);
    (void)puts("\nThe job:");
    options_print(job_options);
    (void)puts("\nWhat it has from its start until all of its processes have gone:");
    options_print(claim_options);
    (void)puts("\nHow it runs (directory, umask and resource limits are passed on):");
    options_print(run_options);
    (void)puts("\nHow it ends:");
    options_print(end_options);
    (void)puts("\nSubmitting and waiting:");
    options_print(submit_options_table);
    (void)puts("\nThe daemon (tried: the user's, then the system's):");
    options_print(options_connection);
    (void)fputs(
        "\nA script may have options in its first lines: #VOLT --timeout=2h. Options of\n"
        "the command line win. #SBATCH lines count where an option of Slurm has an equal.\n"
        "Such a script is stored with the job, and so is one from standard input: -.\n"
        "\nLetters that mean something else in systemd-run (s) or Slurm's sbatch (S):\n"
        "-d (s --same-dir, S --dependency), -F (S --nodefile), -n (S --ntasks),\n"
        "-p (s --property, S --partition), -q (s --quiet, S --qos), -w (S --nodelist).\n"
        "\nTimes: 30s, 10m, 1h30m, 250ms, 2d; a number alone is seconds.\n"
        "\nExamples:\n"
        "  volt-submit make -j4\n"
        "  volt-submit --wait --timeout=10m -- ./backup.sh /srv\n"
        "  volt-submit --array 1-1000 --wait -- ./step {i}\n"
        "  ls *.wav | volt-submit --each-line - --wait -- flac {}\n"
        "  volt-submit --each-line commands.txt -- sh -c {}\n"
        "  find . -name '*.log' -print0 | volt-submit -0 --each-line - gzip\n"
        "  seq 1 9 | jq -c '{argv: [\"./step\", tostring]}' | volt-submit -f - --wait\n\n"
        "Exit codes with --wait: the job's own; 128+N killed by signal N; 124 its\n"
        "timeout; 126 found but not executable; 127 not found; 125 voltd failed, or the\n"
        "job was cancelled or lost, or printed too much, or waited in vain; of several\n"
        "jobs the largest.\n"
        "130: interrupted (the jobs go on).\n"
        "Without --wait: 0, 125, 126 or 127. A COMMAND that cannot be found or executed\n"
        "here is refused with 127 or 126, before it is submitted; --no-check submits it.\n",
        stdout);
}
