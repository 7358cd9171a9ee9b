/* SPDX-License-Identifier: MIT */
/*
 * trial/trap.c -- see trap.h.  Called by the child process of a seed, before it begins.
 */
#include "trial/trap.h"

#include "base/attr.h"
#include "engine/engine.h"
#include "runtime/core/registry.h"
#include "trial/dice.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static struct dice answers;
static const char *sprung;
static void *sprung_at;

/* True when orchestration code asks. */
static bool springs(const char *name, void *site)
{
    if (!engine_on_fiber())
        return false;
    sprung = name;
    sprung_at = site;
    return true;
}

#define SITE __builtin_return_address(0)

/* X(result, name, parameters, arguments, what orchestration code gets).  Others get the
 * real function, by an address taken before the tables were changed. */
#define TRAPS(X)                                                                                   \
    X(time_t, time, (time_t * to), (to), give_time(to))                                            \
    X(int, gettimeofday, (struct timeval * to, void *zone), (to, zone), give_timeval(to))          \
    X(int, clock_gettime, (clockid_t which, struct timespec * to), (which, to), give_timespec(to)) \
    X(clock_t, clock, (void), (), (clock_t)dice_below(&answers, 1000000000))                       \
    X(int, rand, (void), (), (int)dice_below(&answers, 0x7fffffff))                                \
    X(long, random, (void), (), (long)dice_below(&answers, 0x7fffffff))                            \
    X(double, drand48, (void), (), (double)dice_below(&answers, 1 << 30) / (1 << 30))              \
    X(ssize_t, getrandom, (void *to, size_t n, unsigned flags), (to, n, flags), give_bytes(to, n)) \
    X(pid_t, getpid, (void), (), (pid_t)dice_below(&answers, 30000))

/* Some moment of the last years, another one each time. */
static time_t some_second(void)
{
    return (time_t)(1600000000 + dice_below(&answers, 100000000));
}

static time_t give_time(time_t *to)
{
    time_t now = some_second();
    if (to)
        *to = now;
    return now;
}

static int give_timeval(struct timeval *to)
{
    *to = (struct timeval){some_second(), (suseconds_t)dice_below(&answers, 1000000)};
    return 0;
}

static int give_timespec(struct timespec *to)
{
    *to = (struct timespec){some_second(), (long)dice_below(&answers, 1000000000)};
    return 0;
}

static ssize_t give_bytes(unsigned char *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (unsigned char)dice_next(&answers);
    return (ssize_t)n;
}

#define TRAP_FUNCTION(result, name, parameters, arguments, given)                                  \
    static __typeof__(name) *real_##name;                                                          \
    static result trap_##name parameters                                                           \
    {                                                                                              \
        if (springs(#name, SITE))                                                                  \
            return (given);                                                                        \
        return real_##name arguments;                                                              \
    }
TRAPS(TRAP_FUNCTION)
#undef TRAP_FUNCTION

static const struct {
    const char *name;
    void (*fn)(void);
    void *real; /* where its address is kept */
} traps[] = {
#define TRAP_ROW(result, name, parameters, arguments, given)                                       \
    {#name, (void (*)(void))trap_##name, &real_##name},
    TRAPS(TRAP_ROW)
#undef TRAP_ROW
};

/* False when there is nothing to fall back on. */
static bool find_real(void)
{
    for (size_t k = 0; k < COUNT_OF(traps); k++) {
        void *real = dlsym(RTLD_NEXT, traps[k].name);
        if (!real)
            return false;
        memcpy(traps[k].real, &real, sizeof(real));
    }
    return true;
}

/* ---- Import tables -------------------------------------------------------------------------- */

/* What the dynamic section of an object says. */
struct object {
    ElfW(Addr) base;
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Rela) * rela, *jumps;
    size_t rela_bytes, jump_bytes;
};

static void read_object(const struct link_map *map, struct object *o)
{
    *o = (struct object){.base = map->l_addr};
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        ElfW(Addr) address = d->d_un.d_ptr < o->base ? o->base + d->d_un.d_ptr : d->d_un.d_ptr;
        const void *at = (const void *)address;
        switch (d->d_tag) {
        case DT_SYMTAB:
            o->symbols = at;
            break;
        case DT_STRTAB:
            o->strings = at;
            break;
        case DT_RELA:
            o->rela = at;
            break;
        case DT_RELASZ:
            o->rela_bytes = d->d_un.d_val;
            break;
        case DT_JMPREL:
            o->jumps = at;
            break;
        case DT_PLTRELSZ:
            o->jump_bytes = d->d_un.d_val;
            break;
        default:
            break;
        }
    }
}

static void put(void **slot, void (*fn)(void))
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *start = (void *)((uintptr_t)slot / page * page);
    if (mprotect(start, page, PROT_READ | PROT_WRITE) == 0)
        *slot = (void *)(uintptr_t)fn;
}

static bool holds(void *const *slot, const void *real)
{
    return memcmp(slot, real, sizeof(*slot)) == 0;
}

/* `sure`: every entry is an address of a function (PLT); else look what it holds now. */
static void patch(const struct object *o, const ElfW(Rela) * list, size_t bytes, bool sure)
{
    for (size_t i = 0; list && i < bytes / sizeof(*list); i++) {
        size_t number = ELF64_R_SYM(list[i].r_info);
        const char *name = number ? o->strings + o->symbols[number].st_name : "";
        void **slot = (void **)(o->base + list[i].r_offset);
        for (size_t k = 0; k < COUNT_OF(traps); k++)
            if (strcmp(name, traps[k].name) == 0 && (sure || holds(slot, traps[k].real)))
                put(slot, traps[k].fn);
    }
}

void trap_set(pawl_app *app, uint64_t seed)
{
    answers = dice_of(seed, "trap");
    sprung = NULL;
    if (!find_real())
        return;
    for (size_t i = 0; i < app->all_code.count; i++) {
        Dl_info info;
        struct link_map *map = NULL;
        struct object o;
        void *code = (void *)(uintptr_t)app->all_code.items[i]->fn;
        if (!dladdr1(code, &info, (void **)&map, RTLD_DL_LINKMAP) || !map || !map->l_ld)
            continue;
        read_object(map, &o);
        if (!o.symbols || !o.strings)
            continue;
        patch(&o, o.jumps, o.jump_bytes, true);
        patch(&o, o.rela, o.rela_bytes, false);
    }
}

const char *trap_sprung(void **retsite)
{
    *retsite = sprung_at;
    return sprung;
}
