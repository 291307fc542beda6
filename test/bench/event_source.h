/*
 * event_source.h: log events for benchmarks, the same on every machine.
 */
#ifndef EVENT_SOURCE_H
#define EVENT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOURCE_MAX_TEXT 8192 /* bytes of a text */

typedef struct source_event
{
	int64_t time; /* microseconds since 1970 */
	int program;
	int template; /* of the program */
	const char *source;
	const char *level;
	const char *service;
	char host[16];
	char request_id[33];
	size_t length;
	size_t head; /* bytes of the text that are time, level and the like */
	char text[SOURCE_MAX_TEXT];
} source_event;

/* Makes the templates of all programs.  Another seed gives other texts. */
extern void source_init(uint64_t seed);

extern int source_programs(void);
extern const char *source_program(int program, int *templates);

/*
 * Makes event `number` at `time`; it depends on these and the seed alone.  With
 * `program` -1 the program is drawn.  `long_texts`: stack traces and JSON too.
 */
extern void source_make(source_event *e, uint64_t number, int64_t time, int program,
						bool long_texts);

#endif /* EVENT_SOURCE_H */
