/* Objects that move between the region of a run and the caller's memory, by the table of the program's objects (see `tir.values`).
   Offsets are in bytes. An object that has moved has minus its new offset in the place of its first word. */
IRT_INLINE int64_t irt_moved(int64_t *m, int64_t *t, const int64_t *table, int64_t handle, int64_t from, int64_t delta, int64_t limit, int64_t *end) {
  int64_t first, size, at, k;
  if (handle < from) return handle;
  first = m[handle / 8];
  if (first < 0) return -first - delta;
  size = table[table[first >> 32]];
  at = *end;
  if (limit - at < size) return 0;
  for (k = 0; k < size; k += 8) t[(at + k) / 8] = m[(handle + k) / 8];
  m[handle / 8] = -at;
  *end = at + size;
  return at - delta;
}

/* Moves to `t` what the handles of the object of `o` at an offset lead to, and gives it the new handles, if it `stores` them. Its bytes, or
   0 if there is no room. */
IRT_INLINE int64_t irt_follow(int64_t *m, int64_t *t, int64_t *o, const int64_t *table, int64_t at, int64_t from, int64_t delta, int64_t limit, int64_t *end, int stores) {
  const int64_t record = table[o[at / 8] >> 32];
  const int64_t count = table[record + 2];
  int64_t k, place, moved;
  for (k = 0; k < count; ++k) {
    place = (at + table[record + 3 + 3 * k]) / 8;
    moved = irt_moved(m, t, table, o[place], from, delta, limit, end);
    if (moved == 0) return 0;
    if (stores) o[place] = moved;
  }
  return table[record];
}

/* Whether a handle is one of a type, whose objects have `count` numbers from `first` on, among checked objects up to `end`. */
IRT_INLINE int irt_is(const int64_t *m, const int64_t *table, int64_t handle, int64_t first, int64_t count, int64_t end) {
  int64_t number;
  if (handle < 0) {
    if (-1 - handle >= count) return 0;
    return table[table[first + (-1 - handle)]] == 0;
  }
  if (handle < 64 || handle >= end || handle % 8 != 0) return 0;
  if (((m[end / 8 + handle / 256] >> (handle / 8 % 32)) & 1) == 0) return 0;
  number = m[handle / 8] >> 32;
  return number >= first && number < first + count;
}

/* Whether the head of a caller's memory is one. */
IRT_INLINE int irt_has_head(const int64_t *values) {
  return values[0] >= 64 && values[0] <= values[1] && values[0] % 8 == 0;
}

/* Copies the caller's objects, of numbers up to `most`, to the beginning of a region, and checks them. Behind them there is a bit for each
   word that an object begins with. */
IRT_INLINE int irt_far_take(int64_t *m, const int64_t *values, const int64_t *table, int64_t most) {
  const int64_t end = values[0];
  int64_t at, k, first, record, size, count;
  if (m[1] - end < end / 32 + 8) return 10;
  for (k = 64; k < end; k += 8) m[k / 8] = values[k / 8];
  for (k = end; k < end + end / 32 + 8; k += 8) m[k / 8] = 0;
  for (at = 64; at < end; at += size) {
    first = m[at / 8];
    if (first >> 32 < 1 || first >> 32 > most) return 12;
    record = table[first >> 32];
    size = table[record];
    if (size == 0 || size > end - at || (first & INT64_C(4294967295)) != table[record + 1]) return 12;
    m[end / 8 + at / 256] |= (int64_t)1 << (at / 8 % 32);
  }
  for (at = 64; at < end; at += table[record]) {
    record = table[m[at / 8] >> 32];
    count = table[record + 2];
    for (k = record + 3; k < record + 3 + 3 * count; k += 3) {
      if (!irt_is(m, table, m[(at + table[k]) / 8], table[k + 1], table[k + 2], end)) return 12;
    }
  }
  m[0] = end;
  if (m[1] - end < m[3]) m[3] = m[1] - end;
  return 0;
}

/* Adds to the caller's memory the objects of a region that handles lead to; those before `from` are there. If references were `written`, the
   others may lead to new objects, and are copied back. 0 if there is no room: then nothing changes. */
IRT_INLINE int irt_far_give(int64_t *m, int64_t *values, const int64_t *table, int64_t from, int64_t *handles, int64_t count, int written) {
  const int64_t begin = values[0], limit = values[1];
  int64_t at, k, size, end = begin;
  if (written) {
    for (at = 64; at < from; at += size) {
      size = irt_follow(m, values, m, table, at, from, 0, limit, &end, 1);
      if (size == 0) return 0;
    }
  }
  for (k = 0; k < count; ++k) {
    size = irt_moved(m, values, table, handles[k], from, 0, limit, &end);
    if (size == 0) return 0;
    handles[k] = size;
  }
  for (at = begin; at < end; at += size) {
    size = irt_follow(m, values, values, table, at, from, 0, limit, &end, 1);
    if (size == 0) return 0;
  }
  if (written) {
    for (k = 64; k < from; k += 8) values[k / 8] = m[k / 8];
  }
  values[0] = end;
  return 1;
}

/* Moves together the objects behind `from` that the handles in the last frame lead to, and takes the others back. If there is no room for
   both, nothing changes. The end of the objects from which on it is to be done again. */
IRT_INLINE int64_t irt_far_collect(int64_t *m, const int64_t *table, int64_t from, int64_t count, int written) {
  const int64_t begin = m[0], limit = m[1];
  const int64_t delta = begin - from;
  int64_t at, k, first, size = 8, end = begin;
  if (written) {
    for (at = 64; at < from && size != 0; at += size) size = irt_follow(m, m, m, table, at, from, delta, limit, &end, 0);
  }
  for (k = 1; k <= count && size != 0; ++k) size = irt_moved(m, m, table, m[limit / 8 + k], from, delta, limit, &end);
  for (at = begin; at < end && size != 0; at += size) size = irt_follow(m, m, m, table, at, from, delta, limit, &end, 1);
  if (size == 0) {
    for (at = from; at < begin; at += table[table[first >> 32]]) {
      first = m[at / 8];
      if (first < 0) first = m[-first / 8];
      m[at / 8] = first;
    }
    return begin + (limit - begin) / 2;
  }
  if (written) {
    for (at = 64; at < from; at += size) size = irt_follow(m, m, m, table, at, from, delta, limit, &end, 1);
  }
  for (k = 1; k <= count; ++k) m[limit / 8 + k] = irt_moved(m, m, table, m[limit / 8 + k], from, delta, limit, &end);
  for (k = begin; k < end; k += 8) m[(k - delta) / 8] = m[k / 8];
  m[0] = end - delta;
  return m[0] + (limit - m[0]) / 2;
}
