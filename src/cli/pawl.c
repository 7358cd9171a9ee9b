/* SPDX-License-Identifier: MIT */
/*
 * cli/pawl.c -- the stock binary: an empty app under the command line.
 *
 * Everything else is libpawl-main, so that a program of your own has the same
 * verbs.  Code comes in with --load.
 */
#include "pawl.h"

int main(int argc, char **argv)
{
    pawl_app *app = pawl_app_new();
    int status = pawl_main(app, argc, argv);
    pawl_app_free(app);
    return status;
}
