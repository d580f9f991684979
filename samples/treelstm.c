/* Judges sentences with the network of treelstm.relay, each of which is a tree of words. A word, `hardly`, takes away what its right
 * neighbour in the tree says: the same words in another tree have another meaning. Trees that do not fit in the region are refused.
 *
 *   irtool build --emit=c --name=treelstm -o out samples/treelstm.relay
 *   cc -std=c99 -O2 -Iout samples/treelstm.c out/treelstm.c -lm && ./a.out
 */
#include "treelstm.h"
#include <stdio.h>

enum { THE, FILM, GOOD, BAD, HARDLY, WORDS };

static const char *const words[WORDS] = {"the", "film", "good", "bad", "hardly"};

static const char *const sentences[] = {
  "((the film) good)", "((the bad) film)", "((hardly bad) good)", "(hardly (bad good))", "((hardly (bad (good film))) bad)",
};

/* A value, and whether the right neighbour is taken away, of each word. */
static const float embedding[TREELSTM_EMBEDDING_SIZE] = {0, 0, 0, 0, 0.5f, 0, -0.5f, 0, 0, 4};

/* Weights by hand: cells of values are added up, those of the other kind are for the next node only, and close its right gate. */
static const float mixing[TREELSTM_MIXING_SIZE] = {[4 * 4 + 1] = -40};
static const float bias[TREELSTM_BIAS_SIZE] = {-20, -20, 20, -20, 20, -20, 20, 20, 0, 0};

static int64_t memory[100000];

/* The tree of the text at *at, behind which *at is then; 0 if there is no room for it. */
static int64_t read_tree(struct treelstm_values *values, const char **at) {
  int64_t left, right;
  int n;
  while (**at == ' ') ++*at;
  if (**at == '(') {
    ++*at;
    left = read_tree(values, at);
    right = read_tree(values, at);
    ++*at;
    return left && right ? treelstm_Node(values, left, right) : 0;
  }
  for (n = 0; n < WORDS - 1 && strncmp(*at, words[n], strlen(words[n])) != 0;) ++n;
  *at += strlen(words[n]);
  return treelstm_Word(values, n);
}

int main(void) {
  struct treelstm_values *values = treelstm_values_begin(memory, sizeof memory);
  const int64_t empty = values->top;
  float out[TREELSTM_OUT_SIZE];
  int64_t tree;
  size_t n;
  for (n = 0; n < sizeof sentences / sizeof *sentences; ++n) {
    const char *at = sentences[n];
    values->top = empty;
    tree = read_tree(values, &at);
    if (!tree || treelstm_run(values, &tree, embedding, mixing, bias, out)) return 1;
    printf("%s: %.2f\n", sentences[n], out[0]);
  }
  /* In constant memory, any number of times. */
  for (n = 0; n < 1000; ++n)
    if (treelstm_run(values, &tree, embedding, mixing, bias, out)) return 2;
  for (n = 0; n < 20000; ++n) tree = treelstm_Node(values, tree, tree);
  if (!tree || treelstm_run(values, &tree, embedding, mixing, bias, out) != TREELSTM_REGION_FULL) return 3;
  puts("a tree that is too large: refused");
  return 0;
}
