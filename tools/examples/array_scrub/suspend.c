// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suspend.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define BEGINS 'b'
#define ENDS 'e'

/* Files of md's, open from the start, and the pipe to the process that watches */
static int low_fd = -1, high_fd = -1, watch_fd = -1;
static pid_t watcher;

static int put(int fd, uint64_t value)
{
	char line[24];
	int n = snprintf(line, sizeof(line), "%llu\n", (unsigned long long)value);

	return pwrite(fd, line, n, 0) == n ? 0 : -1;
}

static uint64_t get(int fd)
{
	char line[24] = "";

	return pread(fd, line, sizeof(line) - 1, 0) > 0 ? strtoull(line, NULL, 10) : 0;
}

static void lift(void)
{
	put(high_fd, 0);
	put(low_fd, 0);
}

/* The process that watches: until the pipe is closed, which the other's end does */
static void watch(int fd)
{
	struct pollfd news = { .fd = fd, .events = POLLIN };
	bool suspended = false;
	char word;

	for (;;) {
		if (!poll(&news, 1, suspended ? SUSPEND_SECONDS_MAX * 1000 : -1)) {
			lift();
			suspended = false;
			continue;
		}
		if (read(fd, &word, 1) != 1)
			break;
		suspended = word == BEGINS;
	}
	if (suspended)
		lift();
	_exit(0);
}

static int open_attribute(const struct array *array, const char *name)
{
	char path[256];

	array_attribute(array, name, path, sizeof(path));
	return open(path, O_RDWR | O_CLOEXEC);
}

int suspend_init(const struct array *array)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	int pipe_fd[2];
	unsigned int i;

	low_fd = open_attribute(array, "suspend_lo");
	high_fd = open_attribute(array, "suspend_hi");
	if (low_fd < 0 || high_fd < 0 || pipe2(pipe_fd, O_CLOEXEC))
		return -1;
	signal(SIGPIPE, SIG_IGN);
	watcher = fork();
	if (watcher < 0)
		return -1;
	if (!watcher) {
		close(pipe_fd[1]);
		/* what is typed at the other is not for this one */
		setsid();
		for (i = 0; i < ARRAY_SIZE(ignored); i++)
			signal(ignored[i], SIG_IGN);
		if (mlockall(MCL_CURRENT | MCL_FUTURE))
			_exit(1);
		watch(pipe_fd[0]);
	}
	close(pipe_fd[0]);
	watch_fd = pipe_fd[1];
	return mlockall(MCL_CURRENT | MCL_FUTURE);
}

static int tell(char word)
{
	return write(watch_fd, &word, 1) == 1 ? 0 : -1;
}

int suspend_begin(uint64_t low, uint64_t high)
{
	/* nothing is suspended while high is 0 */
	if (tell(BEGINS))
		return -1;
	if (!put(low_fd, low) && !put(high_fd, high))
		return 0;
	suspend_end(low, high);
	return -1;
}

bool suspend_end(uint64_t low, uint64_t high)
{
	bool held = get(low_fd) == low && get(high_fd) == high;
	int error = errno;

	lift();
	tell(ENDS);
	errno = error;
	return held;
}

void suspend_exit(void)
{
	if (watch_fd < 0)
		return;
	close(watch_fd);
	watch_fd = -1;
	waitpid(watcher, NULL, 0);
}
