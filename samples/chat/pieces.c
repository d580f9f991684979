#include "pieces.h"
#include "characters.h"

/* The rest of a text, and the character that it begins with. */
struct place {
  const char *text;
  size_t length, bytes; /* of the rest, and of the character; 0 at the end */
  uint32_t c;
  enum character_kind kind;
};

static struct place place_of(const char *text, size_t length) {
  struct place p = {NULL, 0, 0, 0, CHARACTER_OTHER};
  p.text = text;
  p.length = length;
  if (length) {
    p.bytes = character_read(text, length, &p.c);
    p.kind = character_kind(p.c);
  }
  return p;
}

static struct place next(struct place p) { return place_of(p.text + p.bytes, p.length - p.bytes); }

static int is(struct place p, enum character_kind kind) { return p.bytes && p.kind == kind; }

static int is_line_end(struct place p) { return p.bytes && (p.c == '\r' || p.c == '\n'); }

/* The place behind characters of a kind, so many at most. */
static struct place behind(struct place p, enum character_kind kind, size_t most) {
  while (most-- && is(p, kind)) p = next(p);
  return p;
}

static uint32_t lower(struct place p, int any_case) {
  if (any_case && p.c >= 'A' && p.c <= 'Z') return p.c + 32;
  return any_case && p.c == 0x17F ? 's' : p.c; /* the long s */
}

/* The place behind 's, 't, 're, 've, 'm, 'll or 'd; the same place without one. */
static struct place behind_contraction(struct place start, int any_case) {
  static const char *const endings[] = {"s", "t", "re", "ve", "m", "ll", "d"};
  size_t k;
  if (!start.bytes || start.c != '\'') return start;
  for (k = 0; k < sizeof endings / sizeof *endings; ++k) {
    const char *e = endings[k];
    struct place p = next(start);
    while (*e && p.bytes && lower(p, any_case) == (unsigned char)*e) {
      p = next(p);
      ++e;
    }
    if (!*e) return p;
  }
  return start;
}

/* Spaces but the last one, which belongs to the word behind it; all of them at the end of the text, and a single one. */
static struct place behind_spaces(struct place p) {
  struct place last = p;
  const char *start = p.text;
  while (is(p, CHARACTER_SPACE)) {
    last = p;
    p = next(p);
  }
  return p.bytes && last.text != start ? last : p;
}

/* 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
static struct place behind_gpt2(struct place start) {
  const struct place contraction = behind_contraction(start, 0);
  struct place p = start.c == ' ' ? next(start) : start;
  if (contraction.text != start.text) return contraction;
  if (!p.bytes || p.kind == CHARACTER_SPACE) return behind_spaces(start);
  return behind(p, p.kind, (size_t)-1);
}

/* (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+ with 1 or 3 digits. */
static struct place behind_llama3(struct place start, size_t digits) {
  const struct place contraction = behind_contraction(start, 1);
  struct place p = start, line = start;
  if (contraction.text != start.text) return contraction;
  if (start.kind != CHARACTER_LETTER && start.kind != CHARACTER_NUMBER && !is_line_end(start)) p = next(start);
  if (is(p, CHARACTER_LETTER)) return behind(p, CHARACTER_LETTER, (size_t)-1);
  if (start.kind == CHARACTER_NUMBER) return behind(start, CHARACTER_NUMBER, digits);
  p = start.c == ' ' ? next(start) : start;
  if (is(p, CHARACTER_OTHER)) {
    p = behind(p, CHARACTER_OTHER, (size_t)-1);
    while (is_line_end(p)) p = next(p);
    return p;
  }
  for (p = start; is(p, CHARACTER_SPACE);) {
    const int ends = is_line_end(p);
    p = next(p);
    if (ends) line = p;
  }
  return line.text != start.text ? line : behind_spaces(start);
}

/* As GPT-2 has it, in the text up to the next number; each character of a number is a piece. */
static struct place behind_smollm(struct place start) {
  struct place end = start;
  if (start.kind == CHARACTER_NUMBER) return next(start);
  while (end.bytes && end.kind != CHARACTER_NUMBER) end = next(end);
  return behind_gpt2(place_of(start.text, start.length - end.length));
}

size_t piece_length(enum pieces kind, const char *text, size_t length) {
  const struct place start = place_of(text, length);
  struct place end;
  switch (kind) {
    case PIECES_LLAMA3: end = behind_llama3(start, 3); break;
    case PIECES_QWEN2: end = behind_llama3(start, 1); break;
    case PIECES_SMOLLM: end = behind_smollm(start); break;
    default: end = behind_gpt2(start);
  }
  return (size_t)(end.text - text);
}
