/*
 * import: a network of 1 kernel, 0 bytes of workspace, 12 bytes of weights.
 *
 *   in   image_0: float32[1]
 *   out  out0: float32[1]
 *   out  out1: float32[3]
 *
 * Written by irtool 0.1.0 for x86_64, x86-64-v4; vectors of 512 bits; one thread.
 * Compile: cc -std=c99 -O3 -fno-math-errno -fno-trapping-math -ffp-contract=fast -march=native -c import.c
 * Link:    -lm
 * This file belongs to whoever had it made: irtool claims no rights in it.
 */
#ifndef IMPORT_H
#define IMPORT_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of workspace that one run needs. */
#define IMPORT_ARENA_SIZE 64u

/* Inputs: elements and shape. */
#define IMPORT_IMAGE_0_SIZE 1u /* float32 */
#define IMPORT_IMAGE_0_NDIM 1
#define IMPORT_IMAGE_0_SHAPE {1}

/* Outputs: elements and shape. */
#define IMPORT_OUT0_SIZE 1u /* float32 */
#define IMPORT_OUT0_NDIM 1
#define IMPORT_OUT0_SHAPE {1}
#define IMPORT_OUT1_SIZE 3u /* float32 */
#define IMPORT_OUT1_NDIM 1
#define IMPORT_OUT1_SHAPE {3}

#ifdef __cplusplus
extern "C" {
#endif

/* Every function returns 0, or an error:
 * 1: the workspace is too small (nothing is written). */

/* Runs in a workspace of its own: not for two threads at once. */
int import_run(const float *image_0, float *out0, float *out1);
/* The same in the caller's workspace. */
int import_run_with(void *arena, size_t size, const float *image_0, float *out0, float *out1);

#ifdef __cplusplus
}
#endif

#endif
