// SPDX-License-Identifier: GPL-2.0
/* Files, modules, time, and words to the host. */
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>

#include "moments.h"

#define TRIES 200

u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC + ts.tv_nsec;
}

/* Has memory been made to fail at some time since then? 0: now */
bool is_starved(u64 since)
{
	return atomic_load(&sh->starved) || (since && atomic_load(&sh->starved_until) >= since);
}

void rest_ms(u64 ms)
{
	usleep(ms * 1000);
}

/* splitmix64 */
u64 draw(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

u64 below(u64 *state, u64 n)
{
	return draw(state) % n;
}

static void say_line(const char *head, const char *fmt, va_list args)
{
	char line[512];
	int n = snprintf(line, sizeof(line) - 1, "mo %s", head);

	n += vsnprintf(line + n, sizeof(line) - 1 - n, fmt, args);
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	/* In one piece, for others write too */
	(void)!write(STDOUT_FILENO, line, n);
}

void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say_line("", fmt, args);
	va_end(args);
}

static const char * const heads[] = {
	"found hang ", "found leak ", "found wrong ", "found error ", "found untrue ",
};

/* Something that must not be: counted, and told */
void found(enum finding kind, const char *fmt, ...)
{
	va_list args;

	/* Wrong bytes are counted where they are found, and only the first ones told */
	if (kind != WRONG)
		atomic_fetch_add(&sh->count[kind], 1);
	if (atomic_load(&sh->count[kind]) > 2000)
		return;
	va_start(args, fmt);
	say_line(heads[kind], fmt, args);
	va_end(args);
}

static int put_once(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC), error = 0;
	size_t len = strlen(text);

	if (fd < 0)
		return -errno;
	if (write(fd, text, len) != (ssize_t)len)
		error = -errno;
	if (close(fd) && !error)
		error = -errno;
	return error;
}

/* While memory is made to fail it fails for us, too, here and there: try again */
static bool again(int error, int tries)
{
	if ((error != -ENOMEM && error != -ENFILE) || tries == TRIES || !is_starved(0))
		return false;
	rest_ms(5);
	return true;
}

int put(const char *path, const char *text)
{
	int error, tries = 0;

	do
		error = put_once(path, text);
	while (again(error, tries++));
	return error;
}

static int get_once(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = 0, got = 0;

	buf[0] = '\0';
	if (fd < 0)
		return -errno;
	while (got < (ssize_t)size - 1 && (n = read(fd, buf + got, size - 1 - got)) > 0)
		got += n;
	if (n < 0)
		n = -errno;
	close(fd);
	buf[got] = '\0';
	if (got && buf[got - 1] == '\n')
		buf[--got] = '\0';
	return n < 0 ? n : got;
}

/* The file's text without the last newline; its length */
int get(const char *path, char *buf, size_t size)
{
	int n, tries = 0;

	do
		n = get_once(path, buf, size);
	while (n < 0 && again(n, tries++));
	return n;
}

long long number_in(const char *path)
{
	char buf[64];

	return get(path, buf, sizeof(buf)) > 0 ? strtoll(buf, NULL, 10) : -1;
}

/* Of a file with lines "key value" */
long long value_of(const char *path, const char *key)
{
	size_t len = strlen(key);
	char buf[4096], *at;

	get(path, buf, sizeof(buf));
	for (at = buf; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, key, len) && at[len] == ' ')
			return strtoll(at + len, NULL, 10);
	}
	return -1;
}

static char *path_of(const char *fmt, const char *middle, const char *name)
{
	static __thread char paths[8][256];
	static __thread unsigned int next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), fmt, middle, name);
	return path;
}

char *queue_file(const char *name)
{
	return path_of("/sys/block/%s/%s", sh->disk, name);
}

char *fb_file(const char *name)
{
	return path_of("/sys/kernel/freeblock/%s/%s", sh->disk, name);
}

char *drive_file(const char *name)
{
	return path_of("/sys/kernel/mechdisk/%s/%s", drive, name);
}

bool exists(const char *path)
{
	return !access(path, F_OK);
}

bool wait_until(u64 seconds, bool (*holds)(const void *), const void *arg)
{
	u64 end = now_ns() + seconds * NSEC;

	while (!holds(arg)) {
		if (now_ns() > end)
			return false;
		rest_ms(20);
	}
	return true;
}

bool is_word(const char *path, const char *word)
{
	char buf[64];

	get(path, buf, sizeof(buf));
	return !strcmp(buf, word);
}

int module_remove(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? -errno : 0;
}

int module_insert(const char *path)
{
	int fd = open(path, O_RDONLY), error = 0;

	if (fd < 0)
		return -errno;
	if (syscall(SYS_finit_module, fd, "", 0))
		error = -errno;
	close(fd);
	return error;
}
