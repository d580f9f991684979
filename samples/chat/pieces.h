/* The cuts of a text into pieces, whose tokens are found by themselves. */
#ifndef PIECES_H
#define PIECES_H

#include <stddef.h>

enum pieces { PIECES_GPT2, PIECES_LLAMA3, PIECES_QWEN2, PIECES_SMOLLM };

/* The length of the piece that a text begins with, at least 1; the text has at least one byte. */
size_t piece_length(enum pieces kind, const char *text, size_t length);

#endif
