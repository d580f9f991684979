/* Intel's AMX in plain C, for processors without: `cc -include emulated_amx.h`. It does what the Software Developer's Manual says, for one
   thread at a time as registers are each thread's own, and ends the program where a processor would raise an exception. With
   EMULATED_AMX=refused in the environment, the system refuses tiles. */
#ifndef EMULATED_AMX_H
#define EMULATED_AMX_H
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef __AMX_TILE__
#undef __AMX_INT8__
#undef __AMX_BF16__
#define __AMX_TILE__ 1
#define __AMX_INT8__ 1
#define __AMX_BF16__ 1
#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stream_loadd
#undef _tile_stored
#undef _tile_dpbusd
#undef _tile_dpbsud
#undef _tile_dpbssd
#undef _tile_dpbuud
#undef _tile_dpbf16ps
#define _tile_loadconfig(p) emulated_config((const uint8_t *)(p))
#define _tile_release() emulated_release()
#define _tile_zero(t) emulated_zero(t)
#define _tile_loadd(t, p, stride) emulated_load(t, (const uint8_t *)(p), stride)
#define _tile_stream_loadd(t, p, stride) emulated_load(t, (const uint8_t *)(p), stride)
#define _tile_stored(t, p, stride) emulated_store(t, (uint8_t *)(p), stride)
#define _tile_dpbusd(c, a, b) emulated_bytes(c, a, b, 0, 1)
#define _tile_dpbsud(c, a, b) emulated_bytes(c, a, b, 1, 0)
#define _tile_dpbssd(c, a, b) emulated_bytes(c, a, b, 1, 1)
#define _tile_dpbuud(c, a, b) emulated_bytes(c, a, b, 0, 0)
#define _tile_dpbf16ps(c, a, b) emulated_pairs(c, a, b)
#define syscall emulated_syscall
#define EMULATED static __attribute__((unused))

/* Counted in all sources of a program together. */
__attribute__((weak)) long emulated_products, emulated_configurations, emulated_open;

static __thread struct {
  int configured;
  int rows[8], bytes[8];
  uint8_t data[8][16][64];
} emulated;

EMULATED void emulated_check(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "AMX: %s\n", what);
  abort();
}

EMULATED long emulated_syscall(long number, ...) {
  const char *said = getenv("EMULATED_AMX");
  emulated_check(number == 158, "another system call than arch_prctl");
  return said && !strcmp(said, "refused") ? -1 : 0;
}

EMULATED void emulated_config(const uint8_t *p) {
  int n;
  emulated_check(p[0] == 1 && p[1] == 0, "the palette is 1, and rows begin at 0");
  for (n = 2; n < 16; ++n) emulated_check(!p[n], "reserved bytes are 0");
  for (n = 0; n < 16; ++n) {
    const int bytes = p[16 + 2 * n] | p[17 + 2 * n] << 8, rows = p[48 + n];
    emulated_check(bytes <= 64 && rows <= 16 && !bytes == !rows, "a tile has up to 16 rows of up to 64 bytes");
    emulated_check(n < 8 || !rows, "there are 8 tiles");
    if (n < 8) emulated.rows[n] = rows, emulated.bytes[n] = bytes;
  }
  memset(emulated.data, 0, sizeof emulated.data);
  if (!emulated.configured) __atomic_add_fetch(&emulated_open, 1, __ATOMIC_RELAXED);
  emulated.configured = 1;
  __atomic_add_fetch(&emulated_configurations, 1, __ATOMIC_RELAXED);
}

EMULATED void emulated_release(void) {
  if (emulated.configured) __atomic_sub_fetch(&emulated_open, 1, __ATOMIC_RELAXED);
  memset(&emulated, 0, sizeof emulated);
}

EMULATED void emulated_has(int t) {
  emulated_check(emulated.configured && t >= 0 && t < 8 && emulated.rows[t], "a tile that is not configured");
}

EMULATED void emulated_zero(int t) {
  emulated_has(t);
  memset(emulated.data[t], 0, sizeof emulated.data[t]);
}

EMULATED void emulated_load(int t, const uint8_t *p, long stride) {
  int r;
  emulated_zero(t);
  for (r = 0; r < emulated.rows[t]; ++r) memcpy(emulated.data[t][r], p + r * stride, (size_t)emulated.bytes[t]);
}

EMULATED void emulated_store(int t, uint8_t *p, long stride) {
  int r;
  emulated_has(t);
  for (r = 0; r < emulated.rows[t]; ++r) memcpy(p + r * stride, emulated.data[t][r], (size_t)emulated.bytes[t]);
}

EMULATED void emulated_fit(int c, int a, int b) {
  emulated_has(a), emulated_has(b), emulated_has(c);
  emulated_check(a != b && a != c && b != c, "a tile is used twice");
  emulated_check(!(emulated.bytes[a] % 4) && !(emulated.bytes[b] % 4) && !(emulated.bytes[c] % 4), "words are whole");
  emulated_check(emulated.rows[c] == emulated.rows[a], "rows of the sums are those of the first operand");
  emulated_check(emulated.bytes[c] == emulated.bytes[b], "columns of the sums are those of the second operand");
  emulated_check(emulated.bytes[a] / 4 == emulated.rows[b], "steps of the sum are those of both operands");
  __atomic_add_fetch(&emulated_products, 1, __ATOMIC_RELAXED);
}

EMULATED void emulated_bytes(int c, int a, int b, int a_signed, int b_signed) {
  int m, n, k;
  emulated_fit(c, a, b);
  for (m = 0; m < emulated.rows[c]; ++m)
    for (n = 0; n < emulated.bytes[c] / 4; ++n) {
      uint32_t sum;
      memcpy(&sum, &emulated.data[c][m][4 * n], 4);
      for (k = 0; k < emulated.bytes[a]; ++k) {
        const uint8_t x = emulated.data[a][m][k], y = emulated.data[b][k / 4][4 * n + k % 4];
        sum += (uint32_t)((a_signed ? (int8_t)x : x) * (b_signed ? (int8_t)y : y));
      }
      memcpy(&emulated.data[c][m][4 * n], &sum, 4);
    }
}

/* Subnormal numbers are zeros of their sign. */
EMULATED float emulated_normal(float x) { return fabsf(x) < 1.17549435e-38f ? copysignf(0.0f, x) : x; }

EMULATED float emulated_number(const uint8_t *p) {
  const uint32_t bits = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 24;
  float x;
  memcpy(&x, &bits, 4);
  return emulated_normal(x);
}

EMULATED void emulated_pairs(int c, int a, int b) {
  int m, n, k;
  emulated_fit(c, a, b);
  for (m = 0; m < emulated.rows[c]; ++m)
    for (n = 0; n < emulated.bytes[c] / 4; ++n) {
      float sum, part[2] = {0.0f, 0.0f};
      memcpy(&sum, &emulated.data[c][m][4 * n], 4);
      for (k = 0; k < emulated.bytes[a] / 2; ++k) {
        const float x = emulated_number(&emulated.data[a][m][2 * k]);
        const float y = emulated_number(&emulated.data[b][k / 2][4 * n + 2 * (k % 2)]);
        part[k % 2] = emulated_normal(fmaf(x, y, part[k % 2]));
      }
      sum = emulated_normal(emulated_normal(sum) + emulated_normal(part[0] + part[1]));
      memcpy(&emulated.data[c][m][4 * n], &sum, 4);
    }
}
#endif
