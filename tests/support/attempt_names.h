/* Names of phases and inputs of daemon/job/attempt.h, for tests that show them. */
#ifndef TESTS_SUPPORT_ATTEMPT_NAMES_H
#define TESTS_SUPPORT_ATTEMPT_NAMES_H

#include "daemon/job/attempt.h"

static inline const char *phase_name(unsigned phase)
{
    static const char *const names[ATTEMPT_PHASES] = {
        "new",        "waiting",  "resting",     "starting",  "taken",    "running",
        "pause due",  "pausing",  "pause again", "paused",    "resuming", "resume again",
        "unposted",   "asking",   "asked",       "ask again", "killing",  "killed",
        "kill again", "clearing", "clear again", "left",      "removing", "remove again",
        "ending",     "ended"};

    return names[phase];
}

static inline const char *input_name(unsigned in)
{
    static const char *const names[ATTEMPT_INPUTS] = {
        "marked",    "unmarked", "kept",  "unkept",      "unposted",  "adopted",
        "slot",      "deferred", "stop",  "unready",     "taken",     "exists",
        "withdrawn", "reset",    "short", "gone",        "left",      "refused",
        "answered",  "started",  "over",  "shim killed", "never ran", "absent",
        "turned",    "probe",    "limit", "printed"};

    return names[in];
}

#endif
