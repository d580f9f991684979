#include "tokenizer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The types of metadata. */
enum { STRING = 8, ARRAY = 9 };
static const unsigned char sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

/* A file, and the first error in it. */
struct reader {
  FILE *file;
  uint64_t left; /* bytes that are not read yet */
  int error;
};

static int fail(struct reader *r, int error) {
  if (!r->error) r->error = error;
  return 0;
}

static int read_bytes(struct reader *r, void *to, uint64_t count) {
  if (r->error) return 0;
  if (count > r->left) return fail(r, TOKENIZER_DAMAGED);
  if (count && fread(to, 1, (size_t)count, r->file) != count) return fail(r, TOKENIZER_CANNOT_READ);
  r->left -= count;
  return 1;
}

static void skip(struct reader *r, uint64_t count) {
  char part[512];
  while (count && read_bytes(r, part, count < sizeof part ? count : sizeof part)) count -= count < sizeof part ? count : sizeof part;
}

static uint64_t read_number(struct reader *r, int size) {
  unsigned char b[8] = {0};
  uint64_t value = 0;
  int k;
  read_bytes(r, b, (uint64_t)size);
  for (k = size; k-- > 0;) value = value << 8 | b[k];
  return r->error ? 0 : value;
}

/* A string with a 0 behind it; NULL after an error. */
static char *read_string(struct reader *r, size_t *length) {
  const uint64_t count = read_number(r, 8);
  char *text;
  if (count > r->left) fail(r, TOKENIZER_DAMAGED);
  if (r->error) return NULL;
  if ((text = malloc((size_t)count + 1)) == NULL) {
    fail(r, TOKENIZER_NO_MEMORY);
    return NULL;
  }
  if (!read_bytes(r, text, count)) {
    free(text);
    return NULL;
  }
  text[count] = 0;
  if (length) *length = (size_t)count;
  return text;
}

static void skip_value(struct reader *r, uint32_t kind) {
  uint64_t count = 1;
  if (kind == ARRAY) {
    kind = (uint32_t)read_number(r, 4);
    count = read_number(r, 8);
  }
  if (kind == STRING) {
    while (count-- && !r->error) skip(r, read_number(r, 8));
  } else if (kind < sizeof sizes && sizes[kind]) {
    if (count > r->left / sizes[kind]) fail(r, TOKENIZER_DAMAGED);
    else skip(r, count * sizes[kind]);
  } else {
    fail(r, TOKENIZER_DAMAGED);
  }
}

/* The number of elements of an array of this type, each of which takes some bytes at least. */
static int32_t read_count(struct reader *r, uint32_t kind, uint32_t element, uint64_t least) {
  uint64_t count;
  if (kind != ARRAY || read_number(r, 4) != element) fail(r, TOKENIZER_DAMAGED);
  count = read_number(r, 8);
  if (count > r->left / least || count > INT32_MAX) fail(r, TOKENIZER_DAMAGED);
  return r->error ? 0 : (int32_t)count;
}

static void *allocate(struct reader *r, size_t count, size_t size) {
  void *memory = r->error ? NULL : calloc(count ? count : 1, size);
  if (!memory) fail(r, TOKENIZER_NO_MEMORY);
  return memory;
}

/* Files of this kind write each byte as a letter: those that can be seen as they are, the others from U+0100 on. */
static int byte_of_letter(uint32_t letter) {
  int b, other = 0;
  for (b = 0; b < 256; ++b) {
    const int is_plain = (b >= 33 && b <= 126) || (b >= 161 && b != 173);
    if (letter == (uint32_t)(is_plain ? b : 256 + other)) return b;
    other += !is_plain;
  }
  return -1;
}

/* Replaces letters by their bytes. Returns the number of bytes, or -1 if there is another letter. */
static long bytes_of_letters(const char *letters, size_t length, char *bytes) {
  size_t k = 0;
  long count = 0;
  while (k < length) {
    const unsigned char c = (unsigned char)letters[k];
    const int is_wide = c >= 0xC0 && c < 0xE0 && k + 1 < length;
    const int b = byte_of_letter(is_wide ? (uint32_t)(c & 31) << 6 | ((unsigned char)letters[k + 1] & 63) : c);
    if (b < 0 || (!is_wide && c > 127)) return -1;
    bytes[count++] = (char)b;
    k += is_wide ? 2 : 1;
  }
  return count;
}

static void read_tokens(struct reader *r, uint32_t kind, struct tokenizer *t) {
  size_t used = 0, room = 0;
  int32_t k;
  if (t->first) fail(r, TOKENIZER_DAMAGED);
  t->count = read_count(r, kind, STRING, 8);
  t->first = allocate(r, (size_t)t->count + 1, sizeof *t->first);
  t->is_control = allocate(r, (size_t)t->count, 1);
  for (k = 0; k < t->count && !r->error; ++k) {
    size_t length = 0;
    char *text = read_string(r, &length);
    if (!text) return;
    if (used + length > room) {
      char *larger = realloc(t->bytes, room = 2 * room + length + 4096);
      if (!larger) {
        free(text);
        fail(r, TOKENIZER_NO_MEMORY);
        return;
      }
      t->bytes = larger;
    }
    t->first[k] = used;
    {
      const long count = bytes_of_letters(text, length, t->bytes + used);
      if (count < 0) memcpy(t->bytes + used, text, length); /* a token that is written as it is */
      used += count < 0 ? length : (size_t)count;
    }
    free(text);
    t->first[k + 1] = used;
  }
}

/* A hash table of tokens by their bytes, while merges are read. */
struct table {
  int32_t *token; /* -1: free */
  size_t places;
};

static uint64_t hash(const char *bytes, size_t length) {
  uint64_t h = 14695981039346656037u;
  while (length--) h = (h ^ (unsigned char)*bytes++) * 1099511628211u;
  return h ^ h >> 29;
}

static int32_t *place_of(const struct table *table, const struct tokenizer *t, const char *bytes, size_t length) {
  size_t at = (size_t)hash(bytes, length) & (table->places - 1);
  for (;; at = (at + 1) & (table->places - 1)) {
    const int32_t token = table->token[at];
    if (token < 0) return &table->token[at];
    if (t->first[token + 1] - t->first[token] == length && !memcmp(t->bytes + t->first[token], bytes, length)) return &table->token[at];
  }
}

static size_t power_of_two(size_t least) {
  size_t n = 16;
  while (n < least) n *= 2;
  return n;
}

static struct tokenizer_merge *place_of_pair(const struct tokenizer *t, int32_t left, int32_t right) {
  uint64_t h = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9E3779B97F4A7C15u;
  size_t at = (size_t)(h >> 32) & (t->places - 1);
  while (t->merges[at].rank >= 0 && (t->merges[at].left != left || t->merges[at].right != right)) at = (at + 1) & (t->places - 1);
  return &t->merges[at];
}

/* A pair of tokens, written as `left right`, and the token that both are together. */
static void add_merge(struct reader *r, struct tokenizer *t, const struct table *table, char *text, size_t length, int32_t rank) {
  char *space = memchr(text, ' ', length);
  long left, right;
  int32_t parts[3];
  struct tokenizer_merge *place;
  if (!space) {
    fail(r, TOKENIZER_DAMAGED);
    return;
  }
  left = bytes_of_letters(text, (size_t)(space - text), text);
  right = left < 0 ? -1 : bytes_of_letters(space + 1, length - (size_t)(space - text) - 1, text + left);
  if (right < 0) {
    fail(r, TOKENIZER_DAMAGED);
    return;
  }
  parts[0] = *place_of(table, t, text, (size_t)left);
  parts[1] = *place_of(table, t, text + left, (size_t)right);
  parts[2] = *place_of(table, t, text, (size_t)(left + right));
  if (parts[0] < 0 || parts[1] < 0 || parts[2] < 0) {
    fail(r, TOKENIZER_DAMAGED);
    return;
  }
  place = place_of_pair(t, parts[0], parts[1]);
  if (place->rank >= 0) return; /* the first one counts */
  place->left = parts[0];
  place->right = parts[1];
  place->result = parts[2];
  place->rank = rank;
}

static void read_merges(struct reader *r, uint32_t kind, struct tokenizer *t, const struct table *table) {
  int32_t k;
  size_t n;
  t->merge_count = read_count(r, kind, STRING, 8);
  t->places = power_of_two(2 * (size_t)t->merge_count + 1);
  t->merges = allocate(r, t->places, sizeof *t->merges);
  if (r->error) return;
  for (n = 0; n < t->places; ++n) t->merges[n].rank = -1;
  for (k = 0; k < t->merge_count && !r->error; ++k) {
    size_t length = 0;
    char *text = read_string(r, &length);
    if (!text) return;
    add_merge(r, t, table, text, length, k);
    free(text);
  }
}

static void fill(struct reader *r, struct tokenizer *t, struct table *table) {
  int32_t k;
  table->places = power_of_two(2 * (size_t)t->count + 1);
  table->token = allocate(r, table->places, sizeof *table->token);
  if (r->error) return;
  memset(table->token, -1, table->places * sizeof *table->token);
  for (k = 0; k < t->count; ++k) {
    const size_t length = t->first[k + 1] - t->first[k];
    int32_t *place = place_of(table, t, t->bytes + t->first[k], length);
    if (*place < 0) *place = k;
    if (length == 1 && t->of_byte[(unsigned char)t->bytes[t->first[k]]] < 0) t->of_byte[(unsigned char)t->bytes[t->first[k]]] = k;
  }
}

/* Metadata are in any order, and merges need tokens: a first pass reads the tokens, a second one everything else. */
static void read_metadata(struct reader *r, struct tokenizer *t, struct table *table, int pass) {
  char magic[4] = {0};
  uint64_t entries;
  int is_known = 0;
  read_bytes(r, magic, 4);
  if (!r->error && memcmp(magic, "GGUF", 4)) fail(r, TOKENIZER_DAMAGED);
  read_number(r, 4);
  read_number(r, 8);
  entries = read_number(r, 8);
  while (entries-- && !r->error) {
    char *key = read_string(r, NULL);
    const uint32_t kind = (uint32_t)read_number(r, 4);
    if (r->error) {
      free(key);
      return;
    }
    if (pass == 0 && !strcmp(key, "tokenizer.ggml.tokens")) {
      read_tokens(r, kind, t);
    } else if (pass == 1 && !strcmp(key, "tokenizer.ggml.merges") && !t->merges) {
      read_merges(r, kind, t, table);
    } else if (pass == 1 && !strcmp(key, "tokenizer.ggml.token_type")) {
      const int32_t count = read_count(r, kind, 5, 4);
      int32_t k;
      if (!r->error && count != t->count) fail(r, TOKENIZER_DAMAGED);
      for (k = 0; k < count && !r->error; ++k) t->is_control[k] = read_number(r, 4) == 3;
    } else if (pass == 1 && kind == 4 && !strcmp(key, "tokenizer.ggml.bos_token_id")) {
      t->begin = (int32_t)read_number(r, 4);
    } else if (pass == 1 && kind == 4 && !strcmp(key, "tokenizer.ggml.eos_token_id")) {
      t->end = (int32_t)read_number(r, 4);
    } else if (kind == STRING && (!strcmp(key, "tokenizer.ggml.model") || !strcmp(key, "tokenizer.ggml.pre"))) {
      char *name = read_string(r, NULL);
      if (name && !strcmp(key, "tokenizer.ggml.model")) is_known = !strcmp(name, "gpt2");
      else if (name && strcmp(name, "gpt-2") && strcmp(name, "default")) fail(r, TOKENIZER_UNKNOWN);
      free(name);
    } else {
      skip_value(r, kind);
    }
    free(key);
  }
  if (!is_known || !t->first) fail(r, TOKENIZER_UNKNOWN);
}

int tokenizer_read(struct tokenizer *t, const char *path) {
  struct reader r = {NULL, 0, 0};
  struct table table = {NULL, 0};
  int pass, k;
  long size = 0;
  memset(t, 0, sizeof *t);
  t->begin = t->end = -1;
  for (k = 0; k < 256; ++k) t->of_byte[k] = -1;
  if ((r.file = fopen(path, "rb")) == NULL) return TOKENIZER_CANNOT_READ;
  if (fseek(r.file, 0, SEEK_END) || (size = ftell(r.file)) < 0) r.error = TOKENIZER_CANNOT_READ;
  for (pass = 0; pass < 2 && !r.error; ++pass) {
    rewind(r.file);
    r.left = (uint64_t)size;
    read_metadata(&r, t, &table, pass);
    if (pass == 0 && !r.error) fill(&r, t, &table);
  }
  if (!r.error && !t->merges) r.error = TOKENIZER_UNKNOWN;
  if (!r.error && (t->begin < -1 || t->begin >= t->count || t->end < -1 || t->end >= t->count)) r.error = TOKENIZER_DAMAGED;
  free(table.token);
  fclose(r.file);
  if (r.error) tokenizer_free(t);
  return r.error;
}

void tokenizer_free(struct tokenizer *t) {
  free(t->bytes);
  free(t->first);
  free(t->is_control);
  free(t->merges);
  memset(t, 0, sizeof *t);
}

/* The kinds of characters that a text is cut by: all beyond ASCII are letters. */
enum { SPACE, LETTER, DIGIT, OTHER };

static int kind_of(char c) {
  const unsigned char u = (unsigned char)c;
  if (u == ' ' || (u >= 9 && u <= 13)) return SPACE;
  if (u >= 128 || (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z')) return LETTER;
  return u >= '0' && u <= '9' ? DIGIT : OTHER;
}

/* The length of the next piece: a contraction, or letters, digits or others with a space before them, or spaces (as in GPT-2). */
static size_t piece(const char *text, size_t length) {
  static const char *const contractions[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
  size_t k, first = text[0] == ' ' && length > 1 && kind_of(text[1]) != SPACE, n = first;
  const int kind = kind_of(text[first]);
  for (k = 0; k < sizeof contractions / sizeof *contractions; ++k) {
    const size_t count = strlen(contractions[k]);
    if (length >= count && !memcmp(text, contractions[k], count)) return count;
  }
  while (n < length && kind_of(text[n]) == kind) ++n;
  return kind == SPACE && n < length && n > 1 ? n - 1 : n; /* the last space belongs to the word behind it */
}

/* Joins the pair of the lowest rank again and again. Returns the number of tokens. */
static long join(const struct tokenizer *t, int32_t *tokens, long count) {
  for (;;) {
    const struct tokenizer_merge *best = NULL;
    long k, n = 0;
    for (k = 0; k + 1 < count; ++k) {
      const struct tokenizer_merge *m = place_of_pair(t, tokens[k], tokens[k + 1]);
      if (m->rank >= 0 && (!best || m->rank < best->rank)) best = m;
    }
    if (!best) return count;
    for (k = 0; k < count; ++n) {
      const int is_pair = k + 1 < count && tokens[k] == best->left && tokens[k + 1] == best->right;
      tokens[n] = is_pair ? best->result : tokens[k];
      k += is_pair ? 2 : 1;
    }
    count = n;
  }
}

long tokenizer_encode(const struct tokenizer *t, const char *text, size_t length, int32_t *tokens, long most) {
  long count = 0;
  while (length) {
    const size_t n = piece(text, length);
    size_t k;
    if (n > (size_t)(most - count)) return -1;
    for (k = 0; k < n; ++k) {
      if ((tokens[count + (long)k] = t->of_byte[(unsigned char)text[k]]) < 0) return -1;
    }
    count += join(t, tokens + count, (long)n);
    text += n;
    length -= n;
  }
  return count;
}

const char *tokenizer_text(const struct tokenizer *t, int32_t token, size_t *length) {
  if (token < 0 || token >= t->count) return NULL;
  *length = t->is_control[token] ? 0 : t->first[token + 1] - t->first[token];
  return t->bytes + t->first[token];
}

const char *tokenizer_message(int error) {
  switch (error) {
    case TOKENIZER_CANNOT_READ: return "the file cannot be read";
    case TOKENIZER_DAMAGED: return "the file is damaged, or no GGUF file";
    case TOKENIZER_UNKNOWN: return "the file has no tokenizer of the kind gpt2 with the cuts of GPT-2";
    default: return "there is not enough memory";
  }
}
