/* Hears a tone of 1 kHz in two streams at once with the network of spotter.relay: one instance for each, over the same weights.
 *
 *   irtool build --emit=c --name=spotter --state past=out1 --state energy=out2 -o out samples/spotter.relay
 *   cc -std=c99 -O2 -Iout samples/spotter.c out/spotter.c -lm && ./a.out
 */
#include "spotter.h"
#include <math.h>
#include <stdio.h>

#define STREAMS 2
#define STEPS 60
#define TAPS 32
#define RATE 8000
#define TONE 1000

static float filters[SPOTTER_FILTERS_SIZE];
static struct spotter_net nets[STREAMS];

static float wave(double frequency, long sample) {
  return (float)sin(6.283185307179586 * frequency * (double)sample / RATE);
}

int main(void) {
  static const int first[STREAMS] = {20, 35}, count = 10; /* the steps with the tone */
  float x[SPOTTER_X_SIZE], score;
  int stream, step, k, heard[STREAMS] = {0, 0};
  for (k = 0; k < TAPS; ++k) {
    filters[k] = wave(TONE, k) * 2 / TAPS;
    filters[TAPS + k] = wave(TONE, k + RATE / TONE / 4) * 2 / TAPS;
  }
  for (stream = 0; stream < STREAMS; ++stream)
    if (spotter_init(&nets[stream])) return 1;
  for (step = 0; step < STEPS; ++step)
    for (stream = 0; stream < STREAMS; ++stream) {
      const int sounds = step >= first[stream] && step < first[stream] + count;
      for (k = 0; k < (int)SPOTTER_X_SIZE; ++k) {
        const long sample = (long)step * (long)SPOTTER_X_SIZE + k;
        x[k] = 0.3f * wave(2350, sample) + (sounds ? wave(TONE, sample) : 0);
      }
      if (spotter_step(&nets[stream], x, filters, &score)) return 2;
      if ((score > 0.5f) != heard[stream]) {
        heard[stream] = !heard[stream];
        printf("stream %d, step %d: %s\n", stream, step, heard[stream] ? "the tone begins" : "it ends");
      }
    }
  return 0;
}
