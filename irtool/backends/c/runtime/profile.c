/* Times of kernels, for `irtool profile`: the last ${upper}_PROFILE_EVENTS calls. */
#if defined(__unix__) || defined(__APPLE__) || defined(_WIN32)
#define IRT_HOSTED 1
#else
#define IRT_HOSTED 0
#endif
#ifndef ${upper}_PROFILE_EVENTS
#define ${upper}_PROFILE_EVENTS (IRT_HOSTED ? 16384 : 256)
#endif
#ifndef ${upper}_PROFILE_CLOCK
#if !IRT_HOSTED
#error "define ${upper}_PROFILE_CLOCK() as the count of a timer, and ${upper}_PROFILE_HZ as its counts in a second"
#endif
#include <time.h>
#define ${upper}_PROFILE_CLOCK() irt_nanoseconds()
#define ${upper}_PROFILE_HZ 1000000000
static uint64_t irt_nanoseconds(void) {
#ifdef CLOCK_MONOTONIC
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#else
  return (uint64_t)((double)clock() * (1e9 / CLOCKS_PER_SEC));
#endif
}
#endif
#ifndef ${upper}_PROFILE_HZ
#define ${upper}_PROFILE_HZ 0 /* unknown */
#endif

static struct {
  uint64_t begin, end;
  uint32_t kernel;
} irt_events[${upper}_PROFILE_EVENTS];
static size_t irt_event_count;

static void irt_record(uint32_t kernel, uint64_t begin) {
  const uint64_t end = (uint64_t)${upper}_PROFILE_CLOCK();
#if IRT_HOSTED && defined(__GNUC__)
  const size_t n = __atomic_fetch_add(&irt_event_count, 1, __ATOMIC_RELAXED) % (size_t)(${upper}_PROFILE_EVENTS);
#else
  const size_t n = irt_event_count++ % (size_t)(${upper}_PROFILE_EVENTS);
#endif
  irt_events[n].kernel = kernel;
  irt_events[n].begin = begin;
  irt_events[n].end = end;
}

/* In place of a call: its time is recorded. */
#define irt_timed(kernel, call) \
  for (uint64_t irt_time[2] = {1, (uint64_t)${upper}_PROFILE_CLOCK()}; irt_time[0]; irt_time[0] = 0, irt_record(kernel, irt_time[1])) call

/* Function, operators, uses, and places in the source of each kernel. */
static const char *const irt_kernels[] = {
$kernels
};

static void irt_put_number(void (*put)(void *to, const char *text), void *to, const char *before, uint64_t number) {
  char text[21];
  char *digit = text + 20;
  *digit = 0;
  do *--digit = (char)('0' + number % 10);
  while (number /= 10);
  put(to, before);
  put(to, digit);
}

void ${name}_profile_write(void (*put)(void *to, const char *text), void *to) {
  const size_t room = (size_t)(${upper}_PROFILE_EVENTS), lost = irt_event_count > room ? irt_event_count - room : 0;
  size_t n;
  put(to, "irtool-profile\t1\t$name\n");
  irt_put_number(put, to, "hz\t", ${upper}_PROFILE_HZ);
  irt_put_number(put, to, "\nlost\t", lost);
  put(to, "\n");
  for (n = 0; n < sizeof irt_kernels / sizeof *irt_kernels; ++n) {
    irt_put_number(put, to, "kernel\t", n);
    put(to, irt_kernels[n]);
  }
  for (n = lost; n < irt_event_count; ++n) {
    irt_put_number(put, to, "event\t", irt_events[n % room].kernel);
    irt_put_number(put, to, "\t", irt_events[n % room].begin);
    irt_put_number(put, to, "\t", irt_events[n % room].end);
    put(to, "\n");
  }
  put(to, "end\n");
}

void ${name}_profile_clear(void) {
  irt_event_count = 0;
}
