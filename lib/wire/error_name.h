/* Errors by name: "ENOENT". */
#ifndef VOLT_WIRE_ERROR_NAME_H
#define VOLT_WIRE_ERROR_NAME_H

#define ERROR_NAME_MAX 24

/* Writes "ENOENT", or a decimal number if the error has no name. Returns buf. */
const char *error_name(int error, char buf[ERROR_NAME_MAX]);
/* Returns the errno of a name, 0 if there is none. */
int error_from_name(const char *name);

#endif
