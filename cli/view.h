/* view.h: viewers (model/model.h) that write to standard output. */
#ifndef PARLEY_VIEW_H
#define PARLEY_VIEW_H

#include "cli.h"
#include "method/json_viewer.h"

/* The style without --json: items as aligned fields and lists as tables, or everything separated by tabs. */
typedef enum view_style { VIEW_FIELDS, VIEW_TABS } view_style;

typedef struct view {
    pl_viewer base;
    int digits, width;                 /* of numbers and of keys in fields */
    const char *name_key, *number_key; /* of the open list */
    bool grouped, headed;              /* a group is open; the head of the table is printed */
    pl_json_viewer json;               /* for --json */
} view;

/* Opens a viewer for lines or, with --json, for one object. */
pl_viewer *view_open(view *view, const arguments *arguments, view_style style, int digits);
/* Prints the rest or, if `status` is a failure, the error; returns the exit code. */
int view_close(view *view, const arguments *arguments, parley_status status, const parley_error *error);

#endif
