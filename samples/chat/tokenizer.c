#include "tokenizer.h"
#include "characters.h"
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

/* The byte of the next letter, and the number of its bytes in UTF-8; -1 for another letter. */
static int next_byte(const char *letters, size_t length, size_t *size) {
  const unsigned char c = (unsigned char)*letters;
  const int is_wide = c >= 0xC0 && c < 0xE0 && length > 1;
  *size = is_wide ? 2 : 1;
  return !is_wide && c > 127 ? -1 : byte_of_letter(is_wide ? (uint32_t)(c & 31) << 6 | ((unsigned char)letters[1] & 63) : c);
}

/* Replaces letters by their bytes, perhaps in their own place. Returns the number of bytes, or -1, with nothing replaced, if there is another letter. */
static long bytes_of_letters(const char *letters, size_t length, char *bytes) {
  size_t k, size;
  long count = 0;
  for (k = 0; k < length; k += size) {
    if (next_byte(letters + k, length - k, &size) < 0) return -1;
  }
  for (k = 0; k < length; k += size) bytes[count++] = (char)next_byte(letters + k, length - k, &size);
  return count;
}

static void read_tokens(struct reader *r, uint32_t kind, struct tokenizer *t) {
  size_t used = 0, room = 0;
  int32_t k;
  if (t->first) fail(r, TOKENIZER_DAMAGED);
  t->count = read_count(r, kind, STRING, 8);
  t->first = allocate(r, (size_t)t->count + 1, sizeof *t->first);
  t->type = allocate(r, (size_t)t->count, 1);
  if (!r->error) memset(t->type, TOKEN_NORMAL, (size_t)t->count);
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
    memcpy(t->bytes + used, text, length);
    used += length;
    free(text);
    t->first[k + 1] = used;
  }
}

static int hexadecimal(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; }

/* Replaces U+2581 by spaces. Returns the number of bytes. */
static size_t with_spaces(char *bytes, size_t length) {
  size_t k = 0, count = 0;
  while (k < length) {
    if (length - k >= 3 && !memcmp(bytes + k, "\xE2\x96\x81", 3)) {
      bytes[count++] = ' ';
      k += 3;
    } else {
      bytes[count++] = bytes[k++];
    }
  }
  return count;
}

/* Replaces the texts of tokens by the bytes that they stand for, which are not more. */
static void convert_tokens(struct reader *r, struct tokenizer *t) {
  size_t used = 0;
  int32_t k;
  for (k = 0; k < t->count && !r->error; ++k) {
    char *text = t->bytes + t->first[k];
    size_t length = t->first[k + 1] - t->first[k];
    if (t->is_sentencepiece && t->type[k] == TOKEN_BYTE) { /* such as <0x0A> */
      const int high = length == 6 ? hexadecimal(text[3]) : -1, low = length == 6 ? hexadecimal(text[4]) : -1;
      if (high < 0 || low < 0) fail(r, TOKENIZER_DAMAGED);
      else *text = (char)(high * 16 + low), length = 1;
    } else if (t->is_sentencepiece) {
      length = with_spaces(text, length);
    } else {
      const long count = bytes_of_letters(text, length, text);
      if (count >= 0) length = (size_t)count; /* otherwise a token that is written as it is */
    }
    memmove(t->bytes + used, text, length);
    t->first[k] = used;
    used += length;
  }
  if (t->count) t->first[t->count] = used;
}

static uint64_t hash(const char *bytes, size_t length) {
  uint64_t h = 14695981039346656037u;
  while (length--) h = (h ^ (unsigned char)*bytes++) * 1099511628211u;
  return h ^ h >> 29;
}

static int32_t *place_of(const struct tokenizer *t, const char *bytes, size_t length) {
  size_t at = (size_t)hash(bytes, length) & (t->text_places - 1);
  for (;; at = (at + 1) & (t->text_places - 1)) {
    const int32_t token = t->of_text[at];
    if (token < 0) return &t->of_text[at];
    if (t->first[token + 1] - t->first[token] == length && !memcmp(t->bytes + t->first[token], bytes, length)) return &t->of_text[at];
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

static void add_merge(struct tokenizer *t, int32_t left, int32_t right, int32_t result, int32_t rank) {
  struct tokenizer_merge *place = place_of_pair(t, left, right);
  if (place->rank >= 0) return; /* the first one counts */
  place->left = left;
  place->right = right;
  place->result = result;
  place->rank = rank;
}

/* A pair of tokens, written as `left right`, and the token that both are together. */
static void read_merge(struct reader *r, struct tokenizer *t, char *text, size_t length, int32_t rank) {
  char *space = memchr(text, ' ', length);
  long left, right;
  int32_t parts[3];
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
  parts[0] = *place_of(t, text, (size_t)left);
  parts[1] = *place_of(t, text + left, (size_t)right);
  parts[2] = *place_of(t, text, (size_t)(left + right));
  if (parts[0] < 0 || parts[1] < 0 || parts[2] < 0) {
    fail(r, TOKENIZER_DAMAGED);
    return;
  }
  add_merge(t, parts[0], parts[1], parts[2], rank);
}

static void allocate_merges(struct reader *r, struct tokenizer *t, size_t count) {
  size_t n;
  t->places = power_of_two(2 * count + 1);
  t->merges = allocate(r, t->places, sizeof *t->merges);
  if (r->error) return;
  for (n = 0; n < t->places; ++n) t->merges[n].rank = -1;
}

static void read_merges(struct reader *r, uint32_t kind, struct tokenizer *t) {
  int32_t k;
  t->merge_count = read_count(r, kind, STRING, 8);
  allocate_merges(r, t, (size_t)t->merge_count);
  for (k = 0; k < t->merge_count && !r->error; ++k) {
    size_t length = 0;
    char *text = read_string(r, &length);
    if (!text) return;
    read_merge(r, t, text, length, k);
    free(text);
  }
}

/* A token with its score. */
struct scored {
  float score;
  int32_t token;
};

static int by_score(const void *a, const void *b) {
  const struct scored *x = a, *y = b;
  return x->score != y->score ? (x->score < y->score) - (x->score > y->score) : (x->token > y->token) - (x->token < y->token);
}

/* The pairs of tokens that are a token together: the best score has the lowest rank. With `add` 0, they are counted only. */
static size_t pairs(struct tokenizer *t, const struct scored *order, int add) {
  size_t count = 0;
  int32_t k;
  for (k = 0; k < t->count; ++k) {
    const int32_t token = order[k].token;
    const char *bytes = t->bytes + t->first[token];
    const size_t length = t->first[token + 1] - t->first[token];
    size_t n;
    if (t->type[token] != TOKEN_NORMAL || (length && *place_of(t, bytes, length) != token)) continue;
    for (n = 1; n < length; ++n) {
      const int32_t left = *place_of(t, bytes, n), right = left < 0 ? -1 : *place_of(t, bytes + n, length - n);
      if (right < 0) continue;
      if (add) add_merge(t, left, right, token, k);
      ++count;
    }
  }
  return count;
}

static void score_merges(struct reader *r, struct tokenizer *t, const float *scores) {
  struct scored *order = allocate(r, (size_t)t->count, sizeof *order);
  int32_t k;
  if (!scores) fail(r, TOKENIZER_DAMAGED);
  for (k = 0; k < t->count && !r->error; ++k) {
    order[k].score = scores[k];
    order[k].token = k;
    if (scores[k] != scores[k]) fail(r, TOKENIZER_DAMAGED);
  }
  if (!r->error) {
    qsort(order, (size_t)t->count, sizeof *order, by_score);
    allocate_merges(r, t, pairs(t, order, 0));
    if (!r->error) pairs(t, order, 1);
  }
  free(order);
}

/* Fills the table of tokens by their bytes, and that of single bytes. */
static void fill(struct reader *r, struct tokenizer *t) {
  int32_t k;
  t->text_places = power_of_two(2 * (size_t)t->count + 1);
  t->of_text = allocate(r, t->text_places, sizeof *t->of_text);
  if (r->error) return;
  memset(t->of_text, -1, t->text_places * sizeof *t->of_text);
  for (k = 0; k < t->count; ++k) {
    const size_t length = t->first[k + 1] - t->first[k];
    const int is_byte = t->is_sentencepiece ? t->type[k] == TOKEN_BYTE : length == 1;
    int32_t *of_byte = &t->of_byte[length ? (unsigned char)t->bytes[t->first[k]] : 0];
    if (is_byte && *of_byte < 0) *of_byte = k;
    if (!t->is_sentencepiece || t->type[k] == TOKEN_NORMAL) {
      int32_t *place = place_of(t, t->bytes + t->first[k], length);
      if (*place < 0) *place = k;
    }
  }
}

static void read_types(struct reader *r, uint32_t kind, struct tokenizer *t) {
  const int32_t count = read_count(r, kind, 5, 4);
  int32_t k;
  if (!r->error && count != t->count) fail(r, TOKENIZER_DAMAGED);
  for (k = 0; k < count && !r->error; ++k) {
    const uint64_t type = read_number(r, 4);
    t->type[k] = (unsigned char)(type >= TOKEN_NORMAL && type <= TOKEN_BYTE ? type : TOKEN_NORMAL);
  }
}

static void read_scores(struct reader *r, uint32_t kind, struct tokenizer *t, float **scores) {
  const int32_t count = read_count(r, kind, 6, 4);
  int32_t k;
  if (*scores || (!r->error && count != t->count)) fail(r, TOKENIZER_DAMAGED);
  if (!r->error) *scores = allocate(r, (size_t)count, sizeof **scores);
  for (k = 0; k < count && !r->error; ++k) {
    const uint32_t bits = (uint32_t)read_number(r, 4);
    memcpy(&(*scores)[k], &bits, 4);
  }
}

/* The cuts by the name of the file. */
static void read_pieces(struct reader *r, struct tokenizer *t, const char *name) {
  static const struct {
    const char *name;
    enum pieces pieces;
  } known[] = {{"gpt-2", PIECES_GPT2},    {"default", PIECES_GPT2}, {"llama-bpe", PIECES_LLAMA3}, {"llama3", PIECES_LLAMA3},
               {"llama-v3", PIECES_LLAMA3}, {"qwen2", PIECES_QWEN2},  {"smollm", PIECES_SMOLLM}};
  size_t k;
  for (k = 0; k < sizeof known / sizeof *known; ++k) {
    if (!strcmp(name, known[k].name)) {
      t->pieces = known[k].pieces;
      t->whole_pieces = t->pieces == PIECES_LLAMA3;
      return;
    }
  }
  fail(r, TOKENIZER_UNKNOWN);
}

/* What a file has beside tokens. */
struct metadata {
  int is_known, no_begin;
  float *scores;
};

/* A number of metadata in 32 bits, or a truth value; 0 if it is something else, which is left. */
static int read_small(struct reader *r, uint32_t kind, int size, uint64_t *value) {
  if ((size == 4 && kind != 4) || (size == 1 && kind != 7)) return 0;
  *value = read_number(r, size);
  return 1;
}

enum { KIND, TOKENS, TYPES, MERGES, PASSES };

/* The value of a key that a pass reads. Returns 0 if it was left. */
static int read_value(struct reader *r, struct tokenizer *t, struct metadata *m, int pass, const char *key, uint32_t kind) {
  uint64_t value = 0;
  if (pass == KIND && kind == STRING && (!strcmp(key, "model") || !strcmp(key, "pre"))) {
    char *name = read_string(r, NULL);
    if (name && !strcmp(key, "pre")) read_pieces(r, t, name);
    else if (name) {
      t->is_sentencepiece = !strcmp(name, "llama");
      m->is_known = t->is_sentencepiece || !strcmp(name, "gpt2");
    }
    free(name);
  } else if (pass == TOKENS && !strcmp(key, "tokens")) {
    read_tokens(r, kind, t);
  } else if (pass == TYPES && !strcmp(key, "token_type")) {
    read_types(r, kind, t);
  } else if (pass == TYPES && !strcmp(key, "scores") && t->is_sentencepiece) {
    read_scores(r, kind, t, &m->scores);
  } else if (pass == MERGES && !strcmp(key, "merges") && !t->merges) {
    read_merges(r, kind, t);
  } else if (pass == KIND && !strcmp(key, "bos_token_id") && read_small(r, kind, 4, &value)) {
    t->begin = (int32_t)value;
  } else if (pass == KIND && !strcmp(key, "eos_token_id") && read_small(r, kind, 4, &value)) {
    t->end = (int32_t)value;
  } else if (pass == KIND && !strcmp(key, "unknown_token_id") && read_small(r, kind, 4, &value)) {
    t->unknown = (int32_t)value;
  } else if (pass == KIND && !strcmp(key, "add_bos_token") && read_small(r, kind, 1, &value)) {
    m->no_begin = !value;
  } else if (pass == KIND && !strcmp(key, "add_space_prefix") && read_small(r, kind, 1, &value)) {
    t->space_in_front = value != 0;
  } else {
    return 0;
  }
  return 1;
}

/* Metadata are in any order: the kind is needed before the tokens, and these before merges. */
static void read_metadata(struct reader *r, struct tokenizer *t, struct metadata *m, int pass) {
  static const char prefix[] = "tokenizer.ggml.";
  char magic[4] = {0};
  uint64_t entries;
  read_bytes(r, magic, 4);
  if (!r->error && memcmp(magic, "GGUF", 4)) fail(r, TOKENIZER_DAMAGED);
  read_number(r, 4);
  read_number(r, 8);
  entries = read_number(r, 8);
  while (entries-- && !r->error) {
    char *key = read_string(r, NULL);
    const uint32_t kind = (uint32_t)read_number(r, 4);
    if (!r->error) {
      const int is_of_tokenizer = !strncmp(key, prefix, sizeof prefix - 1);
      if (!is_of_tokenizer || !read_value(r, t, m, pass, key + sizeof prefix - 1, kind)) skip_value(r, kind);
    }
    free(key);
  }
}

/* The work behind a pass. */
static void complete(struct reader *r, struct tokenizer *t, const struct metadata *m, int pass) {
  if (pass == KIND && !m->is_known) fail(r, TOKENIZER_UNKNOWN);
  if (pass == TOKENS && !t->first) fail(r, TOKENIZER_UNKNOWN);
  if (pass == TYPES) {
    convert_tokens(r, t);
    fill(r, t);
    if (!r->error && t->is_sentencepiece) score_merges(r, t, m->scores);
  }
  if (pass == MERGES && !t->merges) fail(r, TOKENIZER_UNKNOWN);
}

int tokenizer_read(struct tokenizer *t, const char *path) {
  struct reader r = {NULL, 0, 0};
  struct metadata m = {0, 0, NULL};
  int pass, k;
  long size = 0;
  memset(t, 0, sizeof *t);
  t->begin = t->end = t->unknown = -1;
  t->space_in_front = 1;
  for (k = 0; k < 256; ++k) t->of_byte[k] = -1;
  if ((r.file = fopen(path, "rb")) == NULL) return TOKENIZER_CANNOT_READ;
  if (fseek(r.file, 0, SEEK_END) || (size = ftell(r.file)) < 0) r.error = TOKENIZER_CANNOT_READ;
  for (pass = 0; pass < PASSES && !r.error; ++pass) {
    rewind(r.file);
    r.left = (uint64_t)size;
    read_metadata(&r, t, &m, pass);
    if (!r.error) complete(&r, t, &m, pass);
  }
  if (!r.error && (t->begin < -1 || t->begin >= t->count || t->end < -1 || t->end >= t->count || t->unknown < -1 || t->unknown >= t->count))
    r.error = TOKENIZER_DAMAGED;
  if (m.no_begin) t->begin = -1;
  free(m.scores);
  fclose(r.file);
  if (r.error) tokenizer_free(t);
  return r.error;
}

void tokenizer_free(struct tokenizer *t) {
  free(t->bytes);
  free(t->first);
  free(t->type);
  free(t->of_text);
  free(t->merges);
  memset(t, 0, sizeof *t);
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

/* The tokens of the bytes of a piece. Returns their number, or -1 if a byte has none. */
static long encode_bytes(const struct tokenizer *t, const char *text, size_t length, int32_t *tokens) {
  const int32_t whole = t->whole_pieces ? *place_of(t, text, length) : -1;
  size_t k;
  if (whole >= 0) {
    *tokens = whole;
    return 1;
  }
  for (k = 0; k < length; ++k) {
    if ((tokens[k] = t->of_byte[(unsigned char)text[k]]) < 0) return -1;
  }
  return join(t, tokens, (long)length);
}

/* The tokens of a character, of its bytes, or the one that stands for unknown ones. Returns their number, or -1 if there are none. */
static long encode_character(const struct tokenizer *t, const char *text, size_t length, int32_t *tokens) {
  const int is_space = length == 3 && !memcmp(text, "\xE2\x96\x81", 3);
  size_t k;
  if ((*tokens = *place_of(t, is_space ? " " : text, is_space ? 1 : length)) >= 0) return 1;
  for (k = 0; k < length && (tokens[k] = t->of_byte[(unsigned char)text[k]]) >= 0; ++k) {}
  if (k == length) return (long)length;
  *tokens = t->unknown;
  return t->unknown < 0 ? -1 : 1;
}

static long encode_sentence(const struct tokenizer *t, const char *text, size_t length, int32_t *tokens) {
  long count = length && t->space_in_front ? encode_character(t, " ", 1, tokens) : 0;
  while (length && count >= 0) {
    uint32_t c;
    const size_t n = character_read(text, length, &c);
    const long more = encode_character(t, text, n, tokens + count);
    if (more < 0) return -1;
    count += more;
    text += n;
    length -= n;
  }
  return count < 0 ? -1 : join(t, tokens, count);
}

long tokenizer_encode(const struct tokenizer *t, const char *text, size_t length, int32_t *tokens, long most) {
  long count = 0;
  if (t->is_sentencepiece) return length + (size_t)t->space_in_front > (size_t)most ? -1 : encode_sentence(t, text, length, tokens);
  while (length) {
    const size_t n = piece_length(t->pieces, text, length);
    const long more = n > (size_t)(most - count) ? -1 : encode_bytes(t, text, n, tokens + count);
    if (more < 0) return -1;
    count += more;
    text += n;
    length -= n;
  }
  return count;
}

const char *tokenizer_text(const struct tokenizer *t, int32_t token, size_t *length) {
  if (token < 0 || token >= t->count) return NULL;
  *length = t->type[token] == TOKEN_CONTROL ? 0 : t->first[token + 1] - t->first[token];
  return t->bytes + t->first[token];
}

const char *tokenizer_message(int error) {
  switch (error) {
    case TOKENIZER_CANNOT_READ: return "the file cannot be read";
    case TOKENIZER_DAMAGED: return "the file is damaged, or no GGUF file";
    case TOKENIZER_UNKNOWN: return "the file has no tokenizer of the kinds gpt2, with the cuts of GPT-2, Llama 3, Qwen 2 or SmolLM, and llama";
    default: return "there is not enough memory";
  }
}
