/* json_memory.h: tells whether jansson failed because memory ran out, which it does not tell itself. */
#ifndef PL_JSON_MEMORY_H
#define PL_JSON_MEMORY_H

#include <stdbool.h>

/* From now on jansson allocates through base/memory.h, unless the program has given it other functions, and failures on
 * this thread are noticed. */
void pl_json_watch(void);
/* Whether an allocation has failed on this thread since. Then what jansson returned is of no use. */
bool pl_json_lost(void);
void pl_json_free(void *text); /* for text of json_dumps */

#endif
