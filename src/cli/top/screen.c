/* SPDX-License-Identifier: MIT */
/* cli/top/screen.c -- see screen.h. */
#include "cli/top/screen.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* Another screen, no cursor, no wrap at the edge; and back. */
#define TAKE          "\033[?1049h\033[?25l\033[?7l\033[2J"
#define GIVE          "\033[0m\033[?7h\033[?25h\033[?1049l"

#define SIZE_MAX_SIDE 1000
#define WRITE_MS      10000 /* a terminal that takes nothing meanwhile is gone */

static const int faults[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};

static struct termios before;       /* modes of the terminal */
static volatile sig_atomic_t taken; /* they are ours now */
static struct sigaction old[COUNT_OF(faults)];

static void write_all(const char *bytes, size_t n)
{
    while (n) {
        ssize_t done = write(STDOUT_FILENO, bytes, n);
        if (done > 0) {
            bytes += done;
            n -= (size_t)done;
        } else if (errno == EAGAIN) {
            struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};
            if (poll(&p, 1, WRITE_MS) <= 0)
                return;
        } else if (errno != EINTR) {
            return;
        }
    }
}

/* Safe inside a handler. */
static void give_back(void)
{
    if (!taken)
        return;
    taken = 0;
    write_all(GIVE, sizeof(GIVE) - 1);
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

static void on_fault(int number)
{
    give_back();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void guard_faults(bool on)
{
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        if (on)
            (void)sigaction(faults[i], &action, &old[i]);
        else
            (void)sigaction(faults[i], &old[i], NULL);
    }
}

static bool take(void)
{
    struct termios raw = before;
    raw.c_iflag &= ~(tcflag_t)(ICRNL | IXON | ISTRIP | INLCR | IGNCR);
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) != 0)
        return false;
    taken = 1;
    write_all(TAKE, sizeof(TAKE) - 1);
    return true;
}

bool screen_open(struct screen *s)
{
    *s = (struct screen){0};
    if (tcgetattr(STDIN_FILENO, &before) != 0)
        return false;
    guard_faults(true);
    s->on = take();
    if (s->on)
        screen_measure(s);
    else
        guard_faults(false);
    return s->on;
}

static void forget(struct screen *s)
{
    for (unsigned i = 0; i < s->shown_rows; i++)
        free(s->shown[i]);
    free(s->shown);
    s->shown = NULL;
    s->shown_rows = 0;
}

void screen_close(struct screen *s)
{
    if (!s->on)
        return;
    give_back();
    guard_faults(false);
    forget(s);
    s->on = false;
}

void screen_stop(struct screen *s)
{
    sigset_t set, all;
    give_back();
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    (void)pthread_sigmask(SIG_UNBLOCK, &set, &all);
    (void)raise(SIGTSTP); /* returns when the shell lets it continue */
    (void)pthread_sigmask(SIG_SETMASK, &all, NULL);
    (void)tcgetattr(STDIN_FILENO, &before); /* the shell may have changed them */
    (void)take();
    screen_measure(s);
}

void screen_measure(struct screen *s)
{
    struct winsize size = {0};
    forget(s);
    (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    s->rows = size.ws_row ? size.ws_row : 24;
    s->columns = size.ws_col ? size.ws_col : 80;
    s->rows = s->rows < SIZE_MAX_SIDE ? s->rows : SIZE_MAX_SIDE;
    s->columns = s->columns < SIZE_MAX_SIDE ? s->columns : SIZE_MAX_SIDE;
    s->shown = calloc(s->rows, sizeof(*s->shown));
    s->shown_rows = s->shown ? s->rows : 0;
}

void screen_show(struct screen *s, const struct paper *p)
{
    struct buf out;
    buf_init(&out, PAPER_MAX);
    for (unsigned i = 0; i < s->shown_rows; i++) {
        pawl_str row = paper_row(p, i);
        if (s->shown[i] && pawl_str_is(row, s->shown[i]))
            continue;
        free(s->shown[i]);
        s->shown[i] = strndup(row.ptr, row.len);
        buf_printf(&out, "\033[%u;1H", i + 1);
        buf_str(&out, row);
        buf_puts(&out, "\033[0m\033[K");
    }
    if (out.len)
        write_all(out.ptr, out.len);
    buf_deinit(&out);
}
