/* See standing.h. */
#include "client/standing.h"
#include "client/estimate.h"
#include "client/job_view.h"
#include "client/say.h"
#include "client/term.h"

#include <unistd.h>

#define SAY "dry run: it would "

static void say_reasons(const json_t *answer)
{
    const json_t *reasons = json_object_get(answer, "reasons"), *reason;
    char text[256], when[ESTIMATE_TEXT];
    size_t i;
    json_array_foreach(reasons, i, reason)
    {
        term_clean(job_view_string(reason, "text"), text, sizeof(text));
        say(SAY "wait: %s", text);
    }
    if (estimate_is_due(answer) && estimate_text(answer, when))
        say(SAY "start %s", when);
    else if (estimate_is_due(answer))
        say("dry run: when it would start is unknown");
    if (json_is_array(reasons) && i == 0 && term_is_tty(STDERR_FILENO))
        say(SAY "start at once");
}

void standing_say(const json_t *answer)
{
    const char *id = job_view_string(answer, "id");
    if (*id)
        say(SAY "be job %s, which has its key", id);
    else if (job_view_bool(answer, "never_starts"))
        say(SAY "end at once: what it is to wait for can happen no more");
    else
        say_reasons(answer);
}
