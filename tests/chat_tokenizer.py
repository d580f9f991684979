"""A program around the tokenizer of samples/chat, which reads texts and prints their tokens."""

from __future__ import annotations

import subprocess
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "samples" / "chat"
SOURCES = [str(FOLDER / f"{n}.c") for n in ("tokenizer", "pieces", "characters")]
SANITIZED = [
    "-std=c99",
    "-O1",
    "-g",
    "-Wall",
    "-Wextra",
    "-pedantic",
    "-Werror",
    "-fsanitize=address,undefined",
    f"-I{FOLDER}",
]

TOKENIZE = """#include "tokenizer.h"
#include <stdio.h>
#include <string.h>

/* Reads the tokenizer of a file, then texts behind their lengths; prints the tokens of each, and compares their bytes with the text. */
int main(int argc, char **argv) {
  static char text[65536], joined[65536];
  static int32_t tokens[65536], others[65536];
  struct tokenizer t;
  unsigned size;
  const int code = argc == 2 ? tokenizer_read(&t, argv[1]) : -1;
  if (code) return 10 + code;
  while (scanf("%u", &size) == 1 && getchar() == '\\n' && size < sizeof text && fread(text, 1, size, stdin) == size) {
    const long count = tokenizer_encode(&t, text, size, tokens, 65536);
    size_t used = 0, length;
    long k;
    if (count < 0 || tokenizer_encode(&t, text, size, others, count - 1) != -1) { printf("none\\n"); continue; }
    for (k = 0; k < count; ++k) {
      const char *bytes = tokenizer_text(&t, tokens[k], &length);
      memcpy(joined + used, bytes, length);
      used += length;
      printf("%d ", (int)tokens[k]);
    }
    puts(used == size && !memcmp(joined, text, size) ? "same" : "other");
  }
  if (tokenizer_text(&t, -1, (size_t *)joined) || tokenizer_text(&t, t.count, (size_t *)joined)) return 3;
  tokenizer_free(&t);
  return 0;
}
"""


def tokenized(program: Path, model: Path, *texts: bytes) -> subprocess.CompletedProcess[bytes]:
    """The program's run on texts."""
    data = b"".join(b"%u\n" % len(t) + t for t in texts)
    return subprocess.run([program, model], input=data, capture_output=True, check=False)
