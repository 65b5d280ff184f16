// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "top/screen.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "kernel/clock.h"

#define ESCAPE_MS   50 /* how long a lone Esc waits for the rest of a function key */
#define RESTORE_MAX 256

static SCREEN *screen;
static bool utf8, gone;
static sigset_t before; /* signals that were blocked */
static struct termios saved;
static attr_t styles[STYLES];

/* --- the ways out --- */

static volatile sig_atomic_t ended;

/* What a dying process can still write: ready beforehand, because ncurses may be the one that died. */
static char restore[RESTORE_MAX];
static size_t restore_length;

static void on_end(int number)
{
	ended = number;
}

static void on_crash(int number)
{
	ssize_t written = write(STDOUT_FILENO, restore, restore_length);

	(void)written;
	tcsetattr(STDIN_FILENO, TCSANOW, &saved);
	raise(number); /* SA_RESETHAND: this time it has its usual effect */
}

/* Without the delays that old terminals want, which are $<...>. */
static void restore_by(const char *capability)
{
	const char *text = tigetstr(capability);

	if (!text || text == (char *)-1)
		return;
	for (; *text && restore_length < RESTORE_MAX; text++) {
		const char *end = text[0] == '$' && text[1] == '<' ? strchr(text, '>') : NULL;

		if (end)
			text = end;
		else
			restore[restore_length++] = *text;
	}
}

static void catch (int number, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	sigemptyset(&action.sa_mask);
	sigaction(number, &action, NULL);
}

/*
 * After ncurses has installed its own, of which those for Ctrl-Z and for changes of size stay. What ends the
 * program is let through in screen_wait() alone, so it cannot be missed.
 */
static void catch_signals(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT, SIGSYS};
	static char stack[65536]; /* of its own: a crash may be that of the stack */
	stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
	sigset_t block;

	sigemptyset(&block);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		sigaddset(&block, ends[i]);
		catch (ends[i], on_end, 0);
	}
	sigprocmask(SIG_BLOCK, &block, &before);
	sigaltstack(&other, NULL);
	for (size_t i = 0; i < sizeof(crashes) / sizeof(*crashes); i++)
		catch (crashes[i], on_crash, (int)(SA_RESETHAND | SA_NODEFER | SA_ONSTACK));
}

int screen_signal(void)
{
	return ended;
}

/* --- taking it over --- */

static void prepare_styles(void)
{
	const char *no_color = getenv("NO_COLOR");
	bool color = has_colors() && !(no_color && *no_color) && start_color() == OK;
	bool usual = color && use_default_colors() == OK;
	short back = usual ? -1 : COLOR_BLACK;

	styles[STYLE_PLAIN] = A_NORMAL;
	styles[STYLE_HEAD] = A_BOLD;
	styles[STYLE_TITLE] = A_UNDERLINE;
	styles[STYLE_ALARM] = A_BOLD;
	styles[STYLE_WITHHELD] = A_BOLD;
	styles[STYLE_NOTICE] = A_BOLD;
	styles[STYLE_QUIET] = A_DIM;
	if (!color)
		return;
	init_pair(1, COLOR_RED, back);
	init_pair(2, COLOR_YELLOW, back);
	init_pair(3, COLOR_CYAN, back);
	styles[STYLE_ALARM] = A_BOLD | COLOR_PAIR(1);
	styles[STYLE_WITHHELD] = COLOR_PAIR(2);
	styles[STYLE_NOTICE] = COLOR_PAIR(3);
}

static int check_terminal(struct why *reason)
{
	static const char advice[] = "Set TERM to what it is (xterm-256color, screen, linux, vt100), or use "
				     "`kphi top once`, which needs no capabilities";
	const char *name = getenv("TERM");
	const char *move;
	int found;

	if (!name || !*name)
		return why(reason, -EINVAL, "TERM is not set, so what this terminal can do is unknown. %s",
			   advice);
	if (setupterm(NULL, STDOUT_FILENO, &found) != OK)
		return why(reason, -EINVAL, "TERM is '%.60s', which is unknown on this host. %s", name,
			   advice);
	move = tigetstr("cup");
	if (!move || move == (char *)-1)
		return why(reason, -EINVAL, "TERM is '%.60s', a terminal that cannot move its cursor. %s",
			   name, advice);
	return 0;
}

int screen_open(struct why *reason)
{
	int err;

	if (setlocale(LC_CTYPE, ""))
		utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	err = check_terminal(reason);
	if (err)
		return err;
	if (tcgetattr(STDIN_FILENO, &saved))
		return why(reason, -errno, "cannot read the settings of the terminal: %s", strerror(errno));
	use_tioctl(TRUE); /* LINES and COLUMNS of the environment do not follow a resize */
	set_escdelay(ESCAPE_MS);
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return why(reason, -EINVAL, "the terminal '%.60s' cannot be used", getenv("TERM"));
	restore_by("rmkx");
	restore_by("sgr0");
	restore_by("cnorm");
	restore_by("rmcup");
	catch_signals();
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	prepare_styles();
	return 0;
}

void screen_close(void)
{
	if (!screen)
		return;
	/* Where there is no other screen to go back to, the shell goes on in the last line. */
	move(LINES - 1, 0);
	clrtoeol();
	refresh();
	endwin();
	delscreen(screen);
	screen = NULL;
	if (ended)
		catch (ended, SIG_DFL, 0);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

bool screen_is_utf8(void)
{
	return utf8;
}

/* --- writing --- */

void screen_size(uint32_t *height, uint32_t *width)
{
	*height = (uint32_t)LINES;
	*width = (uint32_t)COLS;
}

void screen_begin(void)
{
	erase();
	curs_set(0);
}

void screen_line(uint32_t line, enum screen_style style, bool selected, const char *text)
{
	if (!text || line >= (uint32_t)LINES)
		return;
	attrset(styles[style] | (selected ? A_REVERSE : A_NORMAL));
	mvaddstr((int)line, 0, text);
	attrset(A_NORMAL);
}

void screen_cursor(uint32_t line, uint32_t column)
{
	curs_set(1);
	move((int)line, column < (uint32_t)COLS ? (int)column : COLS - 1);
}

void screen_show(void)
{
	refresh();
}

/* --- reading --- */

/* A stopped program hears of no change of size, so it is looked at after every wait. */
static void follow_size(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col)
		return;
	if (size.ws_row == LINES && size.ws_col == COLS)
		return;
	resizeterm(size.ws_row, size.ws_col);
	clearok(curscr, TRUE);
}

bool screen_wait(uint64_t until_ns)
{
	struct pollfd keys = {.fd = STDIN_FILENO, .events = POLLIN};
	uint64_t now_ns = clock_monotonic_ns(), left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	struct timespec left = {.tv_sec = (time_t)(left_ns / 1000000000),
				.tv_nsec = (long)(left_ns % 1000000000)};

	if (ppoll(&keys, 1, &left, &before) > 0 && keys.revents & (POLLHUP | POLLERR | POLLNVAL))
		gone = true;
	follow_size();
	return !ended && !gone;
}

int screen_key(void)
{
	int key = getch();

	return key == ERR ? -1 : key;
}
