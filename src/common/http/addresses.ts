import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Cidr = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Does `cidr` hold this address? Families never mix: a mapped address is not its IPv4 twin here. */
export function matches(address: ipaddr.IPv4 | ipaddr.IPv6, cidr: Cidr): boolean {
  const [range, bits] = cidr;
  if (address.kind() !== range.kind()) return false;
  return address.match(range as ipaddr.IPv4 & ipaddr.IPv6, bits);
}

/** One spelling per address, so that lists compare exactly; names stay as they are. */
export function canonical(host: string): string {
  return isIP(host) !== 0 ? ipaddr.parse(host).toString() : host;
}

/** Addresses where cloud machines get credentials: link-local ones, and those that some clouds use instead. */
const metadataAddresses: readonly Cidr[] = [
  '169.254.0.0/16',
  '100.100.100.200/32', // Alibaba Cloud
  '168.63.129.16/32', // Azure's host agent
  '192.0.0.192/32', // Oracle Cloud
  'fe80::/10',
  'fd00:ec2::/32', // AWS
  'fd20:ce::254/128', // Google Cloud
  'fd00:c1::a9fe:a9fe/128', // Oracle Cloud
  'fd00:42::42/128', // Scaleway
].map((cidr) => ipaddr.parseCIDR(cidr));

const metadataNames = new Set([
  'instance-data',
  'instance-data.ec2.internal',
  'metadata',
  'metadata.azure.com',
  'metadata.azure.internal',
  'metadata.goog',
  'metadata.google.internal',
  'metadata.tencentyun.com',
]);

/** Is this a cloud's service for the credentials of its machines? `host`: a name in lower case, or an address. */
export function isMetadataHost(host: string): boolean {
  if (isIP(host) === 0) return metadataNames.has(host);
  const address = ipaddr.parse(host);
  const inside = address.kind() === 'ipv6' ? embedded(address.toByteArray()) : [];
  return [address, ...inside].some((one) => metadataAddresses.some((cidr) => matches(one, cidr)));
}

/** IPv6 prefixes within which an IPv4 address is reached, as bytes, and where it may be in the sixteen. */
const embeddings: readonly { readonly prefix: readonly number[]; readonly at: readonly number[][] }[] = [
  // Compatible, mapped (RFC 4291) and translated (RFC 2765).
  { prefix: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], at: [[12, 13, 14, 15]] },
  { prefix: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255], at: [[12, 13, 14, 15]] },
  { prefix: [0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0], at: [[12, 13, 14, 15]] },
  // NAT64 (RFC 6052, RFC 8215): the place depends on the length of the network's prefix.
  { prefix: [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0], at: [[12, 13, 14, 15]] },
  {
    prefix: [0, 0x64, 0xff, 0x9b, 0, 1],
    at: [
      [6, 7, 9, 10],
      [7, 9, 10, 11],
      [9, 10, 11, 12],
      [12, 13, 14, 15],
    ],
  },
  // 6to4 (RFC 3056).
  { prefix: [0x20, 0x02], at: [[2, 3, 4, 5]] },
  // Teredo (RFC 4380): the server; the client is below.
  { prefix: [0x20, 0x01, 0, 0], at: [[4, 5, 6, 7]] },
];

const teredo = [0x20, 0x01, 0, 0];

/** IPv4 addresses that packets to this IPv6 address may end at. */
function embedded(bytes: readonly number[]): ipaddr.IPv4[] {
  const begins = (prefix: readonly number[]): boolean => prefix.every((byte, i) => bytes[i] === byte);
  const found = embeddings
    .filter(({ prefix }) => begins(prefix))
    .flatMap(({ at }) => at.map((places) => places.map((i) => bytes[i]!)));
  const last = bytes.slice(12);
  if (begins(teredo)) found.push(last.map((byte) => byte ^ 0xff));
  // ISATAP (RFC 5214), within any prefix.
  if ((bytes[8]! & 0xfd) === 0 && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe)
    found.push(last);
  return found.map((four) => new ipaddr.IPv4(four));
}
