static const unsigned char *${name}_weights;

${expansions}static int ${name}_are_own(const void *bytes) {
  static const unsigned char identity[32] = {
    $listed
  };
  return bytes && !memcmp(bytes, identity, sizeof identity);
}

int ${name}_set_weights(const void *bytes) {
  if (!${name}_are_own(bytes)) return 2;
$set  ${name}_weights = (const unsigned char *)bytes;
  return 0;
}

#ifndef ${upper}_NO_LOADER
$digest/* What was read from a file first. It stays: runs read it, and what is loaded later has the same contents. */
static const unsigned char *${name}_loaded;

/* Whether what was read from a file is this program's and whole: 0 or 2. */
static int ${name}_accept(const void *bytes) {
  if (!${name}_are_own(bytes)) return 2;
$verify  return 0;
}

/* Sets the weights to these bytes, or to those that were loaded before. Returns whether these are in use. */
#if defined(__GNUC__) && (defined(__unix__) || defined(__APPLE__) || defined(_WIN32))
static int ${name}_keep(const unsigned char *bytes) {
  const unsigned char *first = NULL, *before = __atomic_load_n(&${name}_weights, __ATOMIC_ACQUIRE);
  const int is_first = __atomic_compare_exchange_n(&${name}_loaded, &first, bytes, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  if (is_first) first = bytes;
  if (before != first)
    (void)__atomic_compare_exchange_n(&${name}_weights, &before, first, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return is_first;
}
#else
static int ${name}_keep(const unsigned char *bytes) {
  const int is_first = !${name}_loaded;
  if (is_first) ${name}_loaded = bytes;
  ${name}_weights = ${name}_loaded;
  return is_first;
}
#endif

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int ${name}_load_weights(const char *path) {
  struct stat about;
  void *bytes;
  int file = path ? open(path, O_RDONLY | O_NONBLOCK) : -1, code;
  if (file < 0) return 3;
  if (fstat(file, &about) || !S_ISREG(about.st_mode)) {
    close(file);
    return 3;
  }
  if (about.st_size < 0 || (uintmax_t)about.st_size != ${upper}_WEIGHTS_SIZE) {
    close(file);
    return 2;
  }
  bytes = mmap(NULL, ${upper}_WEIGHTS_SIZE, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (bytes == MAP_FAILED) return 3;
  code = ${name}_accept(bytes);
$expand_mapped  if (code || !${name}_keep((const unsigned char *)bytes)) munmap(bytes, ${upper}_WEIGHTS_SIZE);
  return code;
}
#else
#include <stdio.h>
#include <stdlib.h>

int ${name}_load_weights(const char *path) {
  FILE *file = path ? fopen(path, "rb") : NULL;
  unsigned char *room, *bytes = NULL;
  size_t got;
  int code = 3;
  if (!file) return 3;
  room = (unsigned char *)malloc(${upper}_WEIGHTS_SIZE + ${alignment}u);
  if (room) {
    bytes = room + (${alignment}u - (uintptr_t)room % ${alignment}u) % ${alignment}u;
    got = fread(bytes, 1, ${upper}_WEIGHTS_SIZE, file);
    if (!ferror(file)) code = got == ${upper}_WEIGHTS_SIZE && fgetc(file) == EOF ? ${name}_accept(bytes) : 2;
$expand_read  }
  fclose(file);
  if (code || !${name}_keep(bytes)) free(room);
  return code;
}
#endif
#endif
