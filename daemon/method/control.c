/* org.voltd.control: the daemon as a whole. */
#include "daemon/life/life.h"
#include "daemon/method/methods.h"

#include "daemon/config/config.h"
#include "daemon/config/control.h"
#include "daemon/method/params.h"
#include "wire/json.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define TICK_USEC UINT64_C(200000)

static json_t *strings_to_json(char *const *strings)
{
    json_t *array = json_array();

    while (strings && *strings)
        wire_add(&array, wire_text(*strings++));
    return array;
}

static bool has_no_parameters(struct call *call)
{
    static const struct field none[] = {{.name = NULL}};

    return params_read(call, none, NULL) == 0;
}

/* --- Config ------------------------------------------------------------------------- */

/* Adds what the sections [Limits user:NAME] and [Limits group:NAME] say. */
static void add_limits(struct call *call, json_t **settings)
{
    char name[sizeof("Limits group:.MemorySwapMax") + CONFIG_LIMITS_NAME];
    struct config_item item;
    size_t n;
    struct config_limits *all = control_limits(call_service(call)->control, &n);

    for (size_t l = 0; all && l < n; l++)
        for (size_t i = 0; config_limits_item(&all[l], i, &item) == 0; i++) {
            (void)snprintf(name, sizeof(name), "%s %s:%s.%s", item.section,
                           all[l].of == QUEUE_USERS ? "user" : "group", all[l].name,
                           item.name);
            if (item.value != CONFIG_NOT_SAID)
                wire_set(settings, name, wire_text(item.text));
        }
    if (!all) {
        json_decref(*settings);
        *settings = NULL;
    }
    free(all);
}

static enum volt_poll config_poll(struct volt_cx *cx, struct call *call, void *state)
{
    json_t *settings = json_object();
    struct config_item item;
    json_t *reply;
    char **files;

    (void)state;
    if (!has_no_parameters(call)) {
        json_decref(settings);
        return VOLT_READY;
    }
    call_go_aside(cx, call); /* looks for files */
    for (size_t i = 0; config_item(call_config(call), i, &item) == 0; i++) {
        char name[96];
        (void)snprintf(name, sizeof(name), "%s.%s", item.section, item.name);
        wire_set(&settings, name, wire_text(item.text));
    }
    add_limits(call, &settings);
    files = control_config_files(call_service(call)->control);
    reply = json_pack("{s:o,s:o}", "settings", settings, "files",
                      files ? strings_to_json(files) : NULL);
    free(files);
    return call_reply(call, reply);
}

static const struct method method_config = {METHOD_IS(control, Config),
                                            .poll = config_poll};

/* --- Reload ------------------------------------------------------------------------- */

static enum volt_poll reload_poll(struct volt_cx *cx, struct call *call, void *state)
{
    struct volt_error err = {""};
    char **needs_restart = NULL;
    json_t *reply;

    (void)state;
    if (!has_no_parameters(call))
        return VOLT_READY;
    call_go_aside(cx, call); /* reads files */
    if (control_reload(call_service(call)->control, &needs_restart, &err) < 0)
        return call_error(call, "org.voltd.control.ReloadFailed",
                          json_pack("{s:o}", "reason", wire_text(err.text)));
    reply = json_pack("{s:o}", "needs_restart", strings_to_json(needs_restart));
    free(needs_restart);
    return call_reply(call, reply);
}

static const struct method method_reload = {METHOD_IS(control, Reload),
                                            .poll = reload_poll};

/* --- Shutdown ----------------------------------------------------------------------- */

struct shutdown {
    struct shutdown_params {
        bool cancel, wait;
    } in;
    uint64_t sent_left, sent_usec;
    struct life_drain drain;
    struct volt_sleep tick;
    bool begun;
};

static uint64_t jobs_left(struct call *call, const struct shutdown *s)
{
    return life_left(call_service(call)->core, s->in.cancel);
}

static json_t *left_to_json(uint64_t left)
{
    return json_pack("{s:I}", "left", (json_int_t)left);
}

/* Reads the parameters. 0, or the call is answered. */
static int begin_shutdown(struct call *call, struct shutdown *s)
{
    static const struct field fields[] = {
        FIELD(struct shutdown_params, cancel, FIELD_BOOL),
        FIELD(struct shutdown_params, wait, FIELD_BOOL),
        {.name = NULL},
    };

    if (params_read(call, fields, &s->in) < 0)
        return -EINVAL;
    if (s->in.wait && !call_more(call)) {
        (void)call_error(call, "org.varlink.service.ExpectedMore", json_object());
        return -EINVAL;
    }
    control_shutdown(call_service(call)->control, s->in.cancel);
    if (!s->in.wait) {
        (void)call_reply(call, left_to_json(jobs_left(call, s)));
        return -EALREADY;
    }
    s->drain.core = call_service(call)->core;
    s->drain.cancel = s->in.cancel;
    s->sent_left = UINT64_MAX;
    volt_sleep_init(&s->tick, 0);
    s->begun = true;
    return 0;
}

static enum volt_poll shutdown_poll(struct volt_cx *cx, struct call *call, void *state)
{
    struct shutdown *s = state;

    if (!s->begun && begin_shutdown(call, s) < 0)
        return VOLT_READY;
    if (life_drain_poll(cx, &s->drain) == VOLT_READY)
        return call_reply(call, left_to_json(0));
    while (call_drained_poll(cx, call) == VOLT_READY &&
           volt_sleep_poll(cx, &s->tick) == VOLT_READY) {
        uint64_t left = jobs_left(call, s), now = volt_now_usec();
        bool silent = now - s->sent_usec >= call_config(call)->heartbeat_usec;

        if (left != s->sent_left || silent) {
            if (call_continue(call, left_to_json(left)) < 0)
                return call_abort(call);
            s->sent_left = left;
            s->sent_usec = now;
        }
        volt_sleep_fini(&s->tick);
        volt_sleep_init(&s->tick, TICK_USEC);
    }
    return VOLT_PENDING;
}

static void shutdown_drop(struct call *call, void *state)
{
    struct shutdown *s = state;

    (void)call;
    if (!s->begun)
        return;
    life_drain_fini(&s->drain);
    volt_sleep_fini(&s->tick);
}

static const struct method method_shutdown = {
    METHOD_IS(control, Shutdown),
    .flags = METHOD_MORE | METHOD_OUTLIVES,
    .state_size = sizeof(struct shutdown),
    .poll = shutdown_poll,
    .drop = shutdown_drop,
};

/* --- the interface ------------------------------------------------------------------ */

static const char description[] =
#include "org.voltd.control.varlink.inc"
    ;

const struct interface interface_control = {
    .name = "org.voltd.control",
    .description = description,
    .methods =
        (const struct method *const[]){
            &method_stats,
            &method_watch_stats,
            &method_tasks,
            &method_config,
            &method_reload,
            &method_shutdown,
            NULL,
        },
};
