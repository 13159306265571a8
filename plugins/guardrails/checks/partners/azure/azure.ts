import type { PartnerCredentials } from '../../../../../src/common/core/directory.js';
import { parse, ServiceFailed } from '../../remote/calls.js';
import { isPlain } from '../../request/values.js';
import type { PartnerAnswer, PartnerAsk } from '../partner.js';

/** Of the two services that have credentials of their own. */
export type AzureService = 'contentSafety' | 'pii';

interface EntraToken {
  readonly token: string;
  /** Unix milliseconds. */
  readonly expiresAt: number;
}

/** Of a plugin's credentials, as long as these live. */
const tokens = new WeakMap<PartnerCredentials, Map<string, EntraToken>>();
/** A token is asked for again so long before it expires. */
const earlyMs = 60_000;

/** A field of the service itself, or of both. */
const field = (ask: PartnerAsk, service: AzureService, name: string): string | undefined =>
  ask.credential(`${service}.${name}`) ?? ask.credential(name);

const need = (ask: PartnerAsk, service: AzureService, name: string): string =>
  field(ask, service, name) ?? ask.need(name);

function addressOf(ask: PartnerAsk, service: AzureService): string {
  const own = field(ask, service, 'baseUrl');
  if (own !== undefined) return own.replace(/\/+$/, '');
  return `https://${need(ask, service, 'resourceName')}.cognitiveservices.azure.com`;
}

async function entraToken(ask: PartnerAsk, service: AzureService): Promise<string> {
  const [tenant, client, secret] = ['tenantId', 'clientId', 'clientSecret'].map((name) =>
    need(ask, service, name),
  );
  const kept = tokens.get(ask.context.partner!) ?? new Map<string, EntraToken>();
  tokens.set(ask.context.partner!, kept);
  const known = kept.get(service);
  if (known !== undefined && known.expiresAt > Date.now()) return known.token;
  const { status, body } = await ask.context.send({
    method: 'POST',
    url: `https://login.microsoftonline.com/${tenant}/oauth2/v2.0/token`,
    headers: ['accept', 'application/json', 'content-type', 'application/x-www-form-urlencoded'],
    body: Buffer.from(
      new URLSearchParams({
        ...{ grant_type: 'client_credentials', client_id: client!, client_secret: secret! },
        scope: 'https://cognitiveservices.azure.com/.default',
      }).toString(),
    ),
  });
  const json = parse(body);
  if (status !== 200 || !isPlain(json) || typeof json['access_token'] !== 'string')
    throw new ServiceFailed(`Microsoft Entra gave no token (status ${status}).`);
  const token = json['access_token'];
  kept.set(service, { token, expiresAt: Date.now() + Number(json['expires_in'] ?? 0) * 1000 - earlyMs });
  return token;
}

/** Calls one of the services, with a key or a token of Microsoft Entra. */
export async function askAzure(
  ask: PartnerAsk,
  service: AzureService,
  path: string,
  version: unknown,
  body: object,
): Promise<PartnerAnswer> {
  const key = field(ask, service, 'apiKey');
  const isEntra = key === undefined || field(ask, service, 'azureAuthMode') === 'entra';
  const headers: Record<string, string> = isEntra
    ? { authorization: `Bearer ${await entraToken(ask, service)}` }
    : { 'ocp-apim-subscription-key': key };
  const query = new URLSearchParams({ 'api-version': String(version) });
  return ask.post(`${addressOf(ask, service)}${path}?${query}`, headers, body);
}
