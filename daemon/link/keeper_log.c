/* See keeper_log.h. */
#include "daemon/link/keeper_log.h"

#include <errno.h>
#include <string.h>

#include "daemon/observe/log.h"

void keeper_log_gone(struct keeper_log *log, bool broke)
{
    if (!log->gone)
        log_warning("the keeper has %s (%s): jobs start when another one answers",
                    broke ? "sent a message that is no answer, so it was left" : "gone",
                    log->socket_path);
    log->gone = true;
}

void keeper_log_unreachable(struct keeper_log *log, int r)
{
    if (r == -EPROTO && !log->sent_away) {
        log->sent_away = true;
        return;
    }
    if (log->why == 0 || (r == -EPROTO && log->why != r))
        log_warning(
            "cannot reach or start the keeper (%s): %s; jobs start when it is there",
            log->socket_path,
            r == -EPROTO ? "it is of another version, restart voltd" : strerror(-r));
    if (log->why != -EPROTO)
        log->why = r;
}

void keeper_log_late(struct keeper_log *log)
{
    log_warning(
        "the keeper on %s does not answer: jobs wait for it, and what runs is judged "
        "when it does; if it was stopped (state T in ps), continue it, else kill "
        "-KILL it",
        log->socket_path);
    log->silent = true;
}

void keeper_log_silent(struct keeper_log *log, uint32_t pid, uint64_t usec,
                       unsigned requests)
{
    if (!log->silent)
        log_warning(
            "the keeper (pid %u) has not answered for %llu s; requests that wait: "
            "%u; jobs start and stop when it answers, running ones go on; it is sent "
            "SIGCONT in case it was stopped, and SIGKILL when it stays stopped: another one "
            "follows it then, and after kill -KILL %u",
            pid, (unsigned long long)(usec / 1000000), requests, pid);
    log->silent = true;
}

void keeper_log_killed(pid_t pid)
{
    log_warning("the keeper (pid %d) was stopped again and again and could not answer: "
                "killed; its jobs go on, and another one follows",
                (int)pid);
}

void keeper_log_well(struct keeper_log *log)
{
    if (log->why != 0 || log->gone)
        log_notice("the keeper is there (%s): jobs start again", log->socket_path);
    else if (log->silent)
        log_notice("the keeper answers again (%s): jobs start and stop again",
                   log->socket_path);
    *log = (struct keeper_log){.socket_path = log->socket_path};
}
