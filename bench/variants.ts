import { type Gateway, headersOf, type StoredProvider } from './headgate.js';
import type { Server } from './servers.js';

/** Where the providers of a run listen. `tlsPort` null: none has TLS. */
export interface UpstreamPorts {
  readonly port: number;
  readonly tlsPort: number | null;
}

/** The providers that the rows of a run ask. */
export function storedProviders({ port, tlsPort }: UpstreamPorts): StoredProvider[] {
  const url = `http://127.0.0.1:${port}`;
  const plain: StoredProvider[] = [
    { slug: 'bench', row: 'openai', url: `${url}/v1` },
    {
      slug: 'signed',
      row: 'bedrock',
      url,
      credential: {
        aws_auth_type: 'accessKey',
        aws_region: 'us-east-1',
        aws_access_key_id: 'AKIDEXAMPLE',
        aws_secret_access_key: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
      },
    },
  ];
  if (tlsPort === null) return plain;
  return [...plain, { slug: 'tls', row: 'openai', url: `https://127.0.0.1:${tlsPort}/v1` }];
}

/** The same gateway, asked in other ways: each is a row of its own. */
export function variantsOf(gateway: Gateway, { port, tlsPort }: UpstreamPorts): Server[] {
  const { key, governedKey } = gateway;
  const customHost = `http://127.0.0.1:${port}/v1`;
  const variant = (what: string, headers: Server['headers']): Server => ({
    ...gateway,
    name: `headgate, ${what}`,
    headers,
    // It ends with the gateway.
    stop: () => Promise.resolve(),
  });
  const routed = (what: string, config: object): Server => variant(what, headersOf(key, config));
  const inline = { provider: 'openai', api_key: 'sk-bench', custom_host: customHost };
  const stored = { provider: '@bench' };
  const expensive = { ...stored, override_params: { model: 'gpt-4o' } };
  return [
    variant('governed', {
      ...gateway.headers,
      'x-gateway-api-key': governedKey,
    }),
    variant('custom host', {
      'x-gateway-api-key': key,
      'x-gateway-provider': 'openai',
      'x-gateway-custom-host': customHost,
      authorization: 'Bearer sk-bench',
    }),
    routed('inline fallback', { strategy: { mode: 'fallback' }, targets: [inline, inline] }),
    ...(tlsPort === null ? [] : [routed('TLS upstream', { provider: '@tls' })]),
    routed('signed Bedrock', { provider: '@signed' }),
    routed('least_cost', { strategy: { mode: 'least_cost' }, targets: [expensive, stored] }),
    routed('hedging', {
      strategy: { mode: 'fallback', hedge: { percentile: 95, min_delay: 200, max_extra: 0.03 } },
      targets: [stored, stored],
    }),
    routed('concurrency', { ...stored, concurrency: { min: 64, max: 256, queue: 500 } }),
  ];
}
