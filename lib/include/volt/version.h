/* Which libvolt this is: the headers', and the library's that is there at run time.
 *
 * The ABI version is the number in the soname. It grows with every change after which a
 * program must be compiled again: a public struct that changes its size or layout
 * (callers embed them), a function that goes or takes something else. As long as the
 * major version is 0, any minor version may do that. */
#ifndef VOLT_VERSION_H
#define VOLT_VERSION_H

#include <volt/error.h>

VOLT_BEGIN_DECLS

#define VOLT_VERSION_MAJOR 0
#define VOLT_VERSION_MINOR 1
#define VOLT_VERSION_PATCH 0
#define VOLT_ABI_VERSION   0

/* VOLT_ABI_VERSION of the library. Any thread. */
VOLT_API unsigned volt_abi_version(void);
/* "major.minor.patch" of the library; static. Any thread. */
VOLT_API const char *volt_version(void);

VOLT_END_DECLS

#endif
