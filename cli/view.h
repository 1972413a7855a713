/* view.h: viewers (model/model.h) that write to standard output. */
#ifndef PARLEY_VIEW_H
#define PARLEY_VIEW_H

#include "cli.h"
#include "model/model.h"

/* In lines without --json: items as aligned fields and lists as tables; or all separated by tabs, with every digit. */
typedef enum view_style { VIEW_FIELDS, VIEW_TABS } view_style;

typedef struct view {
    pl_viewer base;
    int digits;                        /* of numbers in fields */
    const char *name_key, *number_key; /* of the list that is open */
    bool grouped, headed;              /* a group is open; the head of the table is printed */
    json_t *object, *inner;            /* JSON: all, and the list or group that is open */
    const char *key;                   /* of `inner` */
} view;

/* Lines, or with --json one object. */
pl_viewer *view_open(view *view, const arguments *arguments, view_style style, int digits);
/* Prints what is left to print, or the failure where `status` is one; returns the exit code. */
int view_close(view *view, const arguments *arguments, parley_status status, const parley_error *error);

#endif
