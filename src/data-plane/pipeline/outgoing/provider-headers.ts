import { isGatewayKey } from '../../../common/access/gateway-key.js';
import type { Exchange } from '../../../common/core/exchange.js';
import type { Target } from '../../../common/core/target.js';
import { bearerToken } from '../../../common/http/bearer.js';
import { getHeader, type HeaderList, setHeader } from '../../../common/http/headers.js';
import type { Address } from './address.js';

/**
 * Adds the headers that the provider requires, the client's headers that are forwarded, and the credential. `client`: the
 * headers to take the client's from.
 */
export function addProviderHeaders(
  x: Exchange,
  target: Target,
  address: Address,
  headers: HeaderList,
  client: HeaderList = x.request.headers,
): void {
  const { provider, credential } = address;
  if (provider.headers !== undefined) {
    for (const name in provider.headers) {
      if (getHeader(headers, name) === undefined)
        headers.push(name, getHeader(client, name) ?? provider.headers[name]!);
    }
  }
  if (provider.passHeaders !== undefined) {
    // From the last to the first: of several of a name the first counts.
    for (let i = client.length - 2; i >= 0; i -= 2) {
      const name = client[i]!;
      if (provider.passHeaders.includes(name)) setHeader(headers, name, client[i + 1]!);
    }
    for (const field in address.fields)
      passField(provider.passHeaders, field, address.fields[field], headers);
    for (const field in target.fields) passField(provider.passHeaders, field, target.fields[field], headers);
  }
  for (const name of target.forwardHeaders) {
    const value = getHeader(client, name);
    // A forwarded credential header may be the client's provider key, never a key of the gateway's.
    if (value !== undefined && !holdsGatewayKey(value) && !value.includes(gatewayKeyText(x))) {
      setHeader(headers, name, value);
    }
  }
  const own = address.headers;
  for (let i = 0; i < own.length; i += 2) setHeader(headers, own[i]!, own[i + 1]!);
  if (credential === null) return;
  const { auth } = provider;
  const text = credential.reveal();
  if (auth.kind === 'header' && (auth.bearerPrefix === undefined || !text.startsWith(auth.bearerPrefix))) {
    setHeader(headers, auth.name, text);
  } else if (auth.kind === 'bearer' || auth.kind === 'header') {
    setHeader(headers, 'authorization', `Bearer ${text}`);
  }
}

/** The gateway key of this call, as text. */
export function gatewayKeyText(x: Exchange): string {
  const value = getHeader(x.request.headers, x.keyHeader ?? '') ?? '';
  const text = bearerToken(value)?.trim() ?? value;
  // No key: a text that no header contains.
  return text === '' ? '\n' : text;
}

function holdsGatewayKey(value: string): boolean {
  return isGatewayKey((bearerToken(value) ?? value).trim());
}

/** A config may write `openai-organization` as `openai_organization`. */
function passField(
  names: readonly string[],
  field: string,
  value: Target['fields'][string] | undefined,
  headers: HeaderList,
): void {
  const name = field.replaceAll('_', '-');
  if (typeof value === 'string' && names.includes(name)) setHeader(headers, name, value);
}
