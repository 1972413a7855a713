/* paths.h: names of files and folders. */
#ifndef PL_PATHS_H
#define PL_PATHS_H

#include <stdbool.h>
#include <stddef.h>

#define PL_PATH 4096 /* the most bytes of a path, with its end */

/* The file that a path names once symbolic links at its end are followed, whether that file exists or not. Returns
 * false if the links form a loop or the result is too long. */
bool pl_follow_links(const char *path, char target[PL_PATH]);
/* The folder of a path, such as "a/" for "a/b" and "./" for "b". Returns false if it is too long. */
bool pl_folder_of(const char *path, char folder[PL_PATH]);

#endif
