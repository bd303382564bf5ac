// A disk whose flushes take SLOW_FSYNC_MS milliseconds: preloaded into a process (LD_PRELOAD).
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void be_slow(void) {
  const char *text = getenv("SLOW_FSYNC_MS");
  long ms = text ? atol(text) : 0;
  struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, 0);
}

int fsync(int fd) {
  be_slow();
  return syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
  be_slow();
  return syscall(SYS_fdatasync, fd);
}
