/*-------------------------------------------------------------------------
 *
 * websocket.h
 *	  The WebSocket protocol (RFC 6455), as far as a server needs it: the
 *	  handshake, the frames of clients, the heads of its own frames (pure).
 *
 * No extension is offered, so none is in use.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_WEBSOCKET_H
#define LS_WEBSOCKET_H

#include "src/base/pure.h"

/* ---- the handshake ---- */

/* What the header of a request says about it; zero it to begin. */
typedef struct ls_websocket_offer
{
	bool upgrade;    /* Upgrade: websocket */
	bool connection; /* Connection: Upgrade */
	bool version;    /* Sec-WebSocket-Version: 13, and no other */
	unsigned versions;
	unsigned keys;
	ls_str key; /* Sec-WebSocket-Key */
} ls_websocket_offer;

/* Takes one header field, the value without white space around it. */
extern void ls_websocket_field(ls_websocket_offer *offer, ls_str name, ls_str value);

/*
 * Can the handshake be completed?  0: yes.  Else the status to refuse it with: 400, or 426 for
 * another version; *problem says why.
 */
extern int ls_websocket_judge(const ls_websocket_offer *offer, const char **problem);

/* The value of Sec-WebSocket-Accept. */
#define LS_WEBSOCKET_ACCEPT_LENGTH 28
extern void ls_websocket_accept(ls_str key, char out[LS_WEBSOCKET_ACCEPT_LENGTH]);

/* ---- frames ---- */

typedef enum ls_websocket_opcode
{
	LS_WEBSOCKET_CONTINUATION = 0,
	LS_WEBSOCKET_TEXT = 1,
	LS_WEBSOCKET_BINARY = 2,
	LS_WEBSOCKET_CLOSE = 8,
	LS_WEBSOCKET_PING = 9,
	LS_WEBSOCKET_PONG = 10
} ls_websocket_opcode;

/* Payload of a control frame, and of a message of a client, in bytes. */
#define LS_WEBSOCKET_CONTROL 125
#define LS_WEBSOCKET_MESSAGE 1024

/* Status codes of closing. */
#define LS_WEBSOCKET_NORMAL 1000
#define LS_WEBSOCKET_GOING_AWAY 1001
#define LS_WEBSOCKET_PROTOCOL 1002
#define LS_WEBSOCKET_NO_CODE 1005 /* the frame had none; never sent */
#define LS_WEBSOCKET_NOT_UTF8 1007
#define LS_WEBSOCKET_POLICY 1008
#define LS_WEBSOCKET_TOO_BIG 1009
#define LS_WEBSOCKET_FAILED 1011
#define LS_WEBSOCKET_TRY_AGAIN 1013

/* Reads the frames of a client; zero it to begin. */
typedef struct ls_websocket_reader
{
	uint8_t head[14];
	uint8_t head_len; /* so much of it is there */
	bool in_payload;
	uint64_t left; /* of the payload */
	uint32_t at;   /* bytes of the payload that were read, for the mask */
	uint8_t mask[4];
	uint8_t message_opcode; /* of the message that is not complete; 0: none */
	bool complete;          /* it was complete, and has been seen at the next call */
	size_t message_len;
	uint8_t message[LS_WEBSOCKET_MESSAGE];
	size_t control_len;
	uint8_t control[LS_WEBSOCKET_CONTROL];
} ls_websocket_reader;

typedef enum ls_websocket_event
{
	LS_WEBSOCKET_MORE,     /* all was read, and there is nothing to do */
	LS_WEBSOCKET_PINGED,   /* `control` is to be sent back */
	LS_WEBSOCKET_PONGED,   /* `control` came back */
	LS_WEBSOCKET_MESSAGED, /* `message` has a whole message */
	LS_WEBSOCKET_CLOSED,   /* the client closes; *code is its status */
	LS_WEBSOCKET_BAD       /* the connection must be closed with *code */
} ls_websocket_event;

/*
 * Reads frames up to the first event.  *used: how much of `data` was read; what follows is given
 * again.  After CLOSED or BAD nothing more is read.
 */
extern ls_websocket_event ls_websocket_read(ls_websocket_reader *r, const void *data, size_t len,
											size_t *used, unsigned *code);

/* The head of a frame of the server; returns its length. */
#define LS_WEBSOCKET_HEAD 10
extern size_t ls_websocket_head(ls_websocket_opcode opcode, bool last, size_t len,
								uint8_t out[LS_WEBSOCKET_HEAD]);

/*
 * The payload of a frame that closes: the code, unless it is NO_CODE, and as much of the reason,
 * in UTF-8, as it may have.  Returns its length.
 */
extern size_t ls_websocket_close(unsigned code, ls_str reason, uint8_t out[LS_WEBSOCKET_CONTROL]);

#endif /* LS_WEBSOCKET_H */
