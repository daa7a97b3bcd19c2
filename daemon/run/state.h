/* The struct run, for the files of this room. */
#ifndef VOLTD_RUN_STATE_H
#define VOLTD_RUN_STATE_H

#include "daemon/core/parts.h"
#include "daemon/link/keeper_links.h"
#include "daemon/link/record_make.h"
#include "daemon/link/record_watch.h"
#include "daemon/output/output_meter.h"
#include "daemon/run/run.h"
#include "daemon/run/record_removal.h"

struct run {
    struct keeper_links *links; /* NULL: no keeper, no kind exec */
    bool may_contain;           /* another program starts the keepers */
    struct record_watch *watch; /* NULL: likewise */
    int record_fd;              /* directory of records; -1: none */
    struct record_pool spare;   /* files for new records; has a lock */
    uint8_t boot_id[RECORD_ID_SIZE], generation[RECORD_ID_SIZE];
    struct meters *meters;  /* have locks */
    char *socket;           /* for VOLT_ADDRESS and VOLT_JOB of jobs */
    struct removal removal; /* has a lock */
};

#endif
