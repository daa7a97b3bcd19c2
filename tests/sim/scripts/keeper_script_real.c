/* The script on a real keeper, its shims and records. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/sim/scripts/keeper_script.h"
#include "tests/support/keeper_job.h"

static struct keeper_client *client;
static enum does does_of[256];

static struct job_key key_of(uint64_t id)
{
    return (struct job_key){id, JOB_NO_INDEX, 1};
}

void script_begin(void)
{
    void *state = NULL;

    if (keeper_client_setup_patient(&state) < 0)
        abort();
    client = state;
}

void script_end(void)
{
    void *state = client;

    (void)keeper_client_teardown(&state);
}

int script_start(uint64_t id, enum does does)
{
    const struct job_key key = key_of(id);
    char text[80];

    if (does == EXITS)
        (void)snprintf(text, sizeof(text), "exit %d", (int)(id % 5));
    else if (does == WAITS)
        (void)snprintf(text, sizeof(text), "exec sleep 1000");
    else
        (void)snprintf(text, sizeof(text),
                       "trap '' TERM; echo >ready.%llu; exec sleep 1000",
                       (unsigned long long)id);
    int r = keeper_job_start_shell(client, &key, text).status;
    if (r == 0)
        does_of[id] = does;
    return r;
}

int script_signal(uint64_t id, int sig, bool tree, bool *ret_unknown_left)
{
    const struct job_key key = key_of(id);
    struct keeper_reply r = keeper_client_signal(
        client, &key, sig, tree ? KEEPER_SCOPE_TREE : KEEPER_SCOPE_MAIN);

    *ret_unknown_left = r.survivors == KEEPER_SURVIVORS_UNKNOWN;
    return r.status;
}

int script_remove(uint64_t id)
{
    const struct job_key key = key_of(id);

    return keeper_client_remove(client, &key);
}

void script_reconnect(void)
{
    (void)keeper_client_hello(client);
}

void script_kill_keeper(void)
{
    keeper_client_kill(client);
    keeper_client_spawn_patient(client);
    (void)keeper_client_hello(client);
}

void script_kill_shim(uint64_t id)
{
    (void)kill((pid_t)script_look(id).started.shim_pid, SIGKILL);
}

struct record script_look(uint64_t id)
{
    const struct job_key key = key_of(id);
    struct record r;

    if (record_probe(client->record_fd, &key, client->boot_id, &r) < 0)
        abort();
    return r;
}

void script_await_ready(uint64_t id)
{
    const struct job_key key = key_of(id);
    char name[32];

    (void)keeper_client_wait_started(client, &key);
    (void)snprintf(name, sizeof(name), "ready.%llu", (unsigned long long)id);
    if (does_of[id] == DEAF)
        keeper_job_wait_file(client, name);
}

void script_await_over(uint64_t id)
{
    const struct job_key key = key_of(id);

    (void)keeper_client_wait(client, &key);
}

int script_records(void)
{
    return client->record_fd;
}
