/* Searches for the most probable word with the network of beam.relay, which keeps three words at a time. The most probable first
 * letter leads to no good word: only a beam finds the better one.
 *
 *   irtool build --emit=c --name=beam --shape 'words=3,t<=12' --state words=out2 --state last=out3 --state scores=out4 -o out samples/lengths/beam.relay
 *   cc -std=c99 -O2 -Iout samples/beam.c out/beam.c -lm && ./a.out
 */
#include "beam.h"
#include <math.h>
#include <stdio.h>

#define LETTERS 6
#define BEAMS 3
#define STOP 1

static const char letters[] = "^.tona"; /* the first one begins a word, the second ends it, and stays at its end */

static const double follows[LETTERS][LETTERS] = {
    /* ^    .    t     o     n    a */
    {0, 0, 0.55, 0.45, 0, 0},
    {0, 1, 0, 0, 0, 0},
    {0, 0.3, 0, 0.3, 0, 0.4},
    {0, 0, 0, 0, 0.9, 0.1},
    {0, 1, 0, 0, 0, 0},
    {0, 0.4, 0.6, 0, 0, 0},
};

int main(void) {
  struct beam_net net;
  float table[BEAM_TABLE_SIZE], handicap[BEAM_HANDICAP_SIZE] = {0, -1e9f, -1e9f}; /* all words begin alike: one is enough */
  int32_t best[BEAM_OUT0_MAX_SIZE];
  float scores[BEAM_OUT1_SIZE];
  int code, k, n;
  for (k = 0; k < LETTERS * LETTERS; ++k) {
    const double p = follows[k / LETTERS][k % LETTERS];
    table[k] = p > 0 ? (float)log(p) : -1e9f;
  }
  if (beam_init(&net)) return 1;
  do {
    if ((code = beam_step(&net, table, handicap, best, scores)) != 0) break;
    for (k = 0; k < BEAMS; ++k) handicap[k] = 0;
    printf("%d:", (int)net.t);
    for (k = 0; k < BEAMS && scores[k] > -1e8f; ++k) {
      putchar(' ');
      for (n = 0; n < net.t; ++n) putchar(letters[net.words[k * net.t + n]]);
      printf(" %.3f", exp(scores[k]));
    }
    putchar('\n');
  } while (net.last[0] != STOP); /* no other word will have a higher score: scores only fall */
  if (code) return 2; /* BEAM_STATE_FULL: the best word is longer than 12 letters */
  for (n = 0; best[n] != STOP; ++n) putchar(letters[best[n]]);
  putchar('\n');
  return 0;
}
