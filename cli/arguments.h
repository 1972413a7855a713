/* arguments.h: the words after a command, checked against its row and the settings table. */
#ifndef PARLEY_ARGUMENTS_H
#define PARLEY_ARGUMENTS_H

#include "base/settings.h"

typedef struct command command;

#define MOST_OPERANDS 2

typedef struct arguments {
    const command *command;
    parley_settings settings;
    const char *operands[MOST_OPERANDS];
    unsigned count; /* of operands */
    char **rest;    /* words that are another command's */
    unsigned rest_count;
    bool help; /* --help was given; nothing else counts then */
} arguments;

/* `words` are those after the command's name. */
parley_status arguments_parse(arguments *arguments, const command *command, char **words, int count,
                              parley_error *error);

#endif
