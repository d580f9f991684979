/* Start-up code for a Cortex-M core with a host that has files and a console (semihosting), such as an emulator. */
#include <stdint.h>

#define APART __attribute__((no_instrument_function))

extern char stack_limit[], stack_top[], stack_guard[], heap_begin[], heap_end[];

/* Calls the host: the operation in r0, its arguments in r1. */
APART static int call_host(int operation, const void *arguments) {
  register int r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = arguments;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

static void begin(void);
void start(void);
APART void start(void) { begin(); }
static void fail(const char *reason, uint32_t address, uint32_t place, uint32_t caller);
void initialise_monitor_handles(void);

__attribute__((used)) APART static void report_fault(const uint32_t *frame) {
  const uint32_t status = *(volatile uint32_t *)0xE000ED28u; /* CFSR */
  const char *reason = "a fault";
  uint32_t address = 0, place = 0, caller = 0;
#ifdef __ARM_FEATURE_IDIV /* not on cores with the small instruction set, which have no such registers */
  if (status & 0x0082u) reason = "no access to memory", address = *(volatile uint32_t *)0xE000ED34u; /* MMFAR */
  if (status & 0x8200u) reason = "no memory", address = *(volatile uint32_t *)0xE000ED38u;           /* BFAR */
  if (status & 0x0100u) reason = "no code to execute";
  if (status & 0x00010000u) reason = "an undefined instruction";
  if (status & 0x01000000u) reason = "an unaligned access";
  if (status & 0x02000000u) reason = "a division by zero";
  if (status & 0x00100000u) reason = "the stack is full";
#else
  (void)status;
#endif
  if ((const char *)frame < stack_limit) {
    fail("the stack is full", 0, 0, 0);
  } else {
    place = frame[6], caller = frame[5];
    fail(reason, address, place, caller);
  }
}

/* The stack may be full: it begins anew. */
__attribute__((naked, used)) APART static void fault(void) {
  __asm__ volatile("mrs r0, msp\n ldr r1, =stack_top\n mov sp, r1\n ldr r1, =report_fault\n bx r1");
}

#ifdef COUNTED_FUNCTIONS
/* SysTick counts down from 2^24 - 1, again and again. */
#define SYST_CSR (*(volatile uint32_t *)0xE000E010u)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014u)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018u)
#define ICSR (*(volatile uint32_t *)0xE000ED04u)
static volatile uint32_t rounds;
APART static void tick(void) { ++rounds; }
APART static void start_counter(void) {
  SYST_RVR = 0xFFFFFFu;
  SYST_CVR = 0;
  SYST_CSR = 7; /* the processor's clock, with interrupts */
}
APART static uint64_t read_counter(void) {
  uint32_t high, low;
  do {
    high = rounds;
    low = SYST_CVR;
    if (ICSR & 0x04000000u) low = SYST_CVR, ++high; /* a round is over, and its interrupt is waiting */
  } while (rounds != high && rounds + 1 != high);
  return ((uint64_t)high << 24) + (0xFFFFFFu - low);
}
/* Executes `turns` times two instructions. */
APART static void spin(uint32_t turns) {
  __asm__ volatile("1: subs %0, #1\n bne 1b" : "+l"(turns) : : "cc");
}
#else
#define tick fault
#endif

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
    stack_top, (void *)begin, (void *)fault, (void *)fault, (void *)fault, (void *)fault, (void *)fault, (void *)fault,
    (void *)fault, (void *)fault, (void *)fault, (void *)fault, (void *)fault, (void *)fault, (void *)fault, (void *)tick,
};

APART static void prepare_processor(void) {
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
  *(volatile uint32_t *)0xE000ED88u |= 0xF00000u; /* CPACR: floats and vectors */
  __asm__ volatile("dsb\n isb");
#endif
#if defined(__ARM_ARCH) && __ARM_ARCH >= 8 && defined(__ARM_FEATURE_IDIV) && !defined(__ARM_ARCH_8M_BASE__)
  __asm__ volatile("msr msplim, %0" : : "r"(stack_limit));
#else
  if ((uintptr_t)stack_guard && (*(volatile uint32_t *)0xE000ED90u & 0xFF00u)) { /* MPU_TYPE: regions */
    *(volatile uint32_t *)0xE000ED9Cu = (uint32_t)(uintptr_t)stack_guard | 0x10u; /* region 0 */
    *(volatile uint32_t *)0xE000EDA0u = 0x1000001Fu; /* 64 KiB without access, none of them code */
    *(volatile uint32_t *)0xE000ED94u = 5u; /* on; elsewhere as without it */
    __asm__ volatile("dsb\n isb");
  }
#endif
}

APART static void prepare_library(void) { initialise_monitor_handles(); }

/* The library's own asks the host how much memory there is. */
void *_sbrk(int more);
APART void *_sbrk(int more) {
  static char *top = heap_begin;
  char *from = top;
  if (more > heap_end - top) return (void *)-1;
  top += more;
  return from;
}
