import type { Message } from '../../../../proto/codec.js';
import type { Shape } from '../../../../proto/shape.js';
import { isMetadataHost } from '../../../common/http/addresses.js';
import type { EgressAllow } from '../../../common/http/egress-allow.js';
import { AdminError } from '../admin-error.js';

/**
 * Throws AB01 for the first URL of a request, checked by its rules before, that leads to a link-local or metadata address
 * which the operator has not allowed. A name is resolved, and its addresses are checked, when a call connects to it.
 */
export function checkStoredAddresses(
  shape: Shape,
  request: Message,
  allow: EgressAllow | undefined,
  before = '',
): void {
  for (const { name, jsonName, kind, list, map, rules, message } of shape.fields) {
    const value = request[name];
    if (value === undefined || value === null || value === '') continue;
    const path = before + jsonName;
    if (rules.uri === true) {
      if (leadsToMetadata(String(value), allow)) throw AdminError.field(path, refusal);
    } else if (kind === 'message' && message !== null) {
      const inner = list || map ? Object.entries(value as Record<string, Message>) : [['', value as Message]];
      for (const [at, one] of inner as [string, Message][])
        checkStoredAddresses(message, one, allow, `${path}${list ? `[${at}]` : map ? `.${at}` : ''}.`);
    }
  }
}

const refusal =
  'is a link-local or metadata address, which the gateway does not connect to unless egress_allow (HEADGATE_EGRESS_ALLOW) names it.';

function leadsToMetadata(text: string, allow: EgressAllow | undefined): boolean {
  const url = new URL(text);
  const host = url.hostname.replace(/^\[|\]$|\.$/g, '');
  if (!isMetadataHost(host)) return false;
  if (allow === undefined) return true;
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  return !allow.hasHost(host) && !allow.hasPort(host, port) && !allow.hasAddress(host);
}
