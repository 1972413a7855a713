/* cli.h: declarations shared by the files of the command line. They parse arguments and print; the library does the
 * work. */
#ifndef PARLEY_CLI_H
#define PARLEY_CLI_H

#include <jansson.h>

#include "arguments.h"
#include "base/json_values.h"
#include "data/data.h"
#include "engine/engine.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_EARLY = 3, EXIT_LOST = 4, EXIT_INTERRUPTED = 130 };

#define NO_OPTIONS (1u << 31) /* in place of PL_FOR_*: a command without options */

struct command {
    const char *name, *operands; /* operands as in the usage line, such as "MODEL DATA" */
    unsigned least, most;        /* number of operands */
    unsigned options;            /* PL_FOR_* */
    const char *summary, *details;
    bool hidden;
    int (*run)(const arguments *arguments); /* returns the exit code */
    const char *problem;                    /* that the command trains; NULL: it is for all problems */
    const char *json;                       /* what to use instead of --json, if the command does not have it */
};

/* Each is at the end of the file that has its name. */
extern const command path_command, cv_command, plan_command, launch_command, predict_command, eval_command,
    convert_command, split_command, generate_command, info_command, dump_command, report_command, probe_command,
    list_command, help_command, document_command;
/* commands.c */
extern command commands[];
extern unsigned commands_count;
void commands_open(void);                      /* fills the table in */
const command *command_find(const char *name); /* or NULL */
bool command_reads(const pl_setting *row);     /* is it an option of any command? */
int command_unknown(const char *name);         /* prints a message with the nearest command, returns the exit code */

int train_run(const arguments *arguments);

/* help.c */
#define PAGE_WIDTH 100
#define NOTES 1024
void help_print(FILE *file);       /* prints the output of `parley --help` */
void help_print_short(FILE *file); /* prints the output of `parley` without arguments */
void help_print_command(FILE *file, const command *command);
/* The option of a setting, such as "--rows" or "-n, --ranks". */
void help_flag(const pl_setting *row, char *text, size_t size);
/* The values that a setting takes and its default, such as "0 to 1; default 0". Empty for a flag. */
void help_notes(const pl_setting *row, const command *command, char *notes, size_t size);
/* The words that a setting can take, joined by `separator`. Empty if there is no fixed list. */
void help_values(const pl_setting *row, const command *command, const char *separator, char *values, size_t size);

/* print.c */
#define FIELD_WIDTH 14                    /* of the names of fields */
int fail_code(const parley_error *error); /* the exit code for an error */
/* Prints the message and returns the exit code. `fail` prints only on the first of the processes that MPI started. */
int fail_aloud(const command *command, const parley_error *error);
int fail(const command *command, const parley_error *error);
/* Fails because no `what` has this name. The message suggests the nearest name or lists all. */
parley_status fail_unknown(const char *what, const char *name, const char *const *names, unsigned count,
                           parley_error *error);
void print_field(FILE *file, const char *name, const char *format, ...); /* one aligned line: name, value */
void print_text(FILE *file, const char *text);                           /* prints control characters as ? */
void print_suggestion(FILE *file, const parley_summary *summary);        /* if there is one */
const char *ending_text(const char *status);                             /* in words, of a status in a log */
void print_count(uint64_t count, char *text, size_t size);               /* 1,234,567 */
json_t *json_count(uint64_t count);
/* Sets a key. If memory runs out, frees the object and sets it to NULL, which json_print reports. */
void json_put(json_t **object, const char *key, json_t *value);
void json_append(json_t **list, json_t *value); /* the same for a list */
/* Describes the problem and the quality of the solution. */
void json_problem(json_t **object, const parley_summary *summary);
void json_certificate(json_t **object, const parley_summary *summary);
/* Splits the time of a run since `started`. */
json_t *json_choices(const parley_summary *summary);
json_t *json_suggestion(const parley_summary *summary);
json_t *json_seconds(const parley_summary *summary, double read, double total);
int json_print(const command *command, json_t *object); /* prints and frees */

void report_plots(const char *path); /* report_plot.c: prints the small plots of a log */
/* report_page.c: writes the page of --html, again and again with --follow. */
#define REPORT_MOST_LOGS 64
int report_page(const arguments *arguments);

/* info_checkpoint.c: recognises and prints the folder or a file of a checkpoint. */
bool is_checkpoint(const char *path);
int print_checkpoint(const arguments *arguments);
/* linear_path_info.c */
int print_path_file(const arguments *arguments);
/* linear_model_file.c: loads the model in the first operand or, if that is a path, the one that --at names. */
parley_status load_model(const arguments *arguments, parley_model **out, parley_error *error);

/* files.c */
/* Reads whole inputs as the settings say, with weights from a file if one is given. If the engine (may be NULL) has
 * several ranks, each reads a part. */
parley_status read_data(const operands *paths, const parley_settings *settings, pl_engine *engine, pl_tell tell,
                        parley_data **out, parley_error *error);
/* The same; `watching` sees how much is read, and its user is that of `tell`. */
parley_status read_watched(const operands *paths, const parley_settings *settings, pl_engine *engine, pl_tell tell,
                           pl_watching watching, parley_data **out, parley_error *error);
/* Can a file be written here? Call it before doing the work. */
parley_status check_writable(const char *path, parley_error *error);
/* Fails if two paths, of which at least one is written, name the same file. */
parley_status check_different(const char *a, const char *b, parley_error *error);
/* The format to write: given by `to` or, if that is empty, by the file name. NULL: the command has no --to. */
typedef struct output {
    bool cache;
    const pl_format *format; /* of text */
} output;
parley_status find_output(const char *path, const char *to, output *out, parley_error *error);
parley_status write_data(const parley_data *data, const char *path, output to, const pl_watching *watching,
                         parley_error *error);
uint64_t file_bytes(const char *path); /* 0 if unknown */
/* Prints one line on what was written (convert.c). */
void report_written(const arguments *arguments, const parley_data *data, const char *path, double seconds);
void tell_error_output(void *user, const char *sentence);

#endif
