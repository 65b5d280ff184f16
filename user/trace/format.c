// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which format has a file? What it begins with tells more than its name. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "trace/flow.h"

#define BEGINNING 4096

const char *const format_names[FORMATS + 1] = {
	[FORMAT_TRACE] = "trace",         [FORMAT_PCAP] = "pcap",
	[FORMAT_PCAPNG] = "pcapng",       [FORMAT_CSV] = "csv",
	[FORMAT_GAPS_US] = "gaps-us",     [FORMAT_GAPS_MS] = "gaps-ms",
	[FORMAT_CASSANDRA] = "cassandra",
};

static const struct {
	const char *ending;
	enum trace_format format;
} endings[] = {
	{".trace", FORMAT_TRACE},   {".kphi", FORMAT_TRACE},    {".pcap", FORMAT_PCAP},
	{".cap", FORMAT_PCAP},      {".pcapng", FORMAT_PCAPNG}, {".csv", FORMAT_CSV},
	{".dat", FORMAT_CASSANDRA}, {"us.txt", FORMAT_GAPS_US}, {"ms.txt", FORMAT_GAPS_MS},
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static int by_name(const char *path)
{
	size_t length = strlen(path);

	if (length > 3 && !strcmp(path + length - 3, ".gz"))
		length -= 3;
	for (size_t i = 0; i < LENGTH(endings); i++) {
		size_t size = strlen(endings[i].ending);

		if (length >= size && !strncmp(path + length - size, endings[i].ending, size))
			return endings[i].format;
	}
	return -EINVAL;
}

int format_of_name(const char *path, char *why, size_t size)
{
	int format = by_name(path);

	if (format >= 0)
		return format;
	return refuse(-EINVAL, why, size,
		      "%s: its name does not tell which format it is to have: say so with `to FORMAT`", path);
}

static bool begins(const uint8_t *bytes, size_t size, const char *magic, size_t length)
{
	return size >= length && !memcmp(bytes, magic, length);
}

static int by_magic(const uint8_t *bytes, size_t size)
{
	static const struct {
		const char *magic;
		size_t length;
		enum trace_format format;
	} magics[] = {
		{TRACE_MAGIC, 8, FORMAT_TRACE},       {"\xd4\xc3\xb2\xa1", 4, FORMAT_PCAP},
		{"\xa1\xb2\xc3\xd4", 4, FORMAT_PCAP}, {"\x4d\x3c\xb2\xa1", 4, FORMAT_PCAP},
		{"\xa1\xb2\x3c\x4d", 4, FORMAT_PCAP}, {"\x0a\x0d\x0d\x0a", 4, FORMAT_PCAPNG},
		{"----------", 10, FORMAT_CASSANDRA},
	};

	for (size_t i = 0; i < LENGTH(magics); i++)
		if (begins(bytes, size, magics[i].magic, magics[i].length))
			return magics[i].format;
	return -EINVAL;
}

/* Lines of numbers are gaps, but only a name tells their unit; lines with commas are CSV. */
static int by_text(const uint8_t *bytes, size_t size, const char *path, char *why, size_t why_size)
{
	size_t line = 0;

	while (line < size && bytes[line] != '\n')
		line++;
	for (size_t i = 0; i < line; i++)
		if (!isprint(bytes[i]) && !isspace(bytes[i]) && bytes[i] < 0x80)
			return refuse(-EINVAL, why, why_size,
				      "%s: it is neither a trace nor any other format that kphi knows", path);
	if (memchr(bytes, ',', line))
		return FORMAT_CSV;
	if (line && isdigit(bytes[0]))
		return refuse(-EINVAL, why, why_size,
			      "%s: it seems to be a list of gaps, but in which unit? Say `from gaps-us` or "
			      "`from gaps-ms`",
			      path);
	return refuse(-EINVAL, why, why_size, "%s: its format cannot be guessed%s: say so with `from FORMAT`",
		      path, size ? "" : ", for it is empty");
}

/* What the first bytes are, unpacked; how many, or -errno. */
static int peek(const char *path, uint8_t bytes[BEGINNING])
{
	gzFile file = gzopen(path, "rbe");
	int got;

	if (!file)
		return errno ? -errno : -ENOMEM;
	errno = 0;
	got = gzread(file, bytes, BEGINNING);
	if (got < 0)
		got = errno ? -errno : -EIO;
	gzclose(file);
	return got;
}

int format_guess(const char *path, char *why, size_t size)
{
	uint8_t bytes[BEGINNING];
	int got, format;

	if (!strcmp(path, "-"))
		return refuse(-EINVAL, why, size,
			      "standard input may be anything: say what it is with `from FORMAT`");
	got = peek(path, bytes);
	if (got < 0)
		return refuse(got, why, size, "%s: cannot be read: %s", path, strerror(-got));
	format = by_magic(bytes, (size_t)got);
	if (format >= 0)
		return format;
	format = by_name(path);
	if (format == FORMAT_CSV || format == FORMAT_GAPS_US || format == FORMAT_GAPS_MS)
		return format;
	return by_text(bytes, (size_t)got, path, why, size);
}
