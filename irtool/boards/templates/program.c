
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char data_begin[], data_end[], data_image[], bss_begin[], bss_end[];
extern void (*const init_begin[])(void);
extern void (*const init_end[])(void);
int main(int argc, char **argv);

#define SYS_WRITE0 0x04
#define SYS_GET_CMDLINE 0x15
#define SYS_EXIT_EXTENDED 0x20

APART static void leave(int code) {
  const uint32_t block[2] = {0x20026u, (uint32_t)code}; /* the program has ended, with this code */
  for (;;) call_host(SYS_EXIT_EXTENDED, block);
}

APART static void print(const char *text) { call_host(SYS_WRITE0, text); }

APART static void print_address(const char *before, uint32_t address) {
  static char digits[11] = "0x00000000";
  int k;
  for (k = 0; k < 8; ++k) digits[9 - k] = "0123456789abcdef"[(address >> (4 * k)) & 15u];
  print(before);
  print(digits);
}

APART static void fail(const char *reason, uint32_t address, uint32_t place, uint32_t caller) {
  print("FAULT: ");
  print(reason);
  if (address) print_address(" at ", address);
  if (place) print_address("; instruction ", place);
  if (caller) print_address("; called from ", caller);
  print("\n");
  leave(70);
}

#ifdef COUNTED_FUNCTIONS
/* The instructions that each function takes with all that it calls, by the compiler's hooks (-finstrument-functions). */
static struct { const void *function; uint32_t calls; uint64_t ticks; } counts[COUNTED_FUNCTIONS];
static uint64_t starts[64];
static int depth;
void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);
APART void __cyg_profile_func_enter(void *function, void *caller) {
  (void)function;
  (void)caller;
  if (depth < 64) starts[depth] = read_counter();
  ++depth;
}
APART void __cyg_profile_func_exit(void *function, void *caller) {
  const uint64_t now = read_counter();
  int n;
  (void)caller;
  if (--depth >= 64) return;
  for (n = 0; n < COUNTED_FUNCTIONS && counts[n].function && counts[n].function != function; ++n) continue;
  if (n == COUNTED_FUNCTIONS) return;
  counts[n].function = function;
  counts[n].calls += 1;
  counts[n].ticks += now - starts[depth];
}
APART static void print_counts(void) {
  uint64_t first, second, third;
  int n;
  first = read_counter();
  spin(1000);
  second = read_counter();
  spin(501000);
  third = read_counter();
  printf("COUNTER: %lu ticks for 1000000 instructions\n", (unsigned long)((third - second) - (second - first)));
  for (n = 0; n < COUNTED_FUNCTIONS && counts[n].function; ++n) {
    const unsigned long high = (unsigned long)(counts[n].ticks >> 24), low = (unsigned long)(counts[n].ticks & 0xFFFFFFu);
    printf("COUNT: %lx %lu %lu %lu\n", (unsigned long)counts[n].function, (unsigned long)counts[n].calls, high, low);
  }
}
#endif

/* The words of the host's command line, separated by blanks. */
APART static int read_words(char **words, int most) {
  static char line[1024];
  struct { char *text; uint32_t size; } block;
  int count = 0;
  char *word;
  block.text = line;
  block.size = sizeof line - 1;
  if (call_host(SYS_GET_CMDLINE, &block) != 0) return 0;
  for (word = strtok(line, " "); word && count < most; word = strtok(NULL, " ")) words[count++] = word;
  return count;
}

__attribute__((used)) APART static void begin(void) {
  static char *words[128];
  void (*const *init)(void);
  int count, code;
  memcpy(data_begin, data_image, (size_t)(data_end - data_begin));
  memset(bss_begin, 0, (size_t)(bss_end - bss_begin));
  prepare_processor();
  prepare_library();
  for (init = init_begin; init < init_end; ++init) (*init)();
#ifdef COUNTED_FUNCTIONS
  start_counter();
#endif
  count = read_words(words, 127);
  code = main(count, words);
#ifdef COUNTED_FUNCTIONS
  print_counts();
#endif
  fflush(stdout);
  leave(code);
}
