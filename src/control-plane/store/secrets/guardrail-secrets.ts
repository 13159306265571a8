import { isDeepStrictEqual } from 'node:util';
import { mask, maskGatewayKey } from '../../../common/access/gateway-key.js';
import { knownCheck } from '../../../common/guardrails/known-checks.js';
import { child } from '../../../common/guardrails/parameter-findings.js';
import { hiddenUrl } from '../../../common/http/hidden-url.js';
import type { StoredCheck } from '../records/guardrails.js';

/** Checks may hold credentials. They are sealed with all checks of a guardrail; what is shown has masks instead. */

const maskUrl = (url: string): string => hiddenUrl(url, () => mask);

type Visit = (value: string, shown: string, path: string) => string;

/** The same check with `visit` in place of every parameter that may hold a secret. */
function replaced(check: StoredCheck, visit: Visit): StoredCheck {
  const known = knownCheck(check.id)?.parameters.properties ?? {};
  const parameters = Object.entries(check.parameters).map(([name, value]) => {
    const path = child('parameters', name);
    const secret = Object.hasOwn(known, name) ? known[name]?.secret : undefined;
    if (secret === 'url' && typeof value === 'string') return [name, visit(value, maskUrl(value), path)];
    if (secret !== 'texts' || typeof value !== 'object' || value === null || Array.isArray(value))
      return [name, value];
    const texts = Object.entries(value).map(([key, text]) => [
      key,
      typeof text === 'string' ? visit(text, maskGatewayKey(text), child(path, key)) : text,
    ]);
    return [name, Object.fromEntries(texts)];
  });
  return { ...check, parameters: Object.fromEntries(parameters) };
}

/** How a parameter of a check may hold a secret: in a URL, or as texts by name; undefined: it does not. */
export function secretOf(check: string, parameter: string): 'url' | 'texts' | undefined {
  const known = knownCheck(check)?.parameters.properties ?? {};
  return Object.hasOwn(known, parameter) ? known[parameter]?.secret : undefined;
}

/** Does a URL hold what is not shown of it? */
export const hidesPart = (url: string): boolean => maskUrl(url) !== url;

const shownCheck = (check: StoredCheck): StoredCheck => replaced(check, (_value, shown) => shown);

/** JSON text of checks as it may be shown; null: they hold no secret, and are shown as they are. */
export function shownChecks(text: string): string | null {
  const checks: readonly StoredCheck[] = JSON.parse(text);
  const shown = checks.map(shownCheck);
  return isDeepStrictEqual(shown, checks) ? null : JSON.stringify(shown);
}

/** Secrets of a check whose mask, at that path, is that one. */
function secretsBehind(check: StoredCheck, masked: string, at: string): string[] {
  const found: string[] = [];
  replaced(check, (value, shown, path) => {
    if (path === at && shown === masked) found.push(value);
    return value;
  });
  return found;
}

/** Those of `before` that a check may have its masks from: itself where nothing of it is changed, else any of its kind. */
function sourcesOf(check: StoredCheck, at: number, before: readonly StoredCheck[]): StoredCheck[] {
  const kin = before.filter(({ id }) => id === check.id);
  const equal = kin.filter((one) => isDeepStrictEqual(shownCheck(one).parameters, check.parameters));
  const inPlace = equal.filter((one) => one === before[at]);
  if (inPlace.length > 0) return inPlace;
  return equal.length > 0 ? equal : kin;
}

/** The same checks with the secrets of `before` in place of their masks. A mask that two secrets have stays. */
export function withKeptSecrets(
  checks: readonly StoredCheck[],
  before: readonly StoredCheck[],
): StoredCheck[] {
  return checks.map((check, i) => {
    const sources = sourcesOf(check, i, before);
    return replaced(check, (value, _shown, path) => {
      if (!value.includes(mask)) return value;
      const [secret, another] = new Set(sources.flatMap((source) => secretsBehind(source, value, path)));
      return secret === undefined || another !== undefined ? value : secret;
    });
  });
}

/** Path of the first secret of which only the mask is there; null: there is none. */
export function maskedSecret(checks: readonly StoredCheck[]): string | null {
  let found: string | null = null;
  for (const [i, check] of checks.entries()) {
    replaced(check, (value, _shown, path) => {
      if (value.includes(mask)) found ??= `checks[${i}].${path}`;
      return value;
    });
  }
  return found;
}
