/* Spells a word letter by letter with the network of speller.relay, whose hidden state stays in the network. Three letters
 * are in it twice or more: only the state tells which comes next.
 *
 *   irtool build --emit=c --name=speller --state h=out1 -o out samples/speller.relay
 *   cc -std=c99 -O2 -Iout samples/speller.c out/speller.c -lm && ./a.out
 */
#include "speller.h"
#include <stdio.h>
#include <string.h>

#define STATES 16
#define STOP 0

static const char letters[] = ".abcdr";
static const char word[] = "abracadabra.";

static float embedding[SPELLER_EMBEDDING_SIZE], recurrent[SPELLER_RECURRENT_SIZE], output[SPELLER_OUTPUT_SIZE];

/* Weights by hand: each step moves a one from one state to the next, the first step puts it there, and each state has its letter. */
static void set_weights(void) {
  int k;
  for (k = 0; word[k]; ++k) {
    if (k + 1 < STATES) recurrent[(k + 1) * STATES + k] = 4;
    output[(strchr(letters, word[k]) - letters) * STATES + k] = 1;
  }
  embedding[STOP * STATES] = 4; /* the stop letter begins a word */
}

int main(void) {
  struct speller_net net;
  int32_t letter = STOP, next;
  int count;
  set_weights();
  if (speller_init(&net)) return 1;
  for (count = 0; count < 100; ++count) {
    if (speller_step(&net, &letter, embedding, recurrent, output, &next)) return 2;
    if (next == STOP) break;
    putchar(letters[next]);
    letter = next;
  }
  putchar('\n');
  return 0;
}
