/* The rows of kinds.def: kind.h. */
#include "daemon/job/kind.h"

const struct job_kind_row job_kinds[JOB_KIND_COUNT] = {
#define KIND(constant, name, is_process, ends_at_once, text)                             \
    [JOB_KIND_##constant] = {#name, is_process, ends_at_once},
#include "daemon/job/kinds.def"
};
