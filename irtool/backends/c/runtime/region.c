/* The region of a run: objects from its beginning upwards, frames of recursion from its end downwards. A handle is the offset of an
   object, or -1 - tag of one without fields. */
typedef struct {
  int64_t top, stack, end, least; /* offsets; the least number of free bytes so far */
  int64_t from, *values; /* the end of the objects that the caller has handed over, and the memory that it has them in */
} irt_region;

IRT_INLINE irt_region *irt_open(unsigned char *memory, const unsigned char *end) {
  irt_region *r = (irt_region *)(void *)memory;
  r->top = 64;
  r->stack = r->end = (int64_t)(end - memory) / 8 * 8;
  r->least = r->end - r->top;
  r->from = r->top;
  return r;
}

IRT_INLINE unsigned char *irt_at(irt_region *r, int64_t offset) { return (unsigned char *)r + offset; }

IRT_INLINE int irt_fits(irt_region *r, int64_t size) {
  const int64_t left = r->stack - r->top - size;
  if (left < 0) return 0;
  if (left < r->least) r->least = left;
  return 1;
}

/* The handle of a new object, or 0 if it does not fit. */
IRT_INLINE int64_t irt_make(irt_region *r, int64_t size, int32_t tag, int64_t layout) {
  const int64_t at = r->top, word = tag | layout << 32;
  if (!irt_fits(r, size)) return 0;
  r->top = at + size;
  memcpy(irt_at(r, at), &word, 8);
  return at;
}

IRT_INLINE int32_t irt_tag(irt_region *r, int64_t handle) {
  int64_t word;
  if (handle < 0) return (int32_t)(-1 - handle);
  memcpy(&word, irt_at(r, handle), 8);
  return (int32_t)(word & INT32_MAX);
}

/* The handle in a field of an object. */
IRT_INLINE int64_t irt_inside(irt_region *r, int64_t handle, int64_t field) {
  int64_t inside;
  memcpy(&inside, irt_at(r, handle + field), 8);
  return inside;
}

/* Puts a frame onto the stack, which names the body to go on with; 0 if it does not fit. */
IRT_INLINE int irt_push(irt_region *r, int64_t size, int64_t body) {
  if (!irt_fits(r, size)) return 0;
  r->stack -= size;
  memcpy(irt_at(r, r->stack), &body, 8);
  return 1;
}

IRT_INLINE int irt_next(irt_region *r) {
  int64_t body;
  memcpy(&body, irt_at(r, r->stack), 8);
  return (int)body;
}
