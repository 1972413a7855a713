/* arguments.h: the words after a command, checked against its row and the settings table. */
#ifndef PARLEY_ARGUMENTS_H
#define PARLEY_ARGUMENTS_H

#include "base/settings.h"

typedef struct command command;

/* Words that name inputs. */
typedef struct operands {
    const char *const *words;
    unsigned count;
} operands;

typedef struct arguments {
    const command *command;
    parley_settings settings;
    const char **operands; /* freed by arguments_close */
    unsigned count;        /* of operands */
    char **rest;           /* words that are another command's */
    unsigned rest_count;
    bool help; /* --help was given; nothing else counts then */
} arguments;

/* `words` are those after the command's name. */
void arguments_close(arguments *arguments);
parley_status arguments_parse(arguments *arguments, const command *command, char **words, int count,
                              parley_error *error);

#endif
