/* A clock that may be set while a process runs, for that process alone (LD_PRELOAD).
   The file CLOCK_OFFSET holds the seconds by which it is wrong; monotonic time is left alone.
   A wait until a moment ends when this clock says so, as on a machine whose clock was set. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static volatile long *offset_s;
static const long STEP_NS = 20000000, SECOND_NS = 1000000000;

__attribute__((constructor)) static void begin(void) {
    int file = open(getenv("CLOCK_OFFSET"), O_RDONLY);
    offset_s = mmap(NULL, sizeof *offset_s, PROT_READ, MAP_SHARED, file, 0);
    if (offset_s == MAP_FAILED) abort();
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    int failed = syscall(SYS_clock_gettime, clock, at);
    if (!failed && offset_s && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        at->tv_sec += *offset_s;
    return failed;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}

int timespec_get(struct timespec *at, int base) {
    clock_gettime(CLOCK_REALTIME, at);
    return base;
}

int cnd_timedwait(cnd_t *condition, mtx_t *lock, const struct timespec *until) {
    static int (*wait)(cnd_t *, mtx_t *, const struct timespec *);
    if (!wait) wait = dlsym(RTLD_NEXT, "cnd_timedwait");
    for (;;) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        long left_s = until->tv_sec - now.tv_sec, left_ns = until->tv_nsec - now.tv_nsec;
        if (left_s < 0 || (left_s == 0 && left_ns <= 0)) return thrd_timedout;
        long step_ns = left_s > 1 ? STEP_NS : left_s * SECOND_NS + left_ns;
        if (step_ns > STEP_NS) step_ns = STEP_NS;
        syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
        now.tv_nsec += step_ns;
        if (now.tv_nsec >= SECOND_NS) now.tv_sec++, now.tv_nsec -= SECOND_NS;
        int ended = wait(condition, lock, &now);
        if (ended != thrd_timedout) return ended;
    }
}
