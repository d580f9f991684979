#include "sampling.h"
#include <math.h>
#include <stdlib.h>

/* A number from 0 to 1, without 1, by SplitMix64 (Steele, Lea and Flood, 2014). */
static double uniform(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return (double)((z ^ z >> 31) >> 11) / 9007199254740992.0;
}

static int compare(const void *a, const void *b) {
  const struct candidate *x = a, *y = b;
  if (x->weight != y->weight) return x->weight < y->weight ? 1 : -1;
  return (x->token > y->token) - (x->token < y->token);
}

int32_t sample(struct sampler *s, const float *logits, int32_t count, struct candidate *work) {
  int32_t k, best = 0;
  double sum = 0, limit, draw;
  for (k = 1; k < count; ++k)
    if (logits[k] > logits[best]) best = k;
  if (s->temperature <= 0) return best;
  for (k = 0; k < count; ++k) {
    work[k].token = k;
    work[k].weight = exp(((double)logits[k] - logits[best]) / s->temperature);
  }
  qsort(work, (size_t)count, sizeof *work, compare);
  if (s->top_k > 0 && s->top_k < count) count = s->top_k;
  for (k = 0; k < count; ++k) sum += work[k].weight;
  limit = s->top_p * sum;
  for (k = 0, sum = 0; k < count && (k == 0 || sum < limit); ++k) sum += work[k].weight;
  count = k;
  draw = uniform(&s->state) * sum;
  for (k = 0; k + 1 < count && draw >= work[k].weight; ++k) draw -= work[k].weight;
  return work[k].token;
}
