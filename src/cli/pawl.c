/* SPDX-License-Identifier: MIT */
/*
 * cli/pawl.c -- the stock binary: an empty app under the command line.
 *
 * Everything else is libpawl-main, so that your own program has the same verbs.  --load loads
 * code.
 */
#include "pawl.h"

int main(int argc, char **argv)
{
    pawl_app *app = pawl_app_new();
    int status = pawl_main(app, argc, argv);
    pawl_app_free(app);
    return status;
}
