import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type Cidr, matches } from '../../../common/http/addresses.js';

/** Addresses that ipaddr.js considers public and IANA's registries, or a cloud, reserve. */
const alsoReserved: readonly Cidr[] = [
  '168.63.129.16/32', // Azure's host agent, in public space
  '192.88.99.0/24', // 6to4 relays
  '64:ff9b::/96', // NAT64: an IPv4 address inside
  '64:ff9b:1::/48',
  '2001::/23', // Teredo, benchmarking, ORCHID and the rest of the protocol assignments
  '2001:db8::/32',
  '2002::/16', // 6to4
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
].map((cidr) => ipaddr.parseCIDR(cidr));

const globalUnicast = ipaddr.parseCIDR('2000::/3');

/** Is this not an ordinary public address? Text that is not an address counts as reserved. */
export function isReserved(address: string): boolean {
  if (isIP(address) === 0) return true;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return true;
  // Outside 2000::/3 IANA has assigned no addresses for public servers.
  if (parsed.kind() === 'ipv6' && !matches(parsed, globalUnicast)) return true;
  return alsoReserved.some((cidr) => matches(parsed, cidr));
}
