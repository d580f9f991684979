/*
 * Written by irtool 0.1.0 for x86_64, x86-64-v4; vectors of 512 bits; one thread.
 * Compile: cc -std=c99 -O3 -fno-math-errno -fno-trapping-math -ffp-contract=fast -march=native -c import.c
 * Link:    -lm
 * This file belongs to whoever had it made: irtool claims no rights in it.
 */

#include "import.h"
#include <math.h>
#include <string.h>

/* Some of these functions are used with vectors only, some without. */
#ifdef __GNUC__
#define IRT_INLINE static inline __attribute__((unused))
#else
#define IRT_INLINE static inline
#endif

IRT_INLINE float irt_max_float32(float a, float b) { return a > b ? a : b; }

/*
 * tanh, nn.relu: elementwise
 *   tanh(float32[1]) -> float32[1]
 *   nn.relu(float32[1]) -> float32[1]
 * import.onnxtxt:1:1, import.onnxtxt:2:1: p0 = image_0
 */
static void tvmgen_import_fused_tanh_nn_relu(const float *p0, float *out) {
  out[0] = irt_max_float32(tanhf(p0[0]), 0.0f);
}

/* In front of each weight, such as __attribute__((section(".flash"))). */
#ifndef IMPORT_WEIGHTS_ATTR
#define IMPORT_WEIGHTS_ATTR
#endif
/* Empty: other files see the weights. */
#ifndef IMPORT_WEIGHTS_LINKAGE
#define IMPORT_WEIGHTS_LINKAGE static
#endif

IMPORT_WEIGHTS_LINKAGE IMPORT_WEIGHTS_ATTR const float import_w[3] = { /* [3] */
  1.0f, 1.4142135f, 1.7320508f,
};
static int import_main(const float *image_0, float *out0, float *out1, unsigned char *arena, unsigned char *arena_end) {
  (void)arena;
  (void)arena_end;
  tvmgen_import_fused_tanh_nn_relu(image_0, out0);
  memcpy(out1, import_w, 12u);
  return 0;
}

/* In front of the workspace, such as __attribute__((section(".ram2"), aligned(64))). */
#ifndef IMPORT_ARENA_ATTR
#define IMPORT_ARENA_ATTR
#endif
/* Empty: other files see the workspace. extern: another file has it, of this type and size. */
#ifndef IMPORT_ARENA_LINKAGE
#define IMPORT_ARENA_LINKAGE static
#endif
IMPORT_ARENA_LINKAGE IMPORT_ARENA_ATTR unsigned char import_storage[IMPORT_ARENA_SIZE];

int import_run_with(void *arena, size_t size, const float *image_0, float *out0, float *out1) {
  unsigned char *base = (unsigned char *)arena, *end;
  if (!arena || size < IMPORT_ARENA_SIZE) return 1;
  end = base + size;
  base += (64u - (uintptr_t)base % 64u) % 64u;
  return import_main(image_0, out0, out1, base, end);
}

int import_run(const float *image_0, float *out0, float *out1) {
  return import_run_with(import_storage, IMPORT_ARENA_SIZE, image_0, out0, out1);
}
