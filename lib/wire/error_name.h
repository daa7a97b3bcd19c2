/* Errors by name: "ENOENT". */
#ifndef VOLT_WIRE_ERROR_NAME_H
#define VOLT_WIRE_ERROR_NAME_H

#define ERROR_NAME_MAX 24

/* "ENOENT"; what has no name is a decimal number. Returns buf. */
const char *error_name(int error, char buf[ERROR_NAME_MAX]);
/* The errno of such a name; 0: there is none. */
int error_from_name(const char *name);

#endif
