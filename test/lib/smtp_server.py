# smtp_server.py DIR [PORT]: a mail server for tests, on loopback.
#
# DIR/mode is read for each mail: words of
#	starttls   STARTTLS is offered, with DIR/server.crt and DIR/server.key (read at the start)
#	auth       a login is required (user logsvc, password of DIR/password), over TLS only
#	defer      RCPT TO is answered 451; refuse: 550; refuse-USER: 550 for that mailbox
#	hold       the answer to DATA waits until DIR/mode changes
# DIR/port has the port once it listens.  Each mail that was accepted, as JSON in
# DIR/mail.N: what the envelope says, whether TLS and login were used, and the
# message as the email package reads it.
import asyncio
import email
import email.policy
import json
import os
import ssl
import sys
import time

from aiosmtpd.smtp import SMTP, AuthResult

directory = sys.argv[1]
count = 0


def mode():
	with open(directory + '/mode') as file:
		return file.read().split()


def write(name, text):
	with open(directory + '/' + name + '.new', 'w') as file:
		file.write(text)
	os.rename(directory + '/' + name + '.new', directory + '/' + name)


class Handler:
	async def handle_RCPT(self, server, session, envelope, address, options):
		if 'defer' in mode():
			return '451 4.3.0 try again later'
		if 'refuse' in mode() or 'refuse-' + address.split('@')[0] in mode():
			return '550 5.1.1 no such user'
		envelope.rcpt_tos.append(address)
		return '250 OK'

	async def handle_DATA(self, server, session, envelope):
		global count
		content = envelope.content
		message = email.message_from_bytes(content, policy=email.policy.default)
		number, count = count, count + 1
		write('mail.%d' % number, json.dumps({
			'at': time.time(),
			'from': envelope.mail_from,
			'to': envelope.rcpt_tos,
			'tls': session.ssl is not None,
			'login': bool(session.authenticated),
			'headers': [[k, str(v)] for k, v in message.items()],
			'defects': [repr(d) for part in message.walk() for d in part.defects],
			'type': message.get_content_type(),
			'parts': [[p.get_content_type(), p.get_content().replace('\r\n', '\n')] for p in message.walk() if not p.is_multipart()],
			'to_addresses': [a.addr_spec for a in message['to'].addresses],
			'from_name': message['from'].addresses[0].display_name,
			'date': message['date'].datetime.timestamp(),
			'ascii': all(b < 128 for b in content),
			'longest_line': max(len(line) for line in content.split(b'\r\n')),
			'bare_lf': content.replace(b'\r\n', b'').count(b'\n'),
		}))
		while 'hold' in mode():
			await asyncio.sleep(0.02)
		return '250 OK'


def authenticate(server, session, envelope, mechanism, data):
	with open(directory + '/password') as file:
		good = file.read().strip().encode()
	return AuthResult(success=data.login == b'logsvc' and data.password == good, handled=False)


def session():
	words = mode()
	context = None
	if 'starttls' in words:
		context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
		context.load_cert_chain(directory + '/server.crt', directory + '/server.key')
	return SMTP(Handler(), hostname='mail.test', tls_context=context, authenticator=authenticate,
		auth_required='auth' in words, require_starttls='auth' in words)


async def main():
	port = int(sys.argv[2]) if len(sys.argv) > 2 else 0
	server = await asyncio.get_running_loop().create_server(session, '127.0.0.1', port)
	write('port', str(server.sockets[0].getsockname()[1]))
	await server.serve_forever()


asyncio.run(main())
