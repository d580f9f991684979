/* The choice of the next token. */
#ifndef SAMPLING_H
#define SAMPLING_H

#include <stdint.h>

struct candidate {
  double weight;
  int32_t token;
};

struct sampler {
  double temperature; /* 0: always the most probable token */
  int32_t top_k;      /* among so many of the most probable ones; 0: all */
  double top_p;       /* among the most probable ones that have this probability together; 1: all */
  uint64_t state;     /* of the generator: a seed gives the same tokens on every machine */
};

/* A token by its logits. `work` has room for `count` candidates. Of equal logits, the first token comes first. */
int32_t sample(struct sampler *s, const float *logits, int32_t count, struct candidate *work);

#endif
