import { mask, maskGatewayKey } from '../../../common/access/gateway-key.js';

/** Routing configs may hold credentials. They are sealed with the whole text; what is shown has masks in their place. */

const secretName =
  /(?:^|_)(?:api_key|secret|secret_access_key|session_token|ad_token|password|passphrase|private_key|service_account_json)$/;
/** Parameters and labels of calls, and what conditions compare them to, whatever they are called. */
const free: ReadonlySet<string> = new Set(['default_params', 'override_params', 'metadata', 'query']);

/** Configs may be written in camel case too. */
const snakeCase = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

type Visit = (value: unknown, path: string) => unknown;

/** The same JSON with `visit` in place of every secret in it. `path`: of the node. */
export function replaced(node: unknown, path: string, visit: Visit): unknown {
  if (Array.isArray(node)) return node.map((item, i) => replaced(item, `${path}[${i}]`, visit));
  if (typeof node !== 'object' || node === null) return node;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => {
      const [name, at] = [snakeCase(key), `${path}.${key}`];
      if (secretName.test(name)) return [key, visit(value, at)];
      return [key, free.has(name) ? value : replaced(value, at, visit)];
    }),
  );
}

const masked = (value: unknown): string => (typeof value === 'string' ? maskGatewayKey(value) : mask);

/** JSON text of a config as it may be shown; null: it holds no secret, and is shown as it is. */
export function shownConfig(text: string): string | null {
  let hasSecret = false;
  const shown = replaced(JSON.parse(text), '', (value) => {
    hasSecret = true;
    return masked(value);
  });
  return hasSecret ? JSON.stringify(shown) : null;
}

/** Path of the first secret of which only the mask is there; null: there is none. */
export function maskedSecret(config: unknown): string | null {
  let found: string | null = null;
  replaced(config, 'config', (value, path) => {
    if (typeof value === 'string' && value.includes(mask)) found ??= path;
    return value;
  });
  return found;
}
