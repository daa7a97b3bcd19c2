#include <volt/version.h>

unsigned volt_abi_version(void)
{
    return VOLT_ABI_VERSION;
}

const char *volt_version(void)
{
    return VOLT_VERSION; /* of the Makefile; a test compares it with the header */
}
