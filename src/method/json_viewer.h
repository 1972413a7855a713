/* json_viewer.h: a viewer (model/model.h) that makes one JSON object of what a model or a meter shows. */
#ifndef PL_JSON_VIEWER_H
#define PL_JSON_VIEWER_H

#include <jansson.h>

#include "method/model.h"

typedef struct pl_json_viewer {
    pl_viewer base;
    json_t *object, *inner;                  /* everything, and the open list or group */
    const char *key, *name_key, *number_key; /* of the open list or group */
} pl_json_viewer;

void pl_json_viewer_open(pl_json_viewer *viewer);
/* The object, which the caller owns; NULL if memory ran out. */
json_t *pl_json_viewer_close(pl_json_viewer *viewer);

#endif
