/* libvolt: a work-stealing task runtime. This header includes all public ones. */
#ifndef VOLT_VOLT_H
#define VOLT_VOLT_H

#include <volt/broadcast.h>
#include <volt/channel.h>
#include <volt/error.h>
#include <volt/io.h>
#include <volt/join_set.h>
#include <volt/process.h>
#include <volt/runtime.h>
#include <volt/scope.h>
#include <volt/sync.h>
#include <volt/task.h>
#include <volt/time.h>
#include <volt/version.h>
#include <volt/wait_group.h>

#endif
