/* voltctl config: prints the configuration in force. */
#include "client/voltctl/verbs.h"
#include "client/term.h"

#include <stdio.h>

static const struct option_entry options[] = {CTL_JSON_OPTION, CTL_OPTIONS_END};

static int print(const json_t *answer)
{
    json_t *settings = json_object_get(answer, "settings"), *value;
    const char *name;
    size_t i;
    json_array_foreach(json_object_get(answer, "files"), i, value)
    {
        term_print("# %s\n", json_string_value(value));
    }
    json_object_foreach(settings, name, value)
    {
        term_print("%s=%s\n", name, json_string_value(value));
    }
    return CTL_EXIT_OK;
}

static int run(struct ctl *ctl)
{
    return ctl_ask(ctl, ADDRESS_CONTROL, "org.voltd.control.Config", NULL, print);
}

const struct verb verb_config = {
    .name = "config",
    .operands = "",
    .summary = "Print the configuration in force and where it came from",
    .text =
        "Lines of Section.Key=value; the files read are comments before them. Limits of a\n"
        "user or a group follow, as in \"Limits user:alice.MemoryMax=1G\". Queues are shown\n"
        "by `voltctl queues`.\n",
    .options = options,
    .run = run,
};
