/* Weights that the file has in a form with fewer elements, and runs read transformed: each block of rows is a sum of other rows, times
   factors. They are in memory of their own. */
static unsigned char *${name}_expanded;

static void ${name}_combine(const float *from, float *to, const double *factors, size_t blocks, size_t size, size_t rows, size_t columns) {
  double sums[64];
  size_t block, first, count, row, column, k;
  for (block = 0; block < blocks; ++block) {
    for (first = 0; first < size; first += 64u) {
      count = size - first < 64u ? size - first : 64u;
      for (row = 0; row < rows; ++row) {
        for (k = 0; k < count; ++k) sums[k] = 0.0;
        for (column = 0; column < columns; ++column) {
          const double factor = factors[row * columns + column];
          const float *values = from + column * size + first;
          if (factor == 0.0) continue;
          for (k = 0; k < count; ++k) sums[k] += factor * (double)values[k];
        }
        for (k = 0; k < count; ++k) to[row * size + first + k] = (float)sums[k];
      }
    }
    from += columns * size;
    to += rows * size;
  }
}

static const double ${name}_factors[] = {
$factors
};

static const struct {
  size_t from, to, blocks, size, rows, columns, factors;
} ${name}_expansions[$count] = {
$rows
};

#if !defined(${upper}_NO_LOADER) && (defined(__unix__) || defined(__APPLE__))
#include <sys/mman.h>
#include <unistd.h>
#endif

/* The system may forget pages of a mapped file, until they are read again. */
static void ${name}_release(const unsigned char *bytes, size_t from, size_t size) {
#if !defined(${upper}_NO_LOADER) && (defined(__unix__) || defined(__APPLE__)) && defined(MADV_DONTNEED)
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)bytes + from;
  const uintptr_t first = (begin + page - 1u) / page * page, end = (begin + size) / page * page;
  if (first < end) (void)madvise((void *)first, (size_t)(end - first), MADV_DONTNEED);
#else
  (void)bytes, (void)from, (void)size;
#endif
}

static void ${name}_expand(const unsigned char *bytes, unsigned char *room, int is_mapped) {
  size_t n;
  if (is_mapped) ${name}_release(bytes, 0, ${upper}_WEIGHTS_SIZE); /* the digest has read all of it */
  for (n = 0; n < $count; ++n) {
    const size_t from = ${name}_expansions[n].from, size = ${name}_expansions[n].size, columns = ${name}_expansions[n].columns;
    const size_t blocks = ${name}_expansions[n].blocks;
    ${name}_combine((const float *)(const void *)(bytes + from), (float *)(void *)(room + ${name}_expansions[n].to),
      ${name}_factors + ${name}_expansions[n].factors, blocks, size, ${name}_expansions[n].rows, columns);
    if (is_mapped) ${name}_release(bytes, from, blocks * columns * size * sizeof(float));
  }
}

/* Memory for them, at a multiple of $alignment; NULL if there is none. */
#ifdef ${upper}_NO_LOADER
static unsigned char ${name}_room[${upper}_EXPANDED_SIZE + ${alignment}u];
static unsigned char *${name}_reserve(unsigned char **room) {
  *room = ${name}_room;
  return *room + (${alignment}u - (uintptr_t)*room % ${alignment}u) % ${alignment}u;
}
#else
#include <stdlib.h>
static unsigned char *${name}_reserve(unsigned char **room) {
  *room = (unsigned char *)malloc(${upper}_EXPANDED_SIZE + ${alignment}u);
  return *room ? *room + (${alignment}u - (uintptr_t)*room % ${alignment}u) % ${alignment}u : NULL;
}

/* Expands weights that were read from a file, once: all such files have the same contents. 0, or 1 without memory. */
static int ${name}_expand_once(const unsigned char *bytes, int is_mapped) {
  unsigned char *room, *expanded, *none = NULL;
#if defined(__GNUC__) && (defined(__unix__) || defined(__APPLE__) || defined(_WIN32))
  if (__atomic_load_n(&${name}_expanded, __ATOMIC_ACQUIRE)) return 0;
  expanded = ${name}_reserve(&room);
  if (!expanded) return 1;
  ${name}_expand(bytes, expanded, is_mapped);
  if (!__atomic_compare_exchange_n(&${name}_expanded, &none, expanded, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) free(room);
#else
  (void)none;
  if (${name}_expanded) return 0;
  expanded = ${name}_reserve(&room);
  if (!expanded) return 1;
  ${name}_expand(bytes, expanded, is_mapped);
  ${name}_expanded = expanded;
#endif
  return 0;
}
#endif

