/* What a program for a Cortex-M core begins with, in an emulator that has files and a console (semihosting). */
#include <stdint.h>
#include <stdio.h>

extern void _start(void);
extern char stack_top[], end[], heap_end[];

static void begin(void) {
  *(volatile uint32_t *)0xE000ED88u |= 0xF00000u; /* CPACR: floats and vectors */
  __asm__ volatile("dsb\n isb");
  _start();
}

static void fail(void) {
  register uint32_t what __asm__("r0") = 0x18, why __asm__("r1") = 0x20023; /* SYS_EXIT: a run-time error */
  __asm__ volatile("bkpt 0xab" : : "r"(what), "r"(why) : "memory");
  for (;;) {
  }
}

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
    stack_top, (void *)begin, (void *)fail, (void *)fail, (void *)fail, (void *)fail, (void *)fail,
};

/* The library's own asks the emulator how much memory there is, and does not believe all of its answers. */
void *_sbrk(int more);
void *_sbrk(int more) {
  static char *top = end;
  char *from = top;
  if (more > heap_end - top) return (void *)-1;
  top += more;
  return from;
}

/* The console has no bytes but text. */
__attribute__((constructor)) static void use_files(void) {
  if (!freopen("stdin.bin", "rb", stdin) || !freopen("stdout.bin", "wb", stdout)) return;
}
