/* Denormal numbers are zeros while a run goes on, where the processor can do so, and the caller's mode is restored.
   IRT_KEEP_DENORMALS: they stay as they are. */
#if defined(IRT_KEEP_DENORMALS)
#define IRT_FLUSHES 0
#elif defined(__x86_64__) || defined(_M_X64) || (defined(__i386__) && defined(__SSE3__) && defined(__SSE_MATH__))
#define IRT_FLUSHES 1
#include <xmmintrin.h>
typedef unsigned irt_mode;
#define irt_get_mode(mode) ((mode) = _mm_getcsr())
#define irt_set_mode(mode) _mm_setcsr(mode)
#define IRT_FLUSHING 0x8040u
#elif defined(__aarch64__) && defined(__GNUC__)
#define IRT_FLUSHES 1
typedef uint64_t irt_mode;
#define irt_get_mode(mode) __asm__ __volatile__("mrs %0, fpcr" : "=r"(mode) : : "memory")
#define irt_set_mode(mode) __asm__ __volatile__("msr fpcr, %0" : : "r"(mode) : "memory")
#define IRT_FLUSHING (UINT64_C(1) << 24)
#elif defined(__arm__) && defined(__ARM_FP) && !defined(__SOFTFP__) && defined(__GNUC__) \
  && !(defined(__thumb__) && !defined(__thumb2__))
#define IRT_FLUSHES 1
typedef uint32_t irt_mode;
#define irt_get_mode(mode) __asm__ __volatile__("vmrs %0, fpscr" : "=r"(mode) : : "memory")
#define irt_set_mode(mode) __asm__ __volatile__("vmsr fpscr, %0" : : "r"(mode) : "memory")
#define IRT_FLUSHING (UINT32_C(1) << 24)
#else
#define IRT_FLUSHES 0
#endif
#if !IRT_FLUSHES
typedef int irt_mode;
#endif

/* Switches this thread; returns its mode from before. */
IRT_INLINE irt_mode irt_flush(void) {
#if IRT_FLUSHES
  irt_mode mode;
  irt_get_mode(mode);
  if ((mode & IRT_FLUSHING) != IRT_FLUSHING) irt_set_mode(mode | IRT_FLUSHING);
  return mode;
#else
  return 0;
#endif
}

IRT_INLINE void irt_restore(irt_mode mode) {
#if IRT_FLUSHES
  if ((mode & IRT_FLUSHING) != IRT_FLUSHING) irt_set_mode(mode);
#else
  (void)mode;
#endif
}

/* In front of what a run does in that mode: inside of the function that switches, compilers could move arithmetic past that. */
#ifdef __GNUC__
#define irt_apart __attribute__((noinline))
#else
#define irt_apart
#endif

/* Around a parallel region, whose new threads get the mode of the one that begins it; and around what each of them does. */
#if defined(_OPENMP) && IRT_FLUSHES
#define irt_begin_region() do { irt_mode own_; irt_get_mode(own_); irt_set_mode(own_ & ~IRT_FLUSHING); } while (0)
#define irt_end_region() ((void)irt_flush())
#define irt_begin_thread() const irt_mode irt_before = irt_flush()
#define irt_end_thread() irt_restore(irt_before)
#else
#define irt_begin_region() ((void)0)
#define irt_end_region() ((void)0)
#define irt_begin_thread() ((void)0)
#define irt_end_thread() ((void)0)
#endif
