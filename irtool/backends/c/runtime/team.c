#if defined(_OPENMP) && defined(__GNUC__)
#define IRT_TEAM 1
#include <omp.h>
#include <pthread.h>
#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif
#else
#define IRT_TEAM 0
#endif

typedef struct irt_team irt_team;

/* A thread of a run; without a team it is alone. */
typedef struct {
  irt_team *team;
  int number, threads, parts, share, joined;
  uint32_t loop, met, task;
} irt_worker;

/* A kernel as threads run it, by the addresses of its operands. */
typedef void (*irt_task)(const void *const *operands, irt_worker *worker);

#if IRT_TEAM
/* The threads of a run. What one of them writes and others look at has cache lines of its own. */
struct irt_team {
  struct {
    uint64_t taken; /* the number of a loop, then how many parts of its share are begun */
    uint32_t busy;  /* a task that it is about to join, one more when it has; 0: none */
    char apart[112];
  } threads[64];
  uint32_t task, loop, met; /* odd while a task is open; of loops and meetings, those before it */
  uint32_t generation;      /* of meetings, those until now */
  irt_task run;             /* NULL: no more tasks */
  const void *const *operands;
  char apart_first[88];
  int arrived;
  char apart_others[124];
  int spins, asleep, joining; /* helpers that sleep; whether the first thread does */
  pthread_mutex_t lock;
  pthread_cond_t wake;
};

IRT_INLINE void irt_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

IRT_INLINE void irt_wake(irt_team *team, int *sleepers) {
  if (!__atomic_load_n(sleepers, __ATOMIC_SEQ_CST)) return;
  pthread_mutex_lock(&team->lock);
  pthread_cond_broadcast(&team->wake);
  pthread_mutex_unlock(&team->lock);
}

/* Returns when a condition holds. Whoever makes it hold wakes the sleepers then. */
#define irt_until(team, condition, sleepers) \
  do { \
    int turn_ = 0; \
    while (!(condition) && turn_ < (team)->spins) irt_pause(), ++turn_; \
    if (!(condition)) { \
      pthread_mutex_lock(&(team)->lock); \
      __atomic_add_fetch(sleepers, 1, __ATOMIC_SEQ_CST); \
      while (!(condition)) pthread_cond_wait(&(team)->wake, &(team)->lock); \
      __atomic_sub_fetch(sleepers, 1, __ATOMIC_SEQ_CST); \
      pthread_mutex_unlock(&(team)->lock); \
    } \
  } while (0)

/* Nobody may join the task from now on; counts those who have. */
IRT_INLINE void irt_close(irt_worker *w) {
  irt_team *const team = w->team;
  const uint32_t task = w->task;
  int n;
  __atomic_store_n(&team->task, task + 1, __ATOMIC_SEQ_CST);
  w->joined = 0;
  for (n = 1; n < w->threads; ++n) {
    const uint32_t *const busy = &team->threads[n].busy;
    irt_until(team, __atomic_load_n(busy, __ATOMIC_SEQ_CST) != task, &team->joining);
    w->joined += __atomic_load_n(busy, __ATOMIC_SEQ_CST) == task + 1;
  }
}
#endif

/* The next part of a loop for this thread: of its own share, then of the others'; the number of parts if there is none. */
IRT_INLINE int irt_next(irt_worker *w) {
#if IRT_TEAM
  for (; w->team && w->share < w->threads; ++w->share) {
    const int n = (w->number + w->share) % w->threads;
    const int first = (int)((int64_t)w->parts * n / w->threads), end = (int)((int64_t)w->parts * (n + 1) / w->threads);
    uint64_t *const taken = &w->team->threads[n].taken;
    uint64_t seen = __atomic_load_n(taken, __ATOMIC_RELAXED);
    for (;;) {
      const int32_t since = (int32_t)((uint32_t)(seen >> 32) - w->loop);
      const uint32_t count = since ? 0 : (uint32_t)seen;
      if (since > 0 || count >= (uint32_t)(end - first)) break; /* later loops: this one is done */
      if (__atomic_compare_exchange_n(
            taken, &seen, (uint64_t)w->loop << 32 | (count + 1), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return first + (int)count;
    }
  }
  if (w->team) return w->parts;
#endif
  return w->share++;
}

IRT_INLINE int irt_first(irt_worker *w, int parts) {
  w->parts = parts;
  w->share = 0;
  ++w->loop;
  return irt_next(w);
}

/* Returns when all threads that have joined the task have come here. Others may join later if it `opens` again: they go through
   what is done already. */
IRT_INLINE void irt_wait(irt_worker *w, int opens) {
#if IRT_TEAM
  irt_team *const team = w->team;
  if (!team) return;
  if (w->number) {
    if (__atomic_load_n(&team->generation, __ATOMIC_SEQ_CST) == w->met) {
      __atomic_add_fetch(&team->arrived, 1, __ATOMIC_SEQ_CST);
      irt_wake(team, &team->joining);
      irt_until(team, __atomic_load_n(&team->generation, __ATOMIC_SEQ_CST) != w->met, &team->asleep);
    }
    ++w->met;
  } else {
    if (__atomic_load_n(&team->task, __ATOMIC_RELAXED) == w->task) irt_close(w);
    irt_until(team, __atomic_load_n(&team->arrived, __ATOMIC_SEQ_CST) == w->joined, &team->joining);
    __atomic_store_n(&team->arrived, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&team->generation, team->generation + 1, __ATOMIC_SEQ_CST);
    if (opens) __atomic_store_n(&team->task, w->task, __ATOMIC_SEQ_CST);
    irt_wake(team, &team->asleep);
  }
#else
  (void)w;
  (void)opens;
#endif
}

/* Runs a task with those threads that join it in time; the first thread calls this. */
IRT_INLINE void irt_share(irt_worker *w, irt_task run, const void *const *operands) {
#if IRT_TEAM
  irt_team *const team = w->team;
  int n;
  if (team) {
    w->task = team->task + 1;
    team->run = run;
    team->operands = operands;
    team->loop = w->loop;
    team->met = team->generation;
    __atomic_store_n(&team->task, w->task, __ATOMIC_SEQ_CST);
    irt_wake(team, &team->asleep);
    run(operands, w);
    if (__atomic_load_n(&team->task, __ATOMIC_RELAXED) == w->task) irt_close(w);
    for (n = 1; n < w->threads && w->joined; ++n) {
      const uint32_t *const busy = &team->threads[n].busy, task = w->task;
      irt_until(team, __atomic_load_n(busy, __ATOMIC_SEQ_CST) != task + 1, &team->joining);
    }
    return;
  }
#endif
  run(operands, w);
}

#if IRT_TEAM
/* What all threads but the first do: take part in tasks until there are no more. */
IRT_INLINE void irt_help(irt_worker *w) {
  irt_team *const team = w->team;
  uint32_t *const busy = &team->threads[w->number].busy;
  uint32_t last = 0, task;
  for (;;) {
    irt_until(team, ((task = __atomic_load_n(&team->task, __ATOMIC_SEQ_CST)) & 1) && task != last, &team->asleep);
    __atomic_store_n(busy, task, __ATOMIC_SEQ_CST);
    /* Either the task is still open, and the first thread will see who is about to join, or it is too late, until it opens again. */
    if (__atomic_load_n(&team->task, __ATOMIC_SEQ_CST) == task) {
      if (!team->run) return;
      last = task;
      __atomic_store_n(busy, task + 1, __ATOMIC_SEQ_CST);
      irt_wake(team, &team->joining);
      w->loop = team->loop;
      w->met = team->met;
      team->run(team->operands, w);
    }
    __atomic_store_n(busy, 0, __ATOMIC_SEQ_CST);
    irt_wake(team, &team->joining);
  }
}

/* No more tasks. */
IRT_INLINE void irt_end(irt_team *team) {
  team->run = NULL;
  __atomic_store_n(&team->task, team->task + 1, __ATOMIC_SEQ_CST);
  irt_wake(team, &team->asleep);
}
#endif
