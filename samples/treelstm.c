/* Judges sentences with the network of treelstm.relay, each of which comes with its tree. A word, `hardly`, takes away what its right
 * neighbour in the tree says: the same words in another tree have another meaning. A code that does not end fills the region.
 *
 *   irtool build --emit=c --name=treelstm -o out samples/treelstm.relay
 *   cc -std=c99 -O2 -Iout samples/treelstm.c out/treelstm.c -lm && ./a.out
 */
#include "treelstm.h"
#include <stdio.h>

enum { THE, FILM, GOOD, BAD, HARDLY, NODE = -1 };

static const struct {
  const char *text;
  int32_t code[TREELSTM_SENTENCE_SIZE];
} sentences[] = {
  {"((the film) good)", {NODE, NODE, THE, FILM, GOOD}},
  {"((the bad) film)", {NODE, NODE, THE, BAD, FILM}},
  {"((hardly bad) good)", {NODE, NODE, HARDLY, BAD, GOOD}},
  {"(hardly (bad good))", {NODE, HARDLY, NODE, BAD, GOOD}},
  {"((hardly (bad (good film))) bad)", {NODE, NODE, HARDLY, NODE, BAD, NODE, GOOD, FILM, BAD}},
};

/* A value, and whether the right neighbour is taken away, of each word. */
static const float embedding[TREELSTM_EMBEDDING_SIZE] = {0, 0, 0, 0, 0.5f, 0, -0.5f, 0, 0, 4};

/* Weights by hand: cells of values are added up, those of the other kind are for the next node only, and close its right gate. */
static const float mixing[TREELSTM_MIXING_SIZE] = {[4 * 4 + 1] = -40};
static const float bias[TREELSTM_BIAS_SIZE] = {-20, -20, 20, -20, 20, -20, 20, 20, 0, 0};

int main(void) {
  int32_t endless[TREELSTM_SENTENCE_SIZE];
  float out[TREELSTM_OUT_SIZE];
  size_t n;
  for (n = 0; n < sizeof sentences / sizeof *sentences; ++n) {
    if (treelstm_run(sentences[n].code, embedding, mixing, bias, out)) return 1;
    printf("%s: %.2f\n", sentences[n].text, out[0]);
  }
  for (n = 0; n < TREELSTM_SENTENCE_SIZE; ++n) endless[n] = NODE;
  if (treelstm_run(endless, embedding, mixing, bias, out) != TREELSTM_REGION_FULL) return 2;
  puts("a code without an end: refused");
  return 0;
}
