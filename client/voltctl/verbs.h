/* All verbs, each defined in the file of its name. */
#ifndef VOLT_CLIENT_VOLTCTL_VERBS_H
#define VOLT_CLIENT_VOLTCTL_VERBS_H

#include "client/voltctl/ctl.h"

extern const struct verb verb_list, verb_status, verb_why, verb_graph, verb_show,
    verb_logs, verb_wait, verb_events, verb_cancel, verb_hold, verb_release, verb_pause,
    verb_resume, verb_edit, verb_first, verb_retry, verb_clean, verb_kill, verb_queues,
    verb_queue, verb_locks, verb_stats, verb_tasks, verb_config, verb_reload,
    verb_shutdown, verb_version;

#endif
