/* writer.h: writes text of any format, through one buffer, to a file that appears complete or not at all. */
#ifndef PL_WRITER_H
#define PL_WRITER_H

#include "data/data.h"

#define PL_ROOM_BYTES 192 /* may be written before asking for room again; a number takes less than 64 */

typedef struct pl_writer pl_writer;

/* Writes `head` (may be NULL), then each row; `watching` (may be NULL) sees the rows. The writer keeps the first
 * failure. */
parley_status pl_write_rows(const parley_data *data, const char *path,
                            void (*head)(pl_writer *to, const parley_data *data),
                            void (*row)(pl_writer *to, const parley_data *data, uint64_t row),
                            const pl_watching *watching, parley_error *error);
/* Return where to write the next bytes, and tell how far they went. */
char *pl_writer_room(pl_writer *to);
void pl_writer_used(pl_writer *to, char *end);
void pl_writer_text(pl_writer *to, const char *text, uint64_t bytes);
const char *pl_writer_path(const pl_writer *to);

/* Write a number at `p` with the fewest digits that read back as the same value, and return its end. */
char *pl_put_whole(char *p, uint64_t number);
char *pl_put_float(char *p, float value);
char *pl_put_value(char *p, pl_values values, uint64_t e);
char *pl_put_label(char *p, double label);

#endif
