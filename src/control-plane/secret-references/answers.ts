import { SecretFailure } from '../../common/http/secret-access.js';
import { isJsonObject } from '../../common/json/json.js';

/** The JSON object of an answer with status 200. Throws SecretFailure, which has nothing of the answer but its status. */
export function answeredJson({
  status,
  body,
}: {
  readonly status: number;
  readonly body: Buffer;
}): Readonly<Record<string, unknown>> {
  if (status === 401 || status === 403)
    throw new SecretFailure(`its secret manager refused the gateway with status ${status}`);
  if (status === 404) throw new SecretFailure('its secret manager has no such secret (status 404)');
  if (status !== 200) throw new SecretFailure(`its secret manager answered with status ${status}`);
  let value: unknown = null;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    // Refused below.
  }
  if (!isJsonObject(value))
    throw new SecretFailure('its secret manager answered with something else than JSON');
  return value;
}
