import type { CheckFinding } from './parameter-findings.js';
import type { Partner, PartnerField } from './partners.js';

/** Credentials of a partner by the names of its fields. */
export type PartnerTexts = Readonly<Record<string, string>>;

export const maxCredential = 8192;

/** Nested objects by dotted names: `{pii: {apiKey}}` is `pii.apiKey`. */
function* leavesOf(given: object, path: string): Generator<readonly [string, unknown]> {
  for (const [name, value] of Object.entries(given)) {
    if (typeof value === 'object' && value !== null && !Array.isArray(value) && path === '')
      yield* leavesOf(value, `${name}.`);
    else yield [`${path}${name}`, value];
  }
}

const problemOf = ({ rule }: PartnerField, value: unknown): string | null => {
  if (typeof value !== 'string' || value.trim() === '' || value.length > maxCredential)
    return `must be text of 1 to ${maxCredential} characters`;
  // They are sent in headers and addresses.
  if (!/^[\x20-\x7e]+$/.test(value)) return 'must have no characters beyond printable ASCII';
  return rule !== undefined && !rule.pattern.test(value) ? rule.description : null;
};

/** Reads the credentials of a partner, other spellings of its fields included. */
export function readPartnerCredentials(
  partner: Partner,
  given: object,
): { readonly texts: PartnerTexts; readonly findings: readonly CheckFinding[] } {
  const texts: Record<string, string> = {};
  const findings: CheckFinding[] = [];
  for (const [name, value] of leavesOf(given, '')) {
    const path = `credentials.${name.slice(0, 64)}`;
    const field = partner.fields.find((one) => one.name === name || one.aliases?.includes(name));
    const problem = field === undefined ? `is no credential of ${partner.name}` : problemOf(field, value);
    if (problem !== null) findings.push({ path, message: problem });
    else texts[field!.name] = (value as string).trim();
  }
  return { texts, findings };
}

/** What of the credentials is missing, in the set of fields that lacks least; none: they are complete. */
export function missingOf({ needs }: Partner, texts: PartnerTexts): readonly string[] {
  const missing = needs.map((set) => set.filter((name) => texts[name] === undefined));
  return missing.reduce((least, one) => (one.length < least.length ? one : least));
}
