/* Kinds of characters of a text in UTF-8. */
#ifndef CHARACTERS_H
#define CHARACTERS_H

#include <stddef.h>
#include <stdint.h>

enum character_kind { CHARACTER_OTHER, CHARACTER_SPACE, CHARACTER_LETTER, CHARACTER_NUMBER };

/* The kind of a character: letters and numbers are those of Unicode's categories L and N. */
enum character_kind character_kind(uint32_t c);

/* Reads the character that a text begins with, which has at least one byte. Returns the number of its bytes; a byte that is no UTF-8 is a character
 * by itself, U+FFFD. */
size_t character_read(const char *text, size_t length, uint32_t *c);

#endif
