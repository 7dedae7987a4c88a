/* Preloaded into a process, sets its system clock: CLOCK_REALTIME is ahead by the nanoseconds in the file $CLOCK_AHEAD, an int64 that may
 * change at any time. The steady clock goes on. As in a kernel, waits for a time of the system clock follow a step; libfaketime leaves
 * pthread_mutex_timedlock out, so that Fast DDS loses messages and crashes under it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SLICE_NS 20000000LL
#define REAL(name, version) static int (*real)(); if (!real) real = (int (*)())dlvsym(RTLD_NEXT, name, version)

static const volatile int64_t none, *ahead_ns = &none;

__attribute__((constructor)) static void start(void)
{
    int file = open(getenv("CLOCK_AHEAD"), O_RDONLY);
    void *at = mmap(0, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    if (at == MAP_FAILED)
        abort();
    ahead_ns = at;
    close(file);
}

static int64_t kernel_ns(clockid_t clock)
{
    struct timespec t;
    syscall(SYS_clock_gettime, clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static struct timespec timespec_of(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / 1000000000LL, .tv_nsec = ns % 1000000000LL};
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
        return syscall(SYS_clock_gettime, clock, t);
    *t = timespec_of(kernel_ns(clock) + *ahead_ns);
    return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    struct timespec now = timespec_of(kernel_ns(CLOCK_REALTIME) + *ahead_ns);
    (void)zone;
    *t = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *t)
{
    time_t now = timespec_of(kernel_ns(CLOCK_REALTIME) + *ahead_ns).tv_sec;
    if (t)
        *t = now;
    return now;
}

/* The kernel's time until which to wait at most before the clock is read again; whether that is the end of the whole wait. */
static int slice(const struct timespec *until, struct timespec *end)
{
    int64_t now = kernel_ns(CLOCK_REALTIME), left = until->tv_sec * 1000000000LL + until->tv_nsec - *ahead_ns - now;
    *end = timespec_of(now + (left < 0 ? 0 : left < SLICE_NS ? left : SLICE_NS));
    return left < SLICE_NS;
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, const struct timespec *restrict until)
{
    REAL("pthread_cond_timedwait", "GLIBC_2.3.2");
    struct timespec end;
    if (condition->__data.__wrefs & 2)      /* of the steady clock */
        return real(condition, mutex, until);
    int last = slice(until, &end), result = real(condition, mutex, &end);
    return result == ETIMEDOUT && !last ? 0 : result;      /* a spurious wake-up, which every caller expects */
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict until)
{
    REAL("pthread_mutex_timedlock", "GLIBC_2.2.5");
    for (;;) {
        struct timespec end;
        int last = slice(until, &end), result = real(mutex, &end);
        if (result != ETIMEDOUT || last)
            return result;
    }
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until)
{
    REAL("sem_timedwait", "GLIBC_2.2.5");
    for (;;) {
        struct timespec end;
        int last = slice(until, &end), result = real(semaphore, &end);
        if (!result || errno != ETIMEDOUT || last)
            return result;
    }
}
