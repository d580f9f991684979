/* The instruction cpuid of libraries in which `older.py` put ud2 for it: without what came after x86-64-v3. */

#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#define BIT(n) (UINT32_C(1) << (n))

enum { CPUID_BYTES = 2 };

static void answer(int number, siginfo_t *info, void *context) {
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  const uint8_t *at = (const uint8_t *)registers[REG_RIP];
  uint32_t leaf = (uint32_t)registers[REG_RAX], part = (uint32_t)registers[REG_RCX], a, b, c, d;
  (void)info;
  if (at[0] != 0x0f || at[1] != 0x0b) { /* another illegal instruction: it is met again, and ends the program */
    signal(number, SIG_DFL);
    return;
  }
  __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(leaf), "c"(part));
  if (leaf == 7 && part == 0) {
    b &= ~(BIT(16) | BIT(17) | BIT(21) | BIT(26) | BIT(27) | BIT(28) | BIT(30) | BIT(31)); /* AVX-512 F DQ IFMA PF ER CD BW VL */
    c &= ~(BIT(1) | BIT(6) | BIT(11) | BIT(12) | BIT(14));                                 /* VBMI VBMI2 VNNI BITALG VPOPCNTDQ */
    d &= ~(BIT(2) | BIT(3) | BIT(8) | BIT(22) | BIT(23) | BIT(24) | BIT(25));              /* 4VNNIW 4FMAPS VP2INTERSECT AMX FP16 */
  }
  if (leaf == 7 && part == 1) {
    a &= ~(BIT(4) | BIT(5) | BIT(21) | BIT(23));            /* AVX-VNNI AVX512-BF16 AMX-FP16 AVX-IFMA */
    d &= ~(BIT(4) | BIT(5) | BIT(8) | BIT(10) | BIT(19)); /* AVX-VNNI-INT8 AVX-NE-CONVERT AMX-COMPLEX AVX-VNNI-INT16 AVX10 */
  }
  registers[REG_RAX] = a, registers[REG_RBX] = b, registers[REG_RCX] = c, registers[REG_RDX] = d;
  registers[REG_RIP] += CPUID_BYTES;
}

__attribute__((constructor)) static void install(void) {
  struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigaction(SIGILL, &action, 0);
}
