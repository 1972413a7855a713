/* arguments.h: the words after a command, checked against the command table and the settings table. */
#ifndef PARLEY_ARGUMENTS_H
#define PARLEY_ARGUMENTS_H

#include "base/settings.h"

typedef struct command command;

/* Operands that name inputs. */
typedef struct operands {
    const char *const *words;
    unsigned count;
} operands;

typedef struct arguments {
    const command *command;
    parley_settings settings;
    const char **operands; /* freed by arguments_close */
    unsigned count;        /* number of operands */
    char **rest;           /* words that belong to another command */
    unsigned rest_count;
    bool help; /* --help was given; everything else is ignored */
} arguments;

/* `words` are the words after the name of the command. */
void arguments_close(arguments *arguments);
parley_status arguments_parse(arguments *arguments, const command *command, char **words, int count,
                              parley_error *error);

#endif
