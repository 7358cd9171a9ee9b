/* SPDX-License-Identifier: MIT */
/*
 * tests/crash/test_module.c -- modules that will not load.
 *
 * Each is refused with one line that names the file and says what to do, and the
 * app stays as it was.  They are made with the compiler that built this program;
 * where there is none, the tests that need one say so.
 */
#include "../harness.h"
#include "crash.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *wanted, *file;

/* In a child: a module that crashes the loader must not take the tests along. */
static int loads(void *arg)
{
    (void)arg;
    pawl_error err = {0};
    pawl_app *app = pawl_app_new();
    if (pawl_app_load(app, in_scratch(file), &err) == PAWL_OK) {
        pawl_app_free(app);
        return 0;
    }
    fprintf(stderr, "%s: %s\n", pawl_status_code(err.status), err.text);
    bool clear = err.status == PAWL_INVALID && strstr(err.text, in_scratch(file)) &&
                 strstr(err.text, wanted) && !strchr(err.text, '\n');
    bool empty = !pawl_app_has_orchestration(app, "Any", NULL);
    pawl_app_free(app);
    return clear && empty ? 1 : 2;
}

static void refused(const char *name, const char *words)
{
    file = name;
    wanted = words;
    int status = child_run(loads, NULL, 10000);
    ck_assert_msg(exited_with(status, 1), "%s", status_words(status));
}

/* scratch/m.so from this source; false: no compiler. */
static bool compile(const char *source)
{
    char command[700];
    if (system("command -v cc >/dev/null 2>&1") != 0) {
        printf("| skipped: no compiler here\n");
        return false;
    }
    append_line("m.c", "%s", source);
    (void)snprintf(command, sizeof(command), "cc -shared -fPIC -o %s %s", in_scratch("m.so"),
                   in_scratch("m.c"));
    ck_assert_int_eq(system(command), 0);
    return true;
}

#define TYPE                                                                                       \
    "struct m { unsigned size, abi; void (*fn)(void *); }; static void f(void *a) {(void)a;}\n"

TEST(a_module_that_is_not_there)
{
    scratch_make();
    refused("none.so", "No such file or directory");
    scratch_drop();
}

TEST(a_module_that_is_a_directory)
{
    scratch_make();
    (void)mkdir(in_scratch("dir.so"), 0700);
    refused("dir.so", "Is a directory");
    scratch_drop();
}

/* A file that has fewer bytes than it says, as all of /sys. */
TEST(a_module_that_is_shorter_than_it_says)
{
    const char *odd = "/sys/kernel/uevent_seqnum";
    scratch_make();
    if (access(odd, R_OK) == 0) {
        ck_assert_int_eq(symlink(odd, in_scratch("odd.so")), 0);
        refused("odd.so", "the file ends too early; copy it again");
    }
    scratch_drop();
}

TEST(a_module_that_is_empty_or_a_text)
{
    scratch_make();
    close(open(in_scratch("empty.so"), O_CREAT | O_WRONLY, 0600));
    refused("empty.so", "");
    for (int i = 0; i < 200; i++)
        append_line("text.so", "this is no shared object at all");
    refused("text.so", "not a shared object; build it with: cc -shared");
    scratch_drop();
}

TEST(a_module_without_an_entry_point)
{
    scratch_make();
    if (compile("int nothing;"))
        refused("m.so", "it exports no pawl_module_v1; end its source with PAWL_EXPORT(setup)");
    scratch_drop();
}

TEST(a_module_of_another_abi)
{
    scratch_make();
    if (compile(TYPE "struct m pawl_module_v1 = {sizeof(struct m), 999, f};"))
        refused("m.so", "built for ABI 999, this pawl has 2; rebuild it");
    scratch_drop();
}

TEST(a_module_that_is_smaller_than_the_abi_says)
{
    scratch_make();
    if (compile(TYPE "struct m pawl_module_v1 = {4, 2, f};"))
        refused("m.so",
                "its pawl_module_v1 says it has 4 bytes, not 16; define it with PAWL_EXPORT");
    scratch_drop();
}

TEST(a_module_without_a_function)
{
    scratch_make();
    if (compile(TYPE "struct m pawl_module_v1 = {sizeof(struct m), 2, 0};"))
        refused("m.so", "its pawl_module_v1 names no function; end its source with PAWL_EXPORT");
    scratch_drop();
}

TEST(a_module_with_a_symbol_nobody_has)
{
    scratch_make();
    if (compile(TYPE "int nobody_has_it(void); int g(void) { return nobody_has_it(); }\n"
                     "struct m pawl_module_v1 = {sizeof(struct m), 2, f};"))
        refused("m.so", "undefined symbol: nobody_has_it");
    scratch_drop();
}

TEST(a_module_that_was_copied_only_in_part)
{
    scratch_make();
    if (compile(TYPE "struct m pawl_module_v1 = {sizeof(struct m), 2, f};")) {
        struct stat st;
        ck_assert_int_eq(stat(in_scratch("m.so"), &st), 0);
        for (off_t size = st.st_size - 1; size > 64; size = size * 3 / 4) {
            ck_assert_int_eq(truncate(in_scratch("m.so"), size), 0);
            file = "m.so";
            wanted = "";
            int status = child_run(loads, NULL, 10000);
            /* Without its last bytes it may still be whole: those are for debuggers. */
            ck_assert_msg(
                exited_with(status, 1) || (exited_with(status, 0) && size > st.st_size * 3 / 4),
                "%ld of %ld bytes: %s", (long)size, (long)st.st_size, status_words(status));
        }
    }
    scratch_drop();
}

TEST(a_module_that_loads)
{
    scratch_make();
    if (compile(TYPE "struct m pawl_module_v1 = {sizeof(struct m), 2, f};")) {
        file = "m.so";
        int status = child_run(loads, NULL, 10000);
        ck_assert_msg(exited_with(status, 0), "%s", status_words(status));
    }
    scratch_drop();
}
