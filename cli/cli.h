/* cli.h: what the files of the command line share. They parse arguments and print; the library does the work. */
#ifndef PARLEY_CLI_H
#define PARLEY_CLI_H

#include <jansson.h>

#include "arguments.h"
#include "data/data.h"
#include "engine/engine.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_EARLY = 3, EXIT_LOST = 4, EXIT_INTERRUPTED = 130 };

#define NO_OPTIONS (1u << 31) /* in place of PL_FOR_*: a command without options */

struct command {
    const char *name, *operands; /* operands as the usage line has them: "MODEL DATA" */
    unsigned least, most;        /* how many of them */
    unsigned options;            /* PL_FOR_* */
    const char *summary, *details;
    bool hidden;
    int (*run)(const arguments *arguments); /* returns the exit code */
};

extern const command commands[];
extern const unsigned commands_count;
const command *command_find(const char *name); /* or NULL */
bool command_reads(const pl_setting *row);     /* is it an option of any command? */
int command_unknown(const char *name);         /* prints a sentence with the nearest, returns the exit code */

int train_run(const arguments *arguments);
int predict_run(const arguments *arguments);
int eval_run(const arguments *arguments);
int convert_run(const arguments *arguments);
int generate_run(const arguments *arguments);
int info_run(const arguments *arguments);
int dump_run(const arguments *arguments);
int report_run(const arguments *arguments);
int list_run(const arguments *arguments);
int help_run(const arguments *arguments);
int document_run(const arguments *arguments);

int launch_run(const arguments *arguments);
int path_run(const arguments *arguments);
int cv_run(const arguments *arguments);

/* help.c */
#define PAGE_WIDTH 100
#define NOTES 1024
void help_print(FILE *file);       /* what `parley --help` prints */
void help_print_short(FILE *file); /* what `parley` alone prints */
void help_print_command(FILE *file, const command *command);
/* "0 to 1; default 0": the values a setting takes and its default; empty for a flag. */
void help_notes(const pl_setting *row, char *notes, size_t size);
/* The values that a setting can take, as words with `separator` between them; empty when they are open. */
void help_values(const pl_setting *row, const char *separator, char *values, size_t size);

/* print.c */
int fail_code(const parley_error *error); /* its exit code */
/* Prints the sentence, returns the exit code; `fail`: of many processes that MPI started only the first prints. */
int fail_aloud(const command *command, const parley_error *error);
int fail(const command *command, const parley_error *error);
/* There is nothing of that name: the sentence says what is near, or all there is. */
parley_status fail_unknown(const char *what, const char *name, const char *const *names, unsigned count,
                           parley_error *error);
void print_field(FILE *file, const char *name, const char *format, ...); /* one aligned line: name, value */
void print_text(FILE *file, const char *text);                           /* bytes that a terminal could obey as ? */
void print_count(uint64_t count, char *text, size_t size);               /* 1,234,567 */
json_t *json_number(double value);                                       /* null where not finite */
json_t *json_count(uint64_t count);
/* Sets a key; without memory frees the object and leaves NULL, which json_print reports. */
void json_put(json_t **object, const char *key, json_t *value);
void json_append(json_t **list, json_t *value); /* the same for a list */
/* What was solved, and how well. */
void json_problem(json_t **object, const parley_summary *summary);
void json_certificate(json_t **object, const parley_summary *summary);
/* Where a run's time went, since it was `started`. */
json_t *json_seconds(const parley_summary *summary, double read, double started);
int json_print(const command *command, json_t *object); /* prints and frees */

/* info_checkpoint.c: a folder, or a file of a checkpoint? What is in it. */
bool is_checkpoint(const char *path);
int print_checkpoint(const arguments *arguments);

/* files.c */
/* Reads data whole, as the settings say, with weights where they name a file of them; on several ranks of an engine
 * (NULL: there is none) each reads a part. */
parley_status read_data(const operands *paths, const parley_settings *settings, pl_engine *engine, pl_tell tell,
                        parley_data **out, parley_error *error);
/* Can a file be made here? To be asked before the work that it is to hold. */
parley_status check_writable(const char *path, parley_error *error);
/* Refuses two names of one file, of which one is read and one is written. */
parley_status check_different(const char *a, const char *b, parley_error *error);
/* The form of data to write: by `to`, or where that is empty by the name. */
typedef struct output {
    bool cache;
    const pl_format *format; /* of text */
} output;
parley_status find_output(const char *path, const char *to, output *out, parley_error *error);
parley_status write_data(const parley_data *data, const char *path, output to, parley_error *error);
uint64_t file_bytes(const char *path); /* 0 when not known */
/* One line on what was written; convert.c. */
void report_written(const arguments *arguments, const parley_data *data, const char *path, double seconds);
void tell_error_output(void *user, const char *sentence);

#endif
