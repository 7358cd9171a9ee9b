/* SPDX-License-Identifier: MIT */
/* runtime/core/slots.c -- see slots.h. */
#include "runtime/core/slots.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC        UINT64_C(0x3374736c77617001) /* "\1pawlst3" */
#define CULPRIT_TURN UINT64_MAX

struct page {
    uint64_t magic;
    uint64_t clean;
    uint64_t culprit; /* work id or CULPRIT_TURN; 0: not known */
    uint64_t turn_uid;
    uint64_t turn_item;
    uint64_t work[SLOTS_WORKERS];
    uint64_t boot; /* of the machine; 0: not known */
    struct {
        uint64_t id;
        uint64_t times;
    } several[SLOTS_WORKERS]; /* how often it was among several that ran at the end */
    char text[SLOTS_TEXT];
};
_Static_assert(offsetof(struct page, boot) == SLOTS_BOOT_AT, "a test writes there");

struct slots {
    volatile struct page *page;
    int fd; /* -1: plain memory */
};

/* What this thread would be blamed for; initial-exec: read in signal handlers. */
static __thread struct {
    volatile struct page *page;
    uint64_t culprit;
} here __attribute__((tls_model("initial-exec")));

static void enter(struct slots *s, uint64_t culprit)
{
    here.page = culprit ? s->page : NULL;
    here.culprit = culprit;
}

void slots_fault(void)
{
    if (here.page)
        here.page->culprit = here.culprit;
}

void slots_fault_turn(struct slots *s)
{
    if (s)
        s->page->culprit = CULPRIT_TURN;
}

void slots_say(const char *text)
{
    if (here.page)
        for (size_t i = 0; i + 1 < SLOTS_TEXT; i++)
            if (!(here.page->text[i] = text[i]))
                break;
}

/* Another number after each start of the machine. */
static uint64_t boot_number(void)
{
    char text[64] = "";
    uint64_t n = 0;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
    if (fd >= 0)
        close(fd);
    for (ssize_t i = 0; i < got; i++)
        n = n * 31 + (unsigned char)text[i];
    return n;
}

static uint32_t times_of(const volatile struct page *page, uint64_t id)
{
    for (size_t i = 0; i < SLOTS_WORKERS && page->several[i].id; i++)
        if (page->several[i].id == id)
            return (uint32_t)page->several[i].times;
    return 0;
}

static void read_past(const volatile struct page *page, struct slots_past *past)
{
    memset(past, 0, sizeof(*past));
    if (page->magic != MAGIC || page->clean)
        return;
    past->unclean = true;
    past->known = page->culprit != 0;
    past->rebooted = !past->known && page->boot && page->boot != boot_number();
    for (size_t i = 0; i + 1 < SLOTS_TEXT && page->text[i]; i++)
        past->text[i] = page->text[i];
    bool turn = !page->culprit || page->culprit == CULPRIT_TURN;
    past->turn_uid = turn ? page->turn_uid : 0;
    past->turn_item = turn ? page->turn_item : 0;
    for (size_t i = 0; i < SLOTS_WORKERS; i++)
        if (page->work[i] && (!page->culprit || page->culprit == page->work[i]))
            past->work[past->work_count++] = page->work[i];
    past->several = !past->known && past->work_count + (past->turn_uid != 0) > 1;
    for (size_t i = 0; i < past->work_count && past->several; i++)
        past->times[i] = times_of(page, past->work[i]) + !past->rebooted;
}

struct slots *slots_open(const char *dir, struct slots_past *past)
{
    struct slots *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->fd = -1;
    memset(past, 0, sizeof(*past));
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    if (dir) {
        char path[4096];
        (void)snprintf(path, sizeof(path), "%s/slots", dir);
        s->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        flags = MAP_SHARED;
        /* Real blocks: writing to a hole on a full disk is a SIGBUS. */
        if (s->fd < 0 || posix_fallocate(s->fd, 0, sizeof(struct page)) != 0)
            goto fail;
    }
    void *page = mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE, flags, s->fd, 0);
    if (page == MAP_FAILED)
        goto fail;
    s->page = page;
    read_past(s->page, past);
    return s;
fail:
    if (s->fd >= 0)
        close(s->fd);
    free(s);
    return NULL;
}

void slots_begin(struct slots *s, const struct slots_past *past)
{
    if (!s)
        return;
    memset((void *)(size_t)s->page, 0, sizeof(struct page));
    for (size_t i = 0; past && past->several && i < past->work_count; i++) {
        s->page->several[i].id = past->work[i];
        s->page->several[i].times = past->times[i];
    }
    s->page->boot = boot_number();
    s->page->magic = MAGIC;
}

void slots_absolve(struct slots *s)
{
    if (s)
        s->page->clean = true;
}

void slots_close(struct slots *s, bool clean)
{
    if (!s)
        return;
    if (clean)
        s->page->clean = true;
    (void)munmap((void *)(size_t)s->page, sizeof(struct page));
    if (s->fd >= 0)
        close(s->fd);
    free(s);
}

void slots_turn(struct slots *s, uint64_t uid, uint64_t item)
{
    if (!s)
        return;
    s->page->turn_item = item;
    s->page->turn_uid = uid;
    enter(s, uid ? CULPRIT_TURN : 0);
}

void slots_work(struct slots *s, uint32_t worker, uint64_t work_id)
{
    if (!s || worker >= SLOTS_WORKERS)
        return;
    __atomic_store_n(&s->page->work[worker], work_id, __ATOMIC_RELAXED);
    enter(s, work_id);
}

static bool has_work(const volatile struct page *page, uint64_t work_id)
{
    for (size_t i = 0; i < SLOTS_WORKERS; i++)
        if (__atomic_load_n(&page->work[i], __ATOMIC_RELAXED) == work_id)
            return true;
    return false;
}

bool slots_runs(const struct slots *s, uint64_t work_id)
{
    return s && has_work(s->page, work_id);
}

bool slots_ran(const char *dir, uint64_t work_id)
{
    char path[4096];
    struct stat st;
    void *page = MAP_FAILED;
    (void)snprintf(path, sizeof(path), "%s/slots", dir ? dir : ".");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size >= (off_t)sizeof(struct page))
        page = mmap(NULL, sizeof(struct page), PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (page == MAP_FAILED)
        return false;
    const volatile struct page *p = page;
    bool ran = p->magic == MAGIC && !p->clean && has_work(p, work_id);
    (void)munmap(page, sizeof(struct page));
    return ran;
}
