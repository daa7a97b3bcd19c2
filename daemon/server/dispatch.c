/* From a message to its method.
 *
 * The header has `method`, `parameters` and at most one of the flags `oneway`, `more`,
 * `upgrade`. A key with a dot is an extension and ignored. Any other key, a flag that is
 * not a boolean, or two flags: not a call, and the session closes. A call that cannot be
 * served is answered with an error of org.varlink.service. A call that auth/methods.def
 * forbids the caller gets PermissionDenied, before its parameters are read. */
#include "daemon/auth/auth.h"
#include "daemon/server/session.h"

#include <stdlib.h>
#include <string.h>

struct header {
    const char *method;
    json_t *parameters; /* borrowed; NULL: none */
    bool oneway, more, upgrade;
};

static bool read_flag(json_t *value, bool *ret)
{
    *ret = json_is_true(value);
    return json_is_boolean(value);
}

static bool read_parameters(json_t *value, json_t **ret)
{
    *ret = json_is_null(value) ? NULL : value;
    return json_is_null(value) || json_is_object(value);
}

static bool read_header(json_t *message, struct header *ret)
{
    const char *key;
    json_t *value;

    json_object_foreach(message, key, value)
    {
        bool ok;

        if (strcmp(key, "method") == 0) {
            ret->method = json_string_value(value);
            ok = ret->method && strlen(ret->method) == json_string_length(value);
        } else if (strcmp(key, "parameters") == 0) {
            ok = read_parameters(value, &ret->parameters);
        } else if (strcmp(key, "oneway") == 0) {
            ok = read_flag(value, &ret->oneway);
        } else if (strcmp(key, "more") == 0) {
            ok = read_flag(value, &ret->more);
        } else if (strcmp(key, "upgrade") == 0) {
            ok = read_flag(value, &ret->upgrade);
        } else {
            ok = strchr(key, '.') != NULL;
        }
        if (!ok)
            return false;
    }
    return ret->method && ret->oneway + ret->more + ret->upgrade <= 1;
}

const struct interface *call_interface(const struct call *call, const char *name,
                                       size_t len)
{
    const struct interface *const *i = call->caller.interfaces;

    if (strlen(service_interface.name) == len &&
        strncmp(service_interface.name, name, len) == 0)
        return &service_interface;
    while (*i && (strlen((*i)->name) != len || strncmp((*i)->name, name, len) != 0))
        i++;
    return *i;
}

static const struct method *find_method(const struct interface *i, const char *name)
{
    const struct method *const *m = i->methods;

    while (*m && strcmp((*m)->name, name) != 0)
        m++;
    return *m;
}

static json_t *named(const char *key, const char *value)
{
    return json_pack("{s:s}", key, value);
}

/* Answers that the caller may not do this. */
static void refuse(struct call *c, enum auth_operation operation)
{
    char reason[AUTH_REFUSAL_BYTES];

    auth_refusal(&c->caller.peer, operation, reason);
    (void)call_error(c, "org.varlink.service.PermissionDenied", named("reason", reason));
}

/* Returns the method of the call, or NULL after an error. */
static const struct method *look_up(struct call *c, const struct header *h)
{
    if (!auth_has(&c->caller.peer, AUTH_INTROSPECT)) {
        refuse(c, AUTH_INTROSPECT);
        return NULL;
    }
    const char *dot = strrchr(h->method, '.');
    const struct interface *i;
    const struct method *m;

    if (!dot) {
        (void)call_error(c, "org.varlink.service.MethodNotFound",
                         named("method", h->method));
        return NULL;
    }
    i = call_interface(c, h->method, (size_t)(dot - h->method));
    if (!i) {
        (void)call_error(
            c, "org.varlink.service.InterfaceNotFound",
            json_pack("{s:s%}", "interface", h->method, (size_t)(dot - h->method)));
        return NULL;
    }
    m = find_method(i, dot + 1);
    if (!m)
        (void)call_error(c, "org.varlink.service.MethodNotFound",
                         named("method", h->method));
    else if (!auth_has(&c->caller.peer, m->operation))
        refuse(c, m->operation);
    else if (h->upgrade)
        (void)call_invalid_parameter(c, "upgrade",
                                     "no method here takes the connection over");
    else if ((m->flags & METHOD_MORE_REQUIRED) && !h->more)
        (void)call_error(c, "org.varlink.service.ExpectedMore", json_object());
    else
        return m;
    return NULL;
}

/* Begins the call. 0; -1: no memory. */
static int begin(struct call *c, const struct header *h)
{
    const struct method *m;

    c->oneway = h->oneway;
    m = look_up(c, h);
    if (!m)
        return 0;
    c->more = h->more;
    c->parameters = h->parameters ? json_incref(h->parameters) : json_object();
    if (m->state_size > 0)
        c->state = calloc(1, m->state_size);
    if (!c->parameters || (m->state_size > 0 && !c->state))
        return -1;
    c->method = m;
    return 0;
}

void dispatch(struct session *s, json_t *message)
{
    struct call *c = &s->call;
    struct header h = {0};

    c->message = message;
    if (!read_header(message, &h))
        session_no_call(s, "it has no method, or members that Varlink does not know");
    else if (begin(c, &h) < 0)
        s->closing = true;
    if (c->method)
        return;
    call_end(c);
}
