/* The options of volt-submit, and its --help. */
#ifndef VOLT_CLIENT_SUBMIT_TABLE_H
#define VOLT_CLIENT_SUBMIT_TABLE_H

#include "client/options.h"

enum {
    OPT_TIMEOUT = OPTION_LONG,
    OPT_KILL_AFTER,
    OPT_STOP_SIGNAL,
    OPT_KILL_MODE,
    OPT_ON_LOST,
    OPT_RETRY,
    OPT_BACKOFF,
    OPT_RETRY_ON,
    OPT_MAX_TOTAL,
    OPT_SUCCESS,
    OPT_HOLD,
    OPT_IN,
    OPT_AT,
    OPT_START_BY,
    OPT_AFTER,
    OPT_AFTER_NOTOK,
    OPT_AFTER_ANY,
    OPT_AFTER_START,
    OPT_AFTER_OK,
    OPT_AFTER_OK_EACH,
    OPT_AFTER_NOTOK_EACH,
    OPT_AFTER_ANY_EACH,
    OPT_AFTER_START_EACH,
    OPT_KEY,
    OPT_IF_EXISTS,
    OPT_KIND,
    OPT_DURATION,
    OPT_SAME_DIR,
    OPT_NO_ENV,
    OPT_ALL_ENV,
    OPT_NO_LIMITS,
    OPT_UMASK,
    OPT_STDIN,
    OPT_OUTPUT,
    OPT_ERROR,
    OPT_OPEN_MODE,
    OPT_OUTPUT_LIMIT,
    OPT_MEM, /* in the order of SPEC_CGROUP in spec_fields.def, */
    OPT_MEM_HIGH,
    OPT_SWAP,
    OPT_PIDS_MAX,
    OPT_CPU_MAX,
    OPT_CPU_WEIGHT,
    OPT_IO_WEIGHT, /* ... to here */
    OPT_LABEL,
    OPT_LOCK,
    OPT_LOCK_SHARED,
    OPT_SEM,
    OPT_RATE,
    OPT_SINGLETON,
    OPT_ARRAY,
    OPT_EACH_LINE,
    OPT_SHELL,
    OPT_BY_PATH,
    OPT_RAW,
    OPT_RECONNECT,
    OPT_JSON,
    OPT_QUIET,
    OPT_DRY_RUN,
    OPT_NO_CHECK,
    OPT_NO_AUTOSTART,
    OPT_IMPORT,
    OPT_VERSION,
};

extern const struct option_entry *const submit_tables[];
/* Options of sbatch, srun, qsub, tsp, pueue and parallel. */
extern const struct option_elsewhere submit_elsewhere[];
void submit_help(void);

#endif
