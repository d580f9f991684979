static uint64_t ${name}_state_digest(const void *bytes) {
  const unsigned char *at = (const unsigned char *)bytes;
  uint64_t result = 0;
  size_t k;
  for (k = 0; k < ${size}u; k += 8) {
    uint64_t word = 0;
    memcpy(&word, at + k, ${size}u - k < 8u ? ${size}u - k : 8u);
    result = (result ^ word) * UINT64_C($factor);
    result ^= result >> 32;
  }
  return result;
}

int ${name}_init($net) {
  memset($variable, 0, sizeof *$variable);
$first  return 0;
}

int ${name}_state($net, void *saved, const void *restored) {
  uint64_t head[4] = {UINT64_C($magic), UINT64_C($identity), ${size}u, 0};
  if (saved) {
    head[3] = ${name}_state_digest($variable);
    memcpy(saved, head, sizeof head);
    memcpy((unsigned char *)saved + sizeof head, $variable, ${size}u);
  }
  if (restored) {
    head[3] = ${name}_state_digest((const unsigned char *)restored + sizeof head);
    if (memcmp(restored, head, sizeof head) != 0) return $error;
    memcpy($variable, (const unsigned char *)restored + sizeof head, ${size}u);
  }
  return 0;
}
