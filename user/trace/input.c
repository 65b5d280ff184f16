// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "trace/input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER (64U << 10)

struct input *input_open(struct flow *f)
{
	struct input *in = calloc(1, sizeof(*in));
	int fd = strcmp(f->from, "-") ? open(f->from, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
	int err = fd < 0 ? errno : ENOMEM;

	if (in && fd >= 0)
		in->file = gzdopen(fd, "rb");
	if (!in || !in->file) {
		if (fd >= 0)
			close(fd);
		free(in);
		flow_wrong(f, -err, f->from, "cannot be read: %s", strerror(err));
		return NULL;
	}
	gzbuffer(in->file, BUFFER);
	return in;
}

void input_close(struct input *in)
{
	if (!in)
		return;
	gzclose(in->file);
	free(in);
}

uint64_t input_taken(const struct input *in)
{
	z_off_t offset = gzoffset(in->file);

	return offset > 0 ? (uint64_t)offset : 0;
}

int input_wrong(struct flow *f, const struct input *in, const char *format, ...)
{
	char reason[WHY_SIZE / 2];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	return flow_wrong(f, -EINVAL, f->from, "line %" PRIu64 ": %s", in->line, reason);
}

/* Why there is no further line: 0 at the end. */
static int ended(struct flow *f, struct input *in)
{
	int number = Z_OK;
	const char *text = gzerror(in->file, &number);

	if (number == Z_OK || number == Z_STREAM_END)
		return 0;
	return flow_wrong(f, -EIO, f->from, "cannot be unpacked beyond line %" PRIu64 ": %s", in->line,
			  number == Z_ERRNO ? strerror(errno) : text);
}

int input_line(struct flow *f, struct input *in)
{
	size_t length;

	do {
		if (!gzgets(in->file, in->text, sizeof(in->text)))
			return ended(f, in);
		in->line++;
		length = strlen(in->text);
		if (length == sizeof(in->text) - 1)
			return input_wrong(f, in, "it is longer than %d bytes", INPUT_LINE - 2);
		while (length && strchr("\r\n", in->text[length - 1]))
			in->text[--length] = '\0';
	} while (!length);
	return 1;
}

static ssize_t stream_read(void *cookie, char *to, size_t size)
{
	struct input *in = cookie;

	return gzread(in->file, to, size < BUFFER ? (unsigned int)size : BUFFER);
}

static int stream_close(void *cookie)
{
	input_close(cookie);
	return 0;
}

FILE *input_stream(struct input *in)
{
	return fopencookie(in, "rb", (cookie_io_functions_t){.read = stream_read, .close = stream_close});
}
