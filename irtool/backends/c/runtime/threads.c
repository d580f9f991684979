#if IRT_TEAM
/* How many threads a run may have. One if it is itself in a parallel region; one in a process that was forked after threads
   were made, which has none of them. */
static int ${name}_threads(void) {
  int threads = omp_in_parallel() ? 1 : omp_get_max_threads();
#if defined(__unix__) || defined(__APPLE__)
  static int owner;
  int before = 0;
  const int own = (int)getpid();
  if (threads > 1 && !__atomic_compare_exchange_n(&owner, &before, own, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
      && before != own) return 1;
#endif
  return threads < ${most} ? threads : ${most};
}
#endif
