/* org.varlink.service: the part that every Varlink service has. */
#include "daemon/server/session.h"

#include "wire/fields.h"
#include <string.h>

static const char description[] =
#include "org.varlink.service.varlink.inc"
    ;

static enum volt_poll get_info_poll(struct volt_cx *cx, struct call *call, void *state)
{
    static const struct field none[] = {{.name = NULL}};
    const struct interface *const *i = call->caller.interfaces;
    struct field_error err;
    json_t *names;

    (void)cx;
    (void)state;
    if (fields_read(none, call_parameters(call), 0, NULL, &err) < 0)
        return call_invalid_parameter(call, err.path, err.reason);
    names = json_pack("[s]", service_interface.name);
    for (; names && *i; i++) {
        if (json_array_append_new(names, json_string((*i)->name)) < 0) {
            json_decref(names);
            names = NULL;
        }
    }
    if (!names)
        return call_abort(call);
    return call_reply(call, json_pack("{s:s,s:s,s:s,s:s,s:o}", "vendor", "Volt",
                                      "product", "voltd", "version", VOLT_VERSION, "url",
                                      "man:voltd(8)", "interfaces", names));
}

static enum volt_poll describe_poll(struct volt_cx *cx, struct call *call, void *state)
{
    struct description {
        const char *interface;
    } in = {NULL};
    static const struct field fields[] = {
        FIELD(struct description, interface, FIELD_STRING, .required = true),
        {.name = NULL},
    };
    const struct interface *i;
    struct field_error err;

    (void)cx;
    (void)state;
    if (fields_read(fields, call_parameters(call), 0, &in, &err) < 0)
        return call_invalid_parameter(call, err.path, err.reason);
    i = call_interface(call, in.interface, strlen(in.interface));
    if (!i)
        return call_error(call, "org.varlink.service.InterfaceNotFound",
                          json_pack("{s:s}", "interface", in.interface));
    return call_reply(call, json_pack("{s:s}", "description", i->description));
}

static const struct method method_get_info = {METHOD_IS(service, GetInfo),
                                              .poll = get_info_poll};
static const struct method method_describe = {
    METHOD_IS(service, GetInterfaceDescription),
    .poll = describe_poll,
};

const struct interface service_interface = {
    .name = "org.varlink.service",
    .description = description,
    .methods = (const struct method *const[]){&method_get_info, &method_describe, NULL},
};
