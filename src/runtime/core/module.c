/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/module.c -- load orchestrations and activities from a shared object.
 *
 * The file is copied into memory first and the copy is opened: replacing the
 * file, even in place, never touches running code, and the same path can be
 * loaded again with newer versions.  Handles stay open until the app is freed.
 */
#include "base/limits.h"
#include "base/misuse.h"
#include "base/read_file.h"
#include "base/vec.h"
#include "runtime/core/registry.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define CUT_OFF "the file ends too early; copy it again"

static pawl_status bad(pawl_error *err, const char *path, const char *why)
{
    error_set(err, PAWL_INVALID, "cannot load module %s: %s", path, why);
    return PAWL_INVALID;
}

/* A private copy of the file as a descriptor; -1 with errno set. */
static int copy_of(const char *path)
{
    int from = open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return -1;
    int to = memfd_create(path, MFD_CLOEXEC);
    struct stat st;
    off_t left = 0;
    if (to < 0 || fstat(from, &st) != 0 || (errno = EISDIR, S_ISDIR(st.st_mode)))
        goto fail;
    for (left = st.st_size; left > 0;) {
        ssize_t n = sendfile(to, from, NULL, (size_t)left);
        if (n == 0)
            errno = ENODATA;
        if (n <= 0)
            goto fail;
        left -= n;
    }
    close(from);
    return to;
fail:;
    int why = errno;
    close(from);
    if (to >= 0)
        close(to);
    errno = why;
    return -1;
}

/* The loader maps what the headers promise and dies (SIGBUS) where a file that was
 * copied only in part ends.  Other files are the loader's to judge. */
static bool is_cut_off(int fd)
{
    ElfW(Ehdr) head;
    struct stat st;
    if (fstat(fd, &st) != 0 || file_read(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    for (size_t i = 0; i < head.e_phnum; i++) {
        ElfW(Phdr) part;
        off_t at = (off_t)(head.e_phoff + i * head.e_phentsize);
        if (file_read(fd, &part, sizeof(part), at) != (ssize_t)sizeof(part))
            return true;
        if (part.p_type == PT_LOAD && (part.p_filesz > (size_t)st.st_size ||
                                       part.p_offset > (size_t)st.st_size - part.p_filesz))
            return true;
    }
    return false;
}

static pawl_status register_module(pawl_app *app, const char *path, void *handle, int fd,
                                   pawl_error *err)
{
    const pawl_module *m = dlsym(handle, "pawl_module_v1");
    if (!m)
        return bad(err, path,
                   "it exports no pawl_module_v1; end its source with PAWL_EXPORT(setup) and build "
                   "with -DPAWL_AS_MODULE");
    if (m->abi == PAWL_MODULE_ABI && m->size < sizeof(*m)) {
        error_set(err, PAWL_INVALID,
                  "cannot load module %s: its pawl_module_v1 says it has %u bytes, not %zu; define "
                  "it with PAWL_EXPORT(setup)",
                  path, m->size, sizeof(*m));
        return PAWL_INVALID;
    }
    if (m->abi == PAWL_MODULE_ABI && !m->register_fn)
        return bad(err, path,
                   "its pawl_module_v1 names no function; end its source with PAWL_EXPORT(setup)");
    if (m->abi != PAWL_MODULE_ABI) {
        error_set(err, PAWL_INVALID,
                  "cannot load module %s: built for ABI %u, this pawl has %d; rebuild it", path,
                  m->abi, PAWL_MODULE_ABI);
        return PAWL_INVALID;
    }
    pawl_error trouble = app->trouble; /* of those before; this one's own is told here */
    int before = app->trouble_count, untold = app->trouble_untold;
    struct module_entry *entry = vec_push(&app->modules);
    if (!entry)
        return bad(err, path, "out of memory");
    *entry = (struct module_entry){handle, fd, strdup(path)};
    app->trouble_count = app->trouble_untold = 0;
    m->register_fn(app);
    pawl_error own;
    registry_trouble(app, &own);
    int count = app->trouble_count;
    app->trouble_count += before;
    app->trouble_untold += untold;
    if (before)
        app->trouble = trouble;
    if (!count)
        return PAWL_OK;
    error_set(err, own.status, "module %s: %.400s", path, own.text);
    return own.status;
}

/* The same bytes under the same path: loading them again could bring nothing new. */
static bool is_loaded(const pawl_app *app, const char *path, int fd)
{
    struct stat old, now;
    for (size_t i = 0; i < app->modules.count; i++) {
        const struct module_entry *e = &app->modules.items[i];
        if (!e->path || strcmp(e->path, path) != 0 || fstat(e->fd, &old) != 0 ||
            fstat(fd, &now) != 0 || old.st_size != now.st_size)
            continue;
        size_t n = (size_t)now.st_size;
        void *a = mmap(NULL, n, PROT_READ, MAP_PRIVATE, e->fd, 0);
        void *b = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
        bool same = a != MAP_FAILED && b != MAP_FAILED && memcmp(a, b, n) == 0;
        if (a != MAP_FAILED)
            (void)munmap(a, n);
        if (b != MAP_FAILED)
            (void)munmap(b, n);
        if (same)
            return true;
    }
    return false;
}

/* dlerror() speaks of the private copy; people know the path they gave. */
static pawl_status open_failed(pawl_error *err, const char *path, const char *name)
{
    const char *why = dlerror();
    if (!why)
        why = "unknown error";
    if (strncmp(why, name, strlen(name)) == 0)
        why += strlen(name) + strspn(why + strlen(name), ": ");
    if (strstr(why, "invalid ELF header") || strstr(why, "file too short"))
        why = "not a shared object; build it with: cc -shared -fPIC -DPAWL_AS_MODULE";
    return bad(err, path, why);
}

pawl_status pawl_app_load(pawl_app *app, const char *path, pawl_error *reterr)
{
    pawl_error local = {0};
    pawl_error *err = reterr ? reterr : &local;
    if (!IS_THERE(app && path, "an app and a path", err))
        return PAWL_MISUSE;
    int fd = copy_of(path);
    if (fd < 0)
        return bad(err, path, errno == ENODATA ? CUT_OFF : strerror(errno));
    if (is_cut_off(fd)) {
        close(fd);
        return bad(err, path, CUT_OFF);
    }
    if (is_loaded(app, path, fd)) {
        close(fd);
        error_set(err, PAWL_EXISTS, "module %s is loaded already; name it once", path);
        return PAWL_EXISTS;
    }
    char name[64]; /* by our pid: a debugger opens it too, and has another self */
    (void)snprintf(name, sizeof(name), "/proc/%d/fd/%d", (int)getpid(), fd);
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    size_t had = app->modules.count;
    pawl_status rc =
        handle ? register_module(app, path, handle, fd, err) : open_failed(err, path, name);
    if (app->modules.count == had) { /* nothing of it was registered */
        if (handle)
            dlclose(handle);
        close(fd);
    }
    return rc;
}
