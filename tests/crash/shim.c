/* Stands between a process and the files below one folder: counts every call that changes the disk,
 * and at a chosen one kills the process, fails, or sleeps; or writes all of them to a trace.
 *
 * Loaded by LD_PRELOAD. The folder is named by PERCH_SHIM_FOLDER; the rest is set by shim_* below,
 * which the process under test calls through ctypes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum action { NOTHING, KILL_BEFORE, KILL_AFTER, FAIL_FROM, FAIL_ONCE };
enum kind { WRITE = 'w', SYNC = 's', TRUNCATE = 't', RENAME = 'r', UNLINK = 'u', DIRSYNC = 'd' };

static volatile long count, target = -1, sleep_us;
static volatile int action, failure, loose_locks;
static int trace = -1;
static __thread long mine;  /* the number of this thread's call */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void shim_arm(long n, int what, int error) { count = 0; target = n; action = what; failure = error; }
long shim_count(void) { return count; }
void shim_sleep(long microseconds) { sleep_us = microseconds; }
void shim_loose_locks(int loose) { loose_locks = loose; }

#define REAL(name) ({ static typeof(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name); real; })

static int path_matters(const char *path) {
    const char *folder = getenv("PERCH_SHIM_FOLDER");
    char whole[PATH_MAX];
    if (!folder || !path) return 0;
    if (path[0] != '/') return 0;
    strncpy(whole, path, sizeof whole - 1);
    whole[sizeof whole - 1] = 0;
    if (strncmp(whole, folder, strlen(folder))) return 0;
    size_t n = strlen(whole);  /* shared memory of the database is never on the disk; locks neither */
    return !(n > 4 && !strcmp(whole + n - 4, "-shm")) && !(n > 5 && !strcmp(whole + n - 5, ".lock"));
}

static int name_of(int fd, char *name) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, name, PATH_MAX - 1);
    if (n < 0) return 0;
    name[n] = 0;
    return path_matters(name);
}

void shim_trace(const char *file) {
    trace = file ? REAL(open)(file, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
}

/* One record: kind, length of name, name, offset, length of data, data. */
static void record(int kind, const char *name, int64_t offset, const void *data, int64_t n) {
    if (trace < 0) return;
    pthread_mutex_lock(&lock);
    int64_t head[4] = {kind, (int64_t)strlen(name), offset, n};
    (void)!REAL(write)(trace, head, sizeof head);
    (void)!REAL(write)(trace, name, strlen(name));
    if (data) (void)!REAL(write)(trace, data, n);
    pthread_mutex_unlock(&lock);
}

void shim_mark(long number) { record('m', "", number, 0, 0); }

static void die(void) { kill(getpid(), SIGKILL); for (;;) pause(); }

/* Before a call: true if it must fail. */
static int before(void) {
    long now = mine = __sync_add_and_fetch(&count, 1);
    if (action == KILL_BEFORE && now == target) die();
    if ((action == FAIL_FROM && now >= target) || (action == FAIL_ONCE && now == target)) {
        errno = failure;
        return 1;
    }
    return 0;
}

static void after(void) { if (action == KILL_AFTER && mine == target) die(); }

ssize_t write(int fd, const void *data, size_t n) {
    char name[PATH_MAX];
    if (!name_of(fd, name)) return REAL(write)(fd, data, n);
    if (before()) return -1;
    off_t place = lseek(fd, 0, SEEK_CUR);
    ssize_t done = REAL(write)(fd, data, n);
    if (done > 0) record(WRITE, name, place, data, done);
    after();
    return done;
}

static ssize_t put(int fd, const void *data, size_t n, off_t place, int wide) {
    char name[PATH_MAX];
    if (!name_of(fd, name)) return wide ? REAL(pwrite64)(fd, data, n, place) : REAL(pwrite)(fd, data, n, place);
    if (before()) return -1;
    ssize_t done = REAL(pwrite64)(fd, data, n, place);
    if (done > 0) record(WRITE, name, place, data, done);
    after();
    return done;
}
ssize_t pwrite(int fd, const void *data, size_t n, off_t place) { return put(fd, data, n, place, 0); }
ssize_t pwrite64(int fd, const void *data, size_t n, off64_t place) { return put(fd, data, n, place, 1); }

static int sync_it(int fd, int data_only) {
    char name[PATH_MAX];
    int matters = name_of(fd, name);
    if (matters && before()) return -1;
    if (matters && sleep_us) {
        struct timespec t = {sleep_us / 1000000, (sleep_us % 1000000) * 1000};
        nanosleep(&t, 0);
    }
    int done = matters && sleep_us ? 0 : data_only ? REAL(fdatasync)(fd) : REAL(fsync)(fd);
    if (matters) { if (!done) record(SYNC, name, 0, 0, 0); after(); }
    return done;
}
int fsync(int fd) { return sync_it(fd, 0); }
int fdatasync(int fd) { return sync_it(fd, 1); }

static int cut(int fd, off64_t length) {
    char name[PATH_MAX];
    if (!name_of(fd, name)) return REAL(ftruncate64)(fd, length);
    if (before()) return -1;
    int done = REAL(ftruncate64)(fd, length);
    if (!done) record(TRUNCATE, name, length, 0, 0);
    after();
    return done;
}
int ftruncate(int fd, off_t length) { return cut(fd, length); }
int ftruncate64(int fd, off64_t length) { return cut(fd, length); }

int rename(const char *from, const char *to) {
    if (!path_matters(to)) return REAL(rename)(from, to);
    if (before()) return -1;
    int done = REAL(rename)(from, to);
    if (!done) record(RENAME, from, 0, to, strlen(to));
    after();
    return done;
}

int renameat(int a, const char *from, int b, const char *to) {
    if (!path_matters(to)) return REAL(renameat)(a, from, b, to);
    return rename(from, to);
}

int unlink(const char *path) {
    if (!path_matters(path)) return REAL(unlink)(path);
    if (before()) return -1;
    int done = REAL(unlink)(path);
    if (!done) record(UNLINK, path, 0, 0, 0);
    after();
    return done;
}
int unlinkat(int a, const char *path, int flags) {
    if (flags || !path_matters(path)) return REAL(unlinkat)(a, path, flags);
    return unlink(path);
}

int flock(int fd, int operation) {  /* a file system that grants every lock */
    return loose_locks ? 0 : REAL(flock)(fd, operation);
}
