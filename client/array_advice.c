/* See array_advice.h. A file or script that the command names may read VOLT_ARRAY_INDEX,
 * so such a command gets no warning. */
#include "client/array_advice.h"
#include "client/job_view.h"
#include "client/say.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct words {
    bool index;   /* a word has a filled-in {i}, or names the variable */
    bool program; /* a program text has {i}, which stays as it is */
    bool file;
};

static bool has_index(const char *word)
{
    for (const char *at = word; (at = strstr(at, "{i}")); at++)
        if (job_view_is_index(word, at))
            return true;
    return false;
}

static bool is_file(const json_t *spec, const char *word)
{
    char path[4096];
    if (strchr(word, '/'))
        return true;
    (void)snprintf(path, sizeof(path), "%s/%s", job_view_string(spec, "cwd"), word);
    return *word && access(path, F_OK) == 0;
}

static void look_at(struct words *w, const json_t *spec, const char *word, bool program)
{
    w->index |= strstr(word, "ARRAY_INDEX") || strstr(word, "ARRAY_TASK_ID") ||
                (!program && has_index(word));
    w->program |= program && has_index(word);
    w->file |= !program && is_file(spec, word);
}

void array_advice(const json_t *spec)
{
    const json_t *word, *argv = json_object_get(spec, "argv");
    const char *shell = json_string_value(json_object_get(spec, "shell"));
    struct words w = {false, false, false};
    size_t i;
    if (!json_object_get(spec, "array") || json_object_get(spec, "script") ||
        (!argv && !shell))
        return;
    if (shell)
        look_at(&w, spec, shell, true);
    json_array_foreach(argv, i, word)
    {
        const char *text = json_string_value(word);
        look_at(&w, spec, text, job_view_is_program(text));
    }
    if (w.program && !w.index)
        say("note: {i} stays as it is in the text of a program; $VOLT_ARRAY_INDEX is the "
            "index there");
    else if (!w.index && !w.file)
        say("note: the command has neither {i} nor $VOLT_ARRAY_INDEX: all jobs of the "
            "array run the same");
}
