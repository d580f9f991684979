/* Start-up code for a RISC-V core in machine mode with a host that has files and a console (semihosting), such as an emulator. */
#include <stdint.h>

#define APART __attribute__((no_instrument_function))

extern char stack_limit[], stack_top[], stack_guard[];

/* Calls the host: the operation in a0, its arguments in a1. The three instructions stand in one page, uncompressed. */
APART static int call_host(int operation, const void *arguments) {
  register int a0 __asm__("a0") = operation;
  register const void *a1 __asm__("a1") = arguments;
  __asm__ volatile(
      ".option push\n .option norvc\n .balign 4\n slli zero, zero, 0x1f\n ebreak\n srai zero, zero, 7\n .option pop"
      : "+r"(a0) : "r"(a1) : "memory");
  return a0;
}

static void begin(void);
static void fail(const char *reason, uint32_t address, uint32_t place, uint32_t caller);

__attribute__((used)) APART static void report_trap(const char *stack, uint32_t caller) {
  static const char *const reasons[8] = {"an unaligned jump", "no code to execute", "an undefined instruction", "a breakpoint",
                                         "an unaligned access", "no memory", "an unaligned access", "no memory"};
  uint32_t cause, place, address;
  __asm__ volatile("csrr %0, mcause\n csrr %1, mepc\n csrr %2, mtval" : "=r"(cause), "=r"(place), "=r"(address));
  if (stack < stack_limit) fail("the stack is full", 0, place, caller);
  fail(cause < 8 ? reasons[cause] : "a trap", address, place, caller);
}

/* The stack may be full: it begins anew. */
__attribute__((naked, used, aligned(4))) APART static void trap(void) {
  __asm__ volatile("mv a0, sp\n mv a1, ra\n la sp, stack_top\n tail report_trap");
}

__attribute__((naked, used, section(".vectors"))) APART void start(void);
void start(void) {
  __asm__ volatile(
      ".option push\n .option norelax\n la gp, __global_pointer$\n .option pop\n"
      "la sp, stack_top\n la tp, tls_base\n la t0, trap\n csrw mtvec, t0\n tail begin");
}

#ifdef COUNTED_FUNCTIONS
APART static void start_counter(void) {}
APART static uint64_t read_counter(void) {
  uint32_t high, low, again;
  do {
    __asm__ volatile("csrr %0, minstreth\n csrr %1, minstret\n csrr %2, minstreth" : "=r"(high), "=r"(low), "=r"(again));
  } while (high != again);
  return ((uint64_t)high << 32) + low;
}
/* Executes `turns` times two instructions. */
APART static void spin(uint32_t turns) {
  __asm__ volatile("1: addi %0, %0, -1\n bnez %0, 1b" : "+r"(turns));
}
#endif

APART static void prepare_processor(void) {
#ifdef __riscv_flen
  __asm__ volatile("csrs mstatus, %0" : : "r"(0x2000)); /* floats */
#endif
  if ((uintptr_t)stack_guard) { /* a locked region of 64 KiB without access */
    const uint32_t region = ((uint32_t)(uintptr_t)stack_guard >> 2) | 0x1FFFu;
    __asm__ volatile("csrw pmpaddr0, %0\n csrw pmpcfg0, %1" : : "r"(region), "r"(0x98));
  }
}

APART static void prepare_library(void) {}
