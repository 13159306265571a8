import { LRUCache } from 'lru-cache';
import { GatewayError } from '../../../common/core/errors.js';
import { isJsonObject } from '../../../common/json/json.js';

/** A key file of a Google service account. Addresses that it names are not used: tokens come from Google's own. */
export interface ServiceAccount {
  readonly email: string;
  /** PEM. */
  readonly key: string;
  readonly keyId: string | undefined;
  readonly projectId: string | null;
}

export const serviceAccountField = 'vertex_service_account_json';

/** The same few are read for every call. */
const read = new LRUCache<string, ServiceAccount>({
  max: 200,
  maxSize: 2 * 1024 * 1024,
  // The account's texts are the file's once more.
  sizeCalculation: (_account, text) => 512 + 4 * text.length,
});

/** Throws `invalid_request` for a text that is none; it is never quoted. */
export function serviceAccount(text: string): ServiceAccount {
  let account = read.get(text);
  if (account === undefined) {
    account = parse(text);
    read.set(text, account);
  }
  return account;
}

function parse(text: string): ServiceAccount {
  let json: unknown = null;
  try {
    json = JSON.parse(text);
  } catch {
    // Refused below.
  }
  if (!isJsonObject(json) || json['type'] !== 'service_account') {
    // Other kinds of credential files name files to read and addresses to call: not for a tenant to choose.
    throw refused('must be the JSON key file of a service account (type service_account)');
  }
  const { client_email: email, private_key: key, private_key_id: keyId, project_id: projectId } = json;
  if (typeof email !== 'string' || typeof key !== 'string')
    throw refused('must have a client_email and a private_key');
  if (json['universe_domain'] !== undefined && json['universe_domain'] !== 'googleapis.com')
    throw refused('must be of the universe googleapis.com');
  return {
    email,
    key,
    keyId: typeof keyId === 'string' ? keyId : undefined,
    projectId: typeof projectId === 'string' ? projectId : null,
  };
}

function refused(why: string): GatewayError {
  return new GatewayError('invalid_request', `${serviceAccountField} ${why}.`, {
    param: serviceAccountField,
  });
}
