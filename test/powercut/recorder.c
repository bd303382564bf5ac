// Preloaded into a process: records all that it does to the files below a folder (POWERCUT_FOLDER), in one order, into POWERCUT_TRACE.
// A record is a line, "call inode offset length path other-path", and so many bytes. What is written through a mapping
// (SQLite's -shm) is not recorded: it is rebuilt after every start.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *folder;
static size_t folder_length;
static int trace = -1;
/* Descriptors of what lies below the folder: 0 of no such, else `known`, or `owed` an error of its disk. */
static unsigned char ours[65536];
enum { known = 1, owed = 2 };

#define REAL(type, name, ...) \
  static type (*real)(__VA_ARGS__); \
  if (!real) real = dlsym(RTLD_NEXT, #name)

static void write_all(const char *bytes, size_t length) {
  REAL(ssize_t, write, int, const void *, size_t);
  while (length > 0) {
    ssize_t done = real(trace, bytes, length);
    if (done < 0) {
      if (errno == EINTR) continue;
      abort();
    }
    bytes += done;
    length -= (size_t)done;
  }
}

static unsigned long long inode_of(int fd) {
  struct stat about;
  return fstat(fd, &about) == 0 ? about.st_ino : 0;
}

static void record(const char *call, unsigned long long inode, long long offset, const void *bytes,
                   size_t length, const char *path, const char *other) {
  char head[2 * PATH_MAX + 100];
  int size = snprintf(head, sizeof head, "%s %llu %lld %zu %s %s\n", call, inode, offset, length,
                      path ? path : "-", other ? other : "-");
  write_all(head, (size_t)size);
  if (length > 0) write_all(bytes, length);
}

static void begin_trace(void) {
  REAL(int, open, const char *, int, ...);
  const char *file = getenv("POWERCUT_TRACE");
  const char *below = getenv("POWERCUT_FOLDER");
  struct stat about;
  if (!file || !below || stat(below, &about) != 0) return;
  trace = real(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (trace < 0) return;
  folder_length = strlen(below);
  folder = below;
  record("root", about.st_ino, 0, NULL, 0, below, NULL);
}

static int is_ours(const char *path) {
  pthread_once(&once, begin_trace);
  return folder && path && strncmp(path, folder, folder_length) == 0 &&
         (path[folder_length] == '/' || path[folder_length] == 0);
}

/* A descriptor that was closed by other ways may be a socket's or a pipe's now. */
static int is_our_fd(int fd) {
  struct stat about;
  if (fd < 0 || fd >= (int)sizeof ours || !ours[fd]) return 0;
  if (fstat(fd, &about) == 0 && (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode))) return 1;
  ours[fd] = 0;
  return 0;
}

#define ENTER pthread_mutex_lock(&lock)
#define LEAVE \
  do { \
    int kept = errno; \
    pthread_mutex_unlock(&lock); \
    errno = kept; \
  } while (0)

#define OPENING(name, parameters, arguments, path) \
  { \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
      va_list more; \
      va_start(more, flags); \
      mode = va_arg(more, mode_t); \
      va_end(more); \
    } \
    REAL(int, name, parameters); \
    if (!is_ours(path)) { \
      int other = real arguments; \
      if (other >= 0 && other < (int)sizeof ours) ours[other] = 0; \
      return other; \
    } \
    ENTER; \
    int existed = access(path, F_OK) == 0; \
    int fd = real arguments; \
    if (fd >= 0 && fd < (int)sizeof ours) { \
      ours[fd] = known; \
      if (!existed) record("create", inode_of(fd), 0, NULL, 0, path, NULL); \
      else if (flags & O_TRUNC) record("truncate", inode_of(fd), 0, NULL, 0, NULL, NULL); \
    } \
    LEAVE; \
    return fd; \
  }
#define LIST(...) __VA_ARGS__

int open(const char *path, int flags, ...)
  OPENING(open, LIST(const char *, int, ...), (path, flags, mode), path)
int open64(const char *path, int flags, ...)
  OPENING(open64, LIST(const char *, int, ...), (path, flags, mode), path)
int openat(int at, const char *path, int flags, ...)
  OPENING(openat, LIST(int, const char *, int, ...), (at, path, flags, mode), path)
int openat64(int at, const char *path, int flags, ...)
  OPENING(openat64, LIST(int, const char *, int, ...), (at, path, flags, mode), path)

int close(int fd) {
  REAL(int, close, int);
  if (!is_our_fd(fd)) return real(fd);
  ENTER;
  ours[fd] = 0;
  int outcome = real(fd);
  LEAVE;
  return outcome;
}

ssize_t write(int fd, const void *bytes, size_t length) {
  REAL(ssize_t, write, int, const void *, size_t);
  if (!is_our_fd(fd)) return real(fd, bytes, length);
  ENTER;
  ssize_t done = real(fd, bytes, length);
  if (done > 0) {
    record("write", inode_of(fd), lseek(fd, 0, SEEK_CUR) - done, bytes, (size_t)done, NULL, NULL);
  }
  LEAVE;
  return done;
}

#define PWRITE(name) \
  ssize_t name(int fd, const void *bytes, size_t length, off_t offset) { \
    REAL(ssize_t, name, int, const void *, size_t, off_t); \
    if (!is_our_fd(fd)) return real(fd, bytes, length, offset); \
    ENTER; \
    ssize_t done = real(fd, bytes, length, offset); \
    if (done > 0) record("write", inode_of(fd), offset, bytes, (size_t)done, NULL, NULL); \
    LEAVE; \
    return done; \
  }
PWRITE(pwrite)
PWRITE(pwrite64)

static void record_parts(int fd, const struct iovec *parts, int count, off_t offset, ssize_t done) {
  for (int at = 0; at < count && done > 0; at += 1) {
    size_t length = parts[at].iov_len < (size_t)done ? parts[at].iov_len : (size_t)done;
    if (length > 0) record("write", inode_of(fd), offset, parts[at].iov_base, length, NULL, NULL);
    offset += (off_t)length;
    done -= (ssize_t)length;
  }
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  REAL(ssize_t, writev, int, const struct iovec *, int);
  if (!is_our_fd(fd)) return real(fd, parts, count);
  ENTER;
  ssize_t done = real(fd, parts, count);
  if (done > 0) record_parts(fd, parts, count, lseek(fd, 0, SEEK_CUR) - done, done);
  LEAVE;
  return done;
}

#define PWRITEV(name) \
  ssize_t name(int fd, const struct iovec *parts, int count, off_t offset) { \
    REAL(ssize_t, name, int, const struct iovec *, int, off_t); \
    if (!is_our_fd(fd)) return real(fd, parts, count, offset); \
    ENTER; \
    ssize_t done = real(fd, parts, count, offset); \
    if (done > 0) record_parts(fd, parts, count, offset, done); \
    LEAVE; \
    return done; \
  }
PWRITEV(pwritev)
PWRITEV(pwritev64)

/* One call on a descriptor that, when it succeeds, is recorded with one number. */
#define ON_FD(name, call, parameters, arguments, offset) \
  int name(LIST parameters) { \
    REAL(int, name, LIST parameters); \
    if (!is_our_fd(fd)) return real arguments; \
    ENTER; \
    int outcome = real arguments; \
    if (outcome == 0) record(call, inode_of(fd), offset, NULL, 0, NULL, NULL); \
    LEAVE; \
    return outcome; \
  }
ON_FD(ftruncate, "truncate", (int fd, off_t length), (fd, length), length)
ON_FD(ftruncate64, "truncate", (int fd, off_t length), (fd, length), length)

/* Of the files whose names end with POWERCUT_FAIL_NAME, the sync with the number POWERCUT_FAIL_AT fails. */
static int is_to_fail(int fd) {
  static long seen;
  const char *name = getenv("POWERCUT_FAIL_NAME"), *at = getenv("POWERCUT_FAIL_AT");
  char link[64], path[PATH_MAX];
  if (!name || !at) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  ssize_t behind = length - (ssize_t)strlen(name);
  if (behind < 0 || strncmp(path + behind, name, strlen(name)) != 0) return 0;
  seen += 1;
  return seen == atol(at);
}

/* Linux says it once to each descriptor that was open: to one now, to the others when they sync next. */
static void owe_others(int fd) {
  unsigned long long inode = inode_of(fd);
  for (int other = 0; other < (int)sizeof ours; other += 1) {
    if (other != fd && ours[other] && inode_of(other) == inode) ours[other] = owed;
  }
}

/* The disk fails once. The system takes the pages for clean from then on. */
#define SYNC(name) \
  int name(int fd) { \
    REAL(int, name, int); \
    if (!is_our_fd(fd)) return real(fd); \
    ENTER; \
    int fails = is_to_fail(fd), late = ours[fd] == owed; \
    if (fails) owe_others(fd); \
    ours[fd] = known; \
    int outcome = fails ? -1 : real(fd); \
    if (fails || outcome == 0) record(fails ? "failed" : "fsync", inode_of(fd), 0, NULL, 0, NULL, NULL); \
    if (late) outcome = -1; \
    if (fails || late) errno = EIO; \
    LEAVE; \
    return outcome; \
  }
SYNC(fsync)
SYNC(fdatasync)

static unsigned long long inode_at(const char *path) {
  struct stat about;
  return lstat(path, &about) == 0 ? about.st_ino : 0;
}

/* One call on names. The inode is that which bears the last name, or bore it. */
#define ON_NAME(name, call, parameters, arguments, path, other, bearer) \
  int name(LIST parameters) { \
    REAL(int, name, LIST parameters); \
    if (!is_ours(path)) return real arguments; \
    ENTER; \
    unsigned long long before = inode_at(path); \
    int outcome = real arguments; \
    if (outcome == 0) record(call, before ? before : inode_at(bearer), 0, NULL, 0, path, other); \
    LEAVE; \
    return outcome; \
  }
ON_NAME(rename, "rename", (const char *from, const char *to), (from, to), from, to, to)
ON_NAME(link, "link", (const char *from, const char *to), (from, to), from, to, to)
ON_NAME(unlink, "unlink", (const char *path), (path), path, NULL, path)
ON_NAME(remove, "unlink", (const char *path), (path), path, NULL, path)
ON_NAME(rmdir, "unlink", (const char *path), (path), path, NULL, path)
ON_NAME(mkdir, "mkdir", (const char *path, mode_t mode), (path, mode), path, NULL, path)

/* A tree is removed by names that are relative to the folder that holds them. */
int unlinkat(int at, const char *path, int flags) {
  REAL(int, unlinkat, int, const char *, int);
  char link[64], whole[2 * PATH_MAX];
  if (at == AT_FDCWD || path[0] == '/') {
    snprintf(whole, sizeof whole, "%s", path);
  } else {
    char above[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", at);
    ssize_t length = readlink(link, above, sizeof above - 1);
    above[length > 0 ? length : 0] = 0;
    snprintf(whole, sizeof whole, "%s/%s", above, path);
  }
  if (!is_ours(whole)) return real(at, path, flags);
  ENTER;
  unsigned long long before = inode_at(whole);
  int outcome = real(at, path, flags);
  if (outcome == 0) record("unlink", before, 0, NULL, 0, whole, NULL);
  LEAVE;
  return outcome;
}

#define TRUNCATE(name) \
  int name(const char *path, off_t length) { \
    REAL(int, name, const char *, off_t); \
    if (!is_ours(path)) return real(path, length); \
    ENTER; \
    int outcome = real(path, length); \
    if (outcome == 0) record("truncate", inode_at(path), length, NULL, 0, NULL, NULL); \
    LEAVE; \
    return outcome; \
  }
TRUNCATE(truncate)
TRUNCATE(truncate64)

/* It dies between two calls, never between one of another thread and its record. */
int kill(pid_t process, int number) {
  REAL(int, kill, pid_t, int);
  ENTER;
  int outcome = real(process, number);
  LEAVE;
  return outcome;
}
