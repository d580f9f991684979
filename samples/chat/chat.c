/* Writes on with a language model: each line that it reads, or the text behind its options, gets a continuation.
 *
 *   irtool build samples/chat/model.gguf --name=model --emit=c -o out
 *   cc -std=c99 -O3 -march=native -Iout samples/chat/[a-z]*.c out/model.c -lm -o chat
 *   ./chat -m samples/chat/model.gguf -w out/model.bin 'A pass is'
 *
 *   -n 100  tokens at most     -t 0.8  temperature; 0: the most probable token
 *   -k 40   among so many      -p 0.9  among those that have this probability together      -s 1  seed
 *
 * The network is the C that irtool wrote; of the GGUF file, this program reads the tokenizer alone.
 */
#include "model.h"
#include "sampling.h"
#include "tokenizer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 4096 };

static struct model_net net;
static float logits[MODEL_LOGITS_SIZE];
static struct candidate work[MODEL_LOGITS_SIZE];
static int32_t tokens[LONGEST + 2]; /* with one that begins the text, and a space in front of it */
static char line[LONGEST + 1];

/* Reads the text and writes tokens behind it. Returns an error of the network. */
static int reply(const struct tokenizer *t, struct sampler *s, const char *text, long most) {
  long count = 0;
  int code;
  if (net.context == 0 && t->begin >= 0) tokens[count++] = t->begin;
  {
    const long more = tokenizer_encode(t, text, strlen(text), tokens + count, LONGEST + 1);
    if (more < 0) return MODEL_STATE_FULL;
    count += more;
  }
  code = count ? model_prefill(&net, count, tokens, logits) : 0;
  while (!code && most-- > 0) {
    size_t length = 0;
    const int32_t token = sample(s, logits, MODEL_LOGITS_SIZE, work);
    const char *bytes = tokenizer_text(t, token, &length);
    if (token == t->end) break;
    if (bytes) fwrite(bytes, 1, length, stdout);
    fflush(stdout);
    code = model_decode(&net, token, logits);
  }
  putchar('\n');
  return code;
}

static const char *message(int code) {
  switch (code) {
    case MODEL_STATE_FULL: return "the context is full";
    case MODEL_NO_SUCH_TOKEN: return "a token is outside of the vocabulary";
    default: return "the network cannot run";
  }
}

static int usage(void) {
  fputs("usage: chat -m MODEL.gguf [-w MODEL.bin] [-n TOKENS] [-t TEMPERATURE] [-k TOP_K] [-p TOP_P] [-s SEED] [TEXT]\n", stderr);
  return 2;
}

/* The number of an option, within bounds. */
static int number(const char *text, double low, double high, double *value) {
  char *end;
  *value = strtod(text, &end);
  return end != text && !*end && *value >= low && *value <= high;
}

int main(int argc, char **argv) {
  const char *model = NULL, *weights = "model.bin", *text = NULL;
  struct tokenizer t;
  struct sampler s = {0.8, 40, 0.95, 0};
  double most = 100, value;
  int k, code;
  for (k = 1; k < argc; ++k) {
    if (argv[k][0] != '-' || strlen(argv[k]) != 2) {
      if (text || k + 1 < argc) return usage();
      text = argv[k];
      continue;
    }
    if (k + 1 == argc) return usage();
    switch (argv[k++][1]) {
      case 'm': model = argv[k]; break;
      case 'w': weights = argv[k]; break;
      case 'n': if (!number(argv[k], 0, 1e9, &most)) return usage(); break;
      case 't': if (!number(argv[k], 0, 100, &s.temperature)) return usage(); break;
      case 'k': if (!number(argv[k], 0, 1e9, &value)) return usage(); s.top_k = (int32_t)value; break;
      case 'p': if (!number(argv[k], 0, 1, &s.top_p)) return usage(); break;
      case 's': if (!number(argv[k], 0, 1e15, &value)) return usage(); s.state = (uint64_t)value; break;
      default: return usage();
    }
  }
  if (!model) return usage();
  if ((code = tokenizer_read(&t, model)) != 0) {
    fprintf(stderr, "%s: %s\n", model, tokenizer_message(code));
    return 1;
  }
  if (t.count != MODEL_LOGITS_SIZE) {
    fprintf(stderr, "%s: the tokenizer has %d tokens, and the network %d\n", model, (int)t.count, (int)MODEL_LOGITS_SIZE);
    return 1;
  }
#ifdef MODEL_WEIGHTS_SIZE
  if ((code = model_load_weights(weights)) != 0) {
    fprintf(stderr, "%s: %s\n", weights, code == 3 ? "the file cannot be read" : "these are no weights of this network");
    return 1;
  }
#else
  (void)weights;
#endif
  code = model_init(&net);
  if (text && !code) {
    fputs(text, stdout);
    code = reply(&t, &s, text, (long)most);
  }
  while (!text && !code && fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = 0;
    code = reply(&t, &s, line, (long)most);
    if (code == MODEL_STATE_FULL) { /* the next line begins anew */
      fprintf(stderr, "%s: forgotten\n", message(code));
      code = model_rewind(&net, 0);
    }
  }
  if (code) fprintf(stderr, "%s\n", message(code));
  tokenizer_free(&t);
  return code != 0;
}
