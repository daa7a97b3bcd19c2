/* See failing_vfs.h. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "tests/support/failing_vfs.h"

static sqlite3_vfs shim, *real_vfs;

/* Kinds of files have methods of their own. */
static struct methods {
    const sqlite3_io_methods *real;
    sqlite3_io_methods shim;
} methods[4];
static pthread_mutex_t shim_lock = PTHREAD_MUTEX_INITIALIZER;
static int writes_fail; /* the code of SQLite for each of them; 0: they do not */
static int sync_code, syncs_to_fail, syncs_failed;
static void (*in_sync)(void);

void failing_vfs_set(int writes, int code, int syncs)
{
    pthread_mutex_lock(&shim_lock);
    writes_fail = writes;
    sync_code = code;
    syncs_failed = 0;
    syncs_to_fail = syncs;
    pthread_mutex_unlock(&shim_lock);
}

void failing_vfs_in_sync(void (*fn)(void))
{
    pthread_mutex_lock(&shim_lock);
    in_sync = fn;
    pthread_mutex_unlock(&shim_lock);
}

/* A file's own methods. */
static const sqlite3_io_methods *real_of(const sqlite3_file *f)
{
    size_t i = 0;

    while (f->pMethods != &methods[i].shim)
        i++;
    return methods[i].real;
}

static int shim_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    pthread_mutex_lock(&shim_lock);
    int fails = writes_fail;
    pthread_mutex_unlock(&shim_lock);
    return fails ? fails : real_of(f)->xWrite(f, p, n, at);
}

static int shim_sync(sqlite3_file *f, int flags)
{
    pthread_mutex_lock(&shim_lock);
    int fails = syncs_to_fail > 0 && syncs_to_fail-- ? sync_code : 0;
    syncs_failed += fails != 0;
    void (*fn)(void) = in_sync;
    pthread_mutex_unlock(&shim_lock);
    if (fn)
        fn();
    return fails ? fails : real_of(f)->xSync(f, flags);
}

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags,
                     int *ret_flags)
{
    int rc = real_vfs->xOpen(vfs, name, f, flags, ret_flags);

    pthread_mutex_lock(&shim_lock);
    for (size_t i = 0; rc == SQLITE_OK && i < 4; i++) {
        struct methods *m = &methods[i];

        if (!m->real) {
            m->real = f->pMethods;
            m->shim = *m->real;
            m->shim.xWrite = shim_write;
            m->shim.xSync = shim_sync;
        }
        if (m->real == f->pMethods) {
            f->pMethods = &m->shim;
            break;
        }
    }
    pthread_mutex_unlock(&shim_lock);
    return rc;
}

void failing_vfs_put(void)
{
    failing_vfs_set(0, 0, 0);
    real_vfs = sqlite3_vfs_find(NULL);
    shim = *real_vfs;
    shim.zName = "shim";
    shim.xOpen = shim_open;
    assert_int_equal(sqlite3_vfs_register(&shim, 1), SQLITE_OK);
}

void failing_vfs_take(void)
{
    assert_int_equal(sqlite3_vfs_register(real_vfs, 1), SQLITE_OK);
    assert_int_equal(sqlite3_vfs_unregister(&shim), SQLITE_OK);
    memset(methods, 0, sizeof(methods));
}

int failing_vfs_failed(void)
{
    pthread_mutex_lock(&shim_lock);
    int n = syncs_failed;
    pthread_mutex_unlock(&shim_lock);
    return n;
}
