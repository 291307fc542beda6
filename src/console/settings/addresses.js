/*
 * addresses.js: addresses and networks, to say while typing what the service would say of a list.
 */

function numberOf(text)
{
	const parts = text.split('.');
	if (parts.length !== 4 || !parts.every((one) => /^(0|[1-9]\d{0,2})$/.test(one) && Number(one) < 256))
		return null;
	return parts.reduce((all, one) => all * 256n + BigInt(one), 0n);
}

function number6Of(text)
{
	let whole = text;
	const last = text.slice(text.lastIndexOf(':') + 1);
	if (last.includes('.')) {
		const v4 = numberOf(last);
		if (v4 === null)
			return null;
		whole = `${text.slice(0, -last.length)}${(v4 >> 16n).toString(16)}:${(v4 & 0xffffn).toString(16)}`;
	}
	const halves = whole.split('::');
	if (halves.length > 2)
		return null;
	const groups = halves.map((half) => (half ? half.split(':') : []));
	const given = groups.flat().length;
	if (halves.length === 1 ? given !== 8 : given > 7)
		return null;
	const all = halves.length === 1 ? groups[0] : [...groups[0], ...Array(8 - given).fill('0'), ...groups[1]];
	return all.every((one) => /^[0-9a-fA-F]{1,4}$/.test(one)) ? all.reduce((sum, one) => sum * 65536n + BigInt(`0x${one}`), 0n) : null;
}

const mapped = 0xffffn << 32n;

/** {first, bits, size} of an address or network (IPv4 inside of IPv6 is IPv4), or null. */
export function networkOf(text)
{
	const [address, prefix, ...rest] = text.trim().split('/');
	if (rest.length || (prefix !== undefined && !/^\d{1,3}$/.test(prefix)))
		return null;
	let bits = address.includes(':') ? 128 : 32;
	let first = bits === 128 ? number6Of(address) : numberOf(address);
	let size = prefix === undefined ? bits : Number(prefix);
	if (first === null || size > bits)
		return null;
	if (bits === 128 && size >= 96 && first >> 32n === mapped >> 32n) {
		first &= 0xffffffffn;
		size -= 96;
		bits = 32;
	}
	return { first, bits, size };
}

/** What is wrong with a network that somebody types, or undefined. */
export function checkNetwork(text)
{
	const network = networkOf(text);
	if (!network)
		return 'An address or a network: 192.0.2.7, 192.0.2.0/24, 2001:db8::/32.';
	const rest = BigInt(network.bits - network.size);
	return (network.first >> rest) << rest === network.first ? undefined : `It has bits after its prefix of ${network.size}.`;
}

/** Is an address in one of these networks? Texts both; false for what cannot be read. */
export function isInside(address, networks)
{
	const one = networkOf(address ?? '');
	return Boolean(one) && networks.some((text) => {
		const network = networkOf(text);
		return network && network.bits === one.bits && one.first >> BigInt(network.bits - network.size) === network.first >> BigInt(network.bits - network.size);
	});
}
