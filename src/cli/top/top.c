/* SPDX-License-Identifier: MIT */
/* cli/top/top.c -- the loop of `top`: signals, keys, the stream of a server, time.  See top.h. */
#include "cli/top/top.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define READ_MS    1000 /* between two readings */
#define TYPED_MS   150  /* after a change of the filter */
#define ESCAPE_MS  50   /* when no byte follows for this long, ESC is a key */
#define MESSAGE_MS 6000

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP, SIGCONT};

/* What the loop waits for. */
struct sources {
    int signals; /* signalfd */
    int either;  /* epoll of signals and keys: ends a call that waits */
    sigset_t before;
};

void top_say(struct top *t, bool bad, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(t->message, sizeof(t->message), format, args);
    va_end(args);
    t->bad_message = bad;
    t->message_until = clock_mono_ms() + MESSAGE_MS;
}

/* ---- Reading ------------------------------------------------------------------------------- */

/* The cursor follows its instance to its new line. */
static void find_cursor(struct top *t)
{
    size_t problems = t->view.problem_count, all = problems + t->view.row_count;
    for (size_t i = 0; t->cursor_id[0] && i < t->view.row_count; i++)
        if (pawl_str_is(t->view.rows[i].id, t->cursor_id)) {
            t->cursor = problems + i;
            return;
        }
    if (t->cursor >= all)
        t->cursor = all ? all - 1 : 0;
}

static void note_cursor(struct top *t)
{
    const struct top_row *row = top_row_at(t);
    (void)snprintf(t->cursor_id, sizeof(t->cursor_id), "%s", row ? row->id.ptr : "");
}

static void read_what_changed(struct top *t)
{
    int64_t now = clock_mono_ms();
    if (t->page == TOP_INSTANCE && t->open_dirty && now >= t->read_at && top_read_instance(t)) {
        t->open_dirty = false;
        t->read_at = now + READ_MS;
    }
    if (t->page == TOP_MAIN && t->dirty && now >= t->read_at) {
        bool first = !t->view.known;
        if (top_read(t)) {
            t->dirty =
                t->session->remote && !t->view.exact; /* the server is still counting: ask again */
            find_cursor(t);
            if (first)
                t->cursor = t->view.problem_count; /* the first instance */
            note_cursor(t);
        }
        t->read_at = clock_mono_ms() + READ_MS;
    }
    if (t->page == TOP_MAIN && t->view.known && !t->gone)
        top_read_waits(t);
}

static void on_change(void *arg, const char *event, pawl_str data)
{
    struct top *t = arg;
    t->dirty = true;
    if (strcmp(event, "changes") != 0 || changes_tell_of(data, t->open_id))
        t->open_dirty = true;
    if (strcmp(event, "open") == 0)
        t->read_at = 0;
}

static void hear(struct top *t)
{
    int64_t now = clock_mono_ms();
    bool tries = !t->changes.open && now >= t->changes.again_ms;
    if (t->session->remote) {
        changes_hear(&t->changes, now, on_change, t);
        if (tries && !t->changes.open) /* without a stream: when it is tried again */
            t->dirty = t->open_dirty = true;
    } else if (now >= t->read_at && top_store_changed(t)) {
        t->dirty = t->open_dirty = true;
    }
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static void move_cursor(struct top *t, int64_t by)
{
    int64_t all = (int64_t)(t->view.problem_count + t->view.row_count);
    int64_t at = (int64_t)t->cursor + by;
    t->cursor = at < 0 || !all ? 0 : at >= all ? (size_t)all - 1 : (size_t)at;
    note_cursor(t);
}

static void scroll_by(struct top *t, int64_t by)
{
    int64_t at = (int64_t)t->scroll + by;
    t->scroll = at < 0 ? 0 : at > INT32_MAX ? INT32_MAX : (unsigned)at;
}

/* True: the key moved the cursor. */
static bool move(struct top *t, enum key key)
{
    int64_t page = t->page == TOP_MAIN && t->row_space ? t->row_space : t->screen.rows / 2;
    int64_t by = key == KEY_UP          ? -1
                 : key == KEY_DOWN      ? 1
                 : key == KEY_PAGE_UP   ? -page
                 : key == KEY_PAGE_DOWN ? page
                 : key == KEY_HOME      ? INT32_MIN
                 : key == KEY_END       ? INT32_MAX
                                        : 0;
    if (!by)
        return false;
    if (t->page == TOP_INSTANCE)
        scroll_by(t, by);
    else
        move_cursor(t, by);
    return true;
}

static void look_again(struct top *t, int64_t after_ms)
{
    t->dirty = true;
    t->read_at = clock_mono_ms() + after_ms;
}

/* The instances that have the problem: of its orchestration, in its state. */
static void open_problem(struct top *t, const struct top_problem *p)
{
    for (int i = PAWL_PENDING; i < PAWL_CONTINUED_AS_NEW; i++)
        if (pawl_str_is(p->kind, pawl_state_name((pawl_state)i)))
            t->state = i + 1;
    if (p->orchestration.len)
        (void)snprintf(t->filter, sizeof(t->filter), "@%.*s", PAWL_FMT(p->orchestration));
    (void)snprintf(t->cursor_id, sizeof(t->cursor_id), "%.*s", PAWL_FMT(p->instance));
    look_again(t, 0);
}

static void open_chosen(struct top *t)
{
    const struct top_row *row = top_row_at(t);
    const struct top_problem *problem = top_problem_at(t);
    if (problem)
        open_problem(t, problem);
    if (!row)
        return;
    (void)snprintf(t->open_id, sizeof(t->open_id), "%.*s", PAWL_FMT(row->id));
    paper_close(&t->open);
    paper_open(&t->open, t->cli, t->open_mem, t->screen.columns);
    t->why = (pawl_str){0};
    t->open_ms = 0;
    t->page = TOP_INSTANCE;
    t->scroll = 0;
    t->open_dirty = true;
    t->read_at = 0;
}

static void go_back(struct top *t)
{
    if (t->page == TOP_MAIN && (t->filter[0] || t->filtering)) {
        t->filter[0] = 0;
        look_again(t, 0);
    } else if (t->page != TOP_MAIN) {
        look_again(t, 0);
    }
    t->page = TOP_MAIN;
    t->filtering = false;
}

static void next_state(struct top *t, int by)
{
    t->state = (t->state + by + PAWL_CONTINUED_AS_NEW + 1) % (PAWL_CONTINUED_AS_NEW + 1);
    t->cursor_id[0] = 0;
    look_again(t, 0);
}

static void on_letter(struct top *t, const char *text)
{
    static const struct {
        char letter;
        pawl_op op;
    } deeds[] = {
        {'c', PAWL_OP_CANCEL   },
        {'x', PAWL_OP_TERMINATE},
        {'s', PAWL_OP_SUSPEND  },
        {'r', PAWL_OP_RESUME   },
        {'t', PAWL_OP_RETRY    },
        {'e', PAWL_OP_RAISE    },
    };
    if (text[0] == 'q')
        t->quit = true;
    else if (text[0] == '?')
        t->help_from = t->page, t->page = TOP_HELP;
    else if (text[0] == '/' && t->page == TOP_MAIN)
        t->filtering = true;
    else if (text[0] == 'j' || text[0] == 'k')
        (void)move(t, text[0] == 'j' ? KEY_DOWN : KEY_UP);
    for (size_t i = 0; i < COUNT_OF(deeds); i++)
        if (text[0] == deeds[i].letter)
            top_ask(t, deeds[i].op);
}

static void on_filter_key(struct top *t, const struct key_press *press)
{
    if (press->key == KEY_ESCAPE) {
        go_back(t);
    } else if (press->key == KEY_ENTER || move(t, press->key)) {
        t->filtering = false;
    } else if (top_edit(t->filter, press)) {
        t->cursor_id[0] = 0;
        look_again(t, TYPED_MS);
    }
}

static void on_key(struct top *t, const struct key_press *press)
{
    if (press->key == KEY_INTERRUPT)
        t->quit = true;
    else if (press->key == KEY_STOP)
        screen_stop(&t->screen);
    else if (press->key == KEY_REDRAW)
        screen_measure(&t->screen);
    else if (t->question.on)
        top_answer(t, press);
    else if (t->filtering)
        on_filter_key(t, press);
    else if (t->page == TOP_HELP && !(press->key == KEY_TEXT && press->text[0] == 'q'))
        t->page = t->help_from;
    else if (press->key == KEY_TEXT)
        on_letter(t, press->text);
    else if (press->key == KEY_ENTER && t->page == TOP_MAIN)
        open_chosen(t);
    else if (press->key == KEY_ESCAPE || press->key == KEY_LEFT || press->key == KEY_ERASE)
        go_back(t);
    else if (press->key == KEY_TAB || press->key == KEY_BACK_TAB)
        next_state(t, press->key == KEY_TAB ? 1 : -1);
    else
        (void)move(t, press->key);
}

/* `whole`: no more bytes came for a while.  False: the terminal is gone. */
static bool take_keys(struct top *t, bool whole)
{
    size_t room = sizeof(t->input) - t->input_count, at = 0;
    ssize_t n = whole ? 0 : read(STDIN_FILENO, t->input + t->input_count, room);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        return false;
    t->input_count += n > 0 ? (size_t)n : 0;
    while (at < t->input_count && !t->quit) {
        struct key_press press = key_read(t->input + at, t->input_count - at,
                                          whole || t->input_count == sizeof(t->input));
        if (!press.used)
            break;
        at += press.used;
        if (press.key != KEY_NONE)
            on_key(t, &press);
    }
    memmove(t->input, t->input + at, t->input_count - at);
    t->input_count -= at;
    return true;
}

/* ---- Waiting ------------------------------------------------------------------------------------ */

static void take_signals(struct top *t, const struct sources *s, int *status)
{
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof(info)) == sizeof(info))
        switch (info.ssi_signo) {
        case SIGWINCH:
        case SIGCONT:
            screen_measure(&t->screen);
            t->open_dirty = true; /* lines of another width */
            break;
        case SIGTSTP:
            screen_stop(&t->screen);
            break;
        default:
            t->quit = true;
            *status = info.ssi_signo == SIGINT ? EXIT_OK : EXIT_INTERRUPTED + (int)info.ssi_signo;
        }
}

/* Until the next second, reading or try. */
static int64_t time_left(const struct top *t)
{
    int64_t now = clock_mono_ms(), left = 1000 - top_now_ms(t) % 1000;
    bool wants = t->page == TOP_INSTANCE ? t->open_dirty : t->dirty;
    if (wants && t->read_at - now < left)
        left = t->read_at - now;
    if (t->session->remote && !t->changes.open && t->changes.again_ms - now < left)
        left = t->changes.again_ms - now;
    if (t->input_count && left > ESCAPE_MS)
        left = ESCAPE_MS;
    return left > 0 ? left : 0;
}

static void draw(struct top *t)
{
    struct paper p;
    pawl_mem *mem = pawl_mem_new();
    paper_open(&p, t->cli, mem, t->screen.columns);
    top_draw(t, &p, t->screen.rows);
    screen_show(&t->screen, &p);
    paper_close(&p);
    pawl_mem_free(mem);
}

static int run(struct top *t, const struct sources *s)
{
    int status = EXIT_OK;
    while (!t->quit) {
        hear(t);
        read_what_changed(t);
        draw(t);
        struct pollfd fds[] = {
            {.fd = s->signals,              .events = POLLIN},
            {.fd = STDIN_FILENO,            .events = POLLIN},
            {.fd = changes_fd(&t->changes), .events = POLLIN},
        };
        int n = poll(fds, COUNT_OF(fds), (int)time_left(t));
        if (n < 0 && errno != EINTR)
            return cli_fail(t->cli, EXIT_NO_STORE, "poll: %s", strerror(errno));
        if (fds[0].revents)
            take_signals(t, s, &status);
        if (fds[1].revents & (POLLHUP | POLLERR | POLLNVAL))
            return EXIT_INTERRUPTED + SIGHUP; /* the terminal is gone */
        if ((fds[1].revents || t->input_count) && !take_keys(t, !fds[1].revents))
            return EXIT_INTERRUPTED + SIGHUP;
    }
    return status;
}

/* ---- Begin and end ------------------------------------------------------------------------------ */

void top_patience(struct top *t)
{
    if (t->session->remote)
        http_patience(t->session->remote, TOP_CALL_MS, t->either);
}

static int open_sources(struct top *t, struct sources *s)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        sigaddset(&set, signals[i]);
    pthread_sigmask(SIG_BLOCK, &set, &s->before);
    s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    s->either = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event keys = {.events = EPOLLIN}, news = {.events = EPOLLIN};
    if (s->signals < 0 || s->either < 0 ||
        epoll_ctl(s->either, EPOLL_CTL_ADD, s->signals, &news) != 0 ||
        epoll_ctl(s->either, EPOLL_CTL_ADD, STDIN_FILENO, &keys) != 0)
        return cli_fail(t->cli, EXIT_NO_STORE, "no file descriptor left: %s", strerror(errno));
    t->either = s->either;
    if (t->changes.http)
        http_patience(t->changes.http, TOP_CALL_MS, s->either);
    top_patience(t);
    return 0;
}

static void close_sources(struct sources *s)
{
    if (s->signals >= 0)
        close(s->signals);
    if (s->either >= 0)
        close(s->either);
    pthread_sigmask(SIG_SETMASK, &s->before, NULL);
}

static int on_screen(struct top *t)
{
    struct sources s = {.signals = -1, .either = -1};
    int status = open_sources(t, &s);
    if (!status && !screen_open(&t->screen))
        status = cli_fail(t->cli, EXIT_USAGE, "the terminal cannot be used: %s", strerror(errno));
    if (!status)
        status = run(t, &s);
    screen_close(&t->screen);
    close_sources(&s);
    return status;
}

/* One screen on standard output. */
static int once(struct top *t)
{
    struct paper p;
    unsigned width = out_width();
    pawl_mem *mem = pawl_mem_new();
    paper_open(&p, t->cli, mem, width ? width : 80);
    t->screen = (struct screen){.rows = 24, .columns = p.width};
    t->changes.open = t->session->remote != NULL;
    bool ok = top_read(t);
    t->cursor = SIZE_MAX; /* on nothing */
    if (ok) {
        t->row_space = t->screen.rows;
        top_read_waits(t);
        top_draw(t, &p, t->screen.rows);
        (void)fwrite(p.ink.ptr, 1, p.ink.len, stdout);
    }
    paper_close(&p);
    pawl_mem_free(mem);
    return ok ? EXIT_OK : cli_fail(t->cli, EXIT_NO_STORE, "%s", t->trouble);
}

int top_run(struct cli *cli, struct session *session)
{
    struct top *t = calloc(1, sizeof(*t));
    assert_that(t);
    *t = (struct top){.cli = cli,
                      .session = session,
                      .dirty = true,
                      .either = -1,
                      .state = PAWL_RUNNING + 1,
                      .view = {.mem = pawl_mem_new()},
                      .open_mem = pawl_mem_new()};
    paper_open(&t->open, cli, t->open_mem, 0);
    t->file = session->remote ? NULL : session_file(cli);
    int status = 0;
    if (session->remote)
        status = changes_begin(&t->changes, cli, http_url(session->remote));
    if (!status)
        status = cli->args.one_screen ? once(t) : on_screen(t);
    if (session->remote)
        changes_end(&t->changes);
    paper_close(&t->open);
    pawl_mem_free(t->open_mem);
    pawl_mem_free(t->view.mem);
    free(t);
    return status;
}
