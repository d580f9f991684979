/* A tokenizer from the metadata of a GGUF file: byte-level byte-pair encoding, or that of SentencePiece. */
#ifndef TOKENIZER_H
#define TOKENIZER_H

#include "pieces.h"
#include <stddef.h>
#include <stdint.h>

/* Errors. */
enum tokenizer_error {
  TOKENIZER_CANNOT_READ = 1, /* the file cannot be opened or read */
  TOKENIZER_DAMAGED,         /* it is no GGUF file, is cut off, or contradicts itself */
  TOKENIZER_UNKNOWN,         /* it has no tokenizer, or one of another kind */
  TOKENIZER_NO_MEMORY
};

struct tokenizer_merge {
  int32_t left, right, result, rank;
};

/* The types of tokens. */
enum { TOKEN_NORMAL = 1, TOKEN_UNKNOWN, TOKEN_CONTROL, TOKEN_OF_USER, TOKEN_UNUSED, TOKEN_BYTE };

struct tokenizer {
  int is_sentencepiece;          /* texts are not cut into pieces */
  enum pieces pieces;
  int whole_pieces;              /* a piece that is a token stays whole */
  int space_in_front;            /* SentencePiece: texts begin with a space */
  int32_t count;                 /* tokens */
  int32_t begin, end, unknown;   /* the tokens that begin and end a text, and stand for what has none; -1: none */
  char *bytes;                   /* the bytes of all tokens, one behind the other */
  size_t *first;                 /* count + 1 places in these */
  unsigned char *type;           /* of each token */
  int32_t *of_text;              /* a hash table of tokens by their bytes; free places have -1 */
  size_t text_places;            /* of that table, a power of 2 */
  int32_t of_byte[256];          /* the token of each byte; -1: none */
  int32_t merge_count;
  struct tokenizer_merge *merges; /* a hash table by left and right; free places have a rank of -1 */
  size_t places;                 /* of the table, a power of 2 */
};

/* Reads the tokenizer of a file. After an error nothing has to be freed. */
int tokenizer_read(struct tokenizer *t, const char *path);

/* Frees the memory of a tokenizer. */
void tokenizer_free(struct tokenizer *t);

/* The tokens of a text, in room for `most`: one more than it has bytes are always enough. Returns their number, or -1 if there is too little room, or a
 * byte has no token. The text is taken as it is: names of control tokens in it are text, and characters that have several forms in Unicode stay. */
long tokenizer_encode(const struct tokenizer *t, const char *text, size_t length, int32_t *tokens, long most);

/* The bytes of a token, which may be a part of a character; NULL for a number outside of the vocabulary. */
const char *tokenizer_text(const struct tokenizer *t, int32_t token, size_t *length);

/* A sentence about an error. */
const char *tokenizer_message(int error);

#endif
